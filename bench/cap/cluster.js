// Two processes on one port, as process managers for Node.js run them.
const cluster = require("node:cluster");

if (cluster.isPrimary) {
  cluster.fork();
  cluster.fork();
} else {
  require("@sap/cds/bin/serve").exec();
}
