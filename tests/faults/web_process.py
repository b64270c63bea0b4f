"""A process of the service for tests of faults: threads of its own, and a database that tests may stop.

``python -m tests.faults.web_process PORT`` prints the secrets of an API application and of an administrator,
a line of JSON each, and serves until it is killed. The database is a migrated one.
"""

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.core.management import call_command

from records_site.wsgi import application


class ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_):
        """Requests of tests are not logged."""


if __name__ == "__main__":
    port = int(sys.argv[1])
    call_command("create_api_application", "Fault tests", json=True)
    call_command("create_staff_login", "ada@example.org", json=True)
    sys.stdout.flush()
    make_server("127.0.0.1", port, application, ThreadingServer, QuietHandler).serve_forever()
