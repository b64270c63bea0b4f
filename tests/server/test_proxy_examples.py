"""The examples for HAProxy and nginx, where these are installed: they have nothing against any line."""

import re
import shutil
import subprocess

import pytest

from tests.server.server_process import ROOT

PLACES = "/usr/sbin:/usr/bin:/usr/local/bin"
HAPROXY, NGINX = (shutil.which(name, path=PLACES) for name in ("haproxy", "nginx"))
OPENSSL = shutil.which("openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a key and its certificate."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=records.example"]
    subprocess.run(
        [OPENSSL, *words, "-keyout", path, "-out", path.with_suffix(".crt")], check=True, capture_output=True
    )
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


@pytest.mark.skipif(not HAPROXY or not OPENSSL, reason="haproxy or openssl is not installed")
@pytest.mark.parametrize("name", ["haproxy.cfg", "subscribers.cfg"])
def test_haproxy_has_nothing_against_an_example(name, certificate, tmp_path):
    text = (ROOT / "ops" / "haproxy" / name).read_text()
    (tmp_path / name).write_text(text.replace("/etc/ssl/records/records.pem", str(certificate)))
    (tmp_path / "hosts.map").write_text("records.example unknown\n")
    variables = {"RECORDS_BIND": "127.0.0.1:8080", "RECORDS_HOSTS": str(tmp_path / "hosts.map")}
    words = [HAPROXY, "-q", "-c", "-dW", "-f", tmp_path / name]
    found = subprocess.run(words, capture_output=True, text=True, env=variables, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_haproxy_asks_for_the_health_by_a_host_that_the_page_keeps_among_those_that_are_answered():
    text = (ROOT / "ops" / "haproxy" / "haproxy.cfg").read_text()
    page = (ROOT / "docs" / "operations.md").read_text()
    [host] = re.findall(r"http-check send hdr Host (\S+)", text)
    for hosts in re.findall(r"ALLOWED_HOSTS=(\S+)", page):
        assert host in hosts.split(",")


@pytest.mark.skipif(not NGINX or not OPENSSL, reason="nginx or openssl is not installed")
def test_nginx_has_nothing_against_its_example(certificate, tmp_path):
    text = (ROOT / "ops" / "nginx" / "records.conf").read_text()
    for name in ("fullchain.pem", "privkey.pem"):
        text = text.replace(f"/etc/ssl/records/{name}", str(certificate))
    text = text.replace("/var/log/nginx", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"events {{}} pid {tmp_path}/pid; http {{ {text} }}")
    words = [NGINX, "-q", "-t", "-e", "stderr", "-c", tmp_path / "nginx.conf"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
