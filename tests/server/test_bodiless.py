"""Responses that end with their headers: to HEAD, of the server alone and through proxies in front of it.

A byte behind them is taken for the beginning of the next response of the connection.
"""

import contextlib
import shutil
import socket
import subprocess
from http.client import HTTPConnection

import pytest
from django.test import Client

from tests.operations.databases import default_database
from tests.people.records import an_administrator
from tests.server.conftest import DATABASE
from tests.server.server_process import free_port, wait_for

# Only so that there is a migrated database to copy.
pytestmark = pytest.mark.django_db

#: One of each kind of view, and of each that refuses; with an application's token, a session, or nothing.
PATHS = (
    "/", "/livez", "/readyz", "/docs/", "/docs/openapi.json", "/admin/login/", "/admin/", "/metrics",
    "/static/favicon.svg", "/favicon.ico", "/nothing", "/admin", "/.well-known/security.txt",
    "/api/", "/api/$metadata", "/api/claim", "/api/contact?$top=x", "/api/contact?$format=ndjson",
    "/api/claim(00000000-0000-7000-8000-000000000000)", "/api/nothing", "/api/claim/%ff", "/connect/token",
    "/admin/people/client/", "/admin/people/client/none/change/", "/admin/account/password/", "/%00",
)  # fmt: skip
#: What differs from one response to the next.
VARYING = {"date", "x-request-id", "set-cookie", "content-security-policy", "connection"}
#: Headers of HEAD may leave out what follows from the body (RFC 9110, 9.3.2).
OF_THE_BODY = {"content-length", "transfer-encoding"}


@pytest.fixture(scope="module")
def callers(server, applications, folder, django_db_blocker):
    """The headers of an application, of an administrator's browser, and of nobody."""
    with django_db_blocker.unblock(), default_database(f"sqlite:///{folder / DATABASE}"):
        browser = Client()
        browser.force_login(an_administrator())
        session = browser.cookies["sessionid"].value
    token = server.token(applications[0])
    return [f"Authorization: Bearer {token}", f"Cookie: sessionid={session}", "X-Nobody: 1"]


def request(method, path, *headers):
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_all(client):
    return b"".join(iter(lambda: client.recv(65536), b""))


def parts_of(answered):
    """Status, headers and what follows them."""
    head, _, rest = answered.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    return status, {line.partition(":")[0].lower(): line.partition(": ")[2] for line in lines}, rest


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_answer_to_head_is_that_to_get_without_its_body(server, callers, encoding):
    asked = [(path, caller) for path in PATHS for caller in callers]
    for path, caller in asked:
        headers = (caller, f"Accept-Encoding: {encoding}")
        next_one = request("GET", "/livez", "Connection: close")
        with server.open_connection(request("HEAD", path, *headers) + next_one) as client:
            status, head, rest = parts_of(read_all(client))
        with server.open_connection(request("GET", path, *headers, "Connection: close")) as client:
            status_of_get, head_of_get, _ = parts_of(read_all(client))
        assert status == status_of_get, path
        assert " 500 " not in status, path
        # The connection is closed, or the next response follows at once.
        assert rest.startswith(b"HTTP/1.1 200 OK\r\n") if "connection" not in head else rest == b"", path
        assert head.keys() - VARYING - OF_THE_BODY == head_of_get.keys() - VARYING - OF_THE_BODY, path
        is_page = "text/html" in head.get("content-type", "")  # has secrets of its own, of changing length
        if "content-length" in head and not is_page:
            assert head["content-length"] == head_of_get["content-length"], path


# --- proxies that keep their connections to the server ---------------------------------------------------

HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend site
    bind 127.0.0.1:{port}
    default_backend servers
backend servers
    http-reuse always
    server one 127.0.0.1:{server_port}
"""
NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream servers {{ server 127.0.0.1:{server_port}; keepalive 1; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://servers;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
        }}
    }}
}}
"""


@pytest.fixture(params=["haproxy", "nginx"])
def proxy(request, server, tmp_path):
    """The port of a proxy in front of the server."""
    program = shutil.which(request.param, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    port = free_port()
    text = {"haproxy": HAPROXY, "nginx": NGINX}[request.param]
    configuration = tmp_path / "configuration"
    configuration.write_text(text.format(port=port, server_port=server.port, folder=tmp_path))
    arguments = {"haproxy": ["-db", "-f"], "nginx": ["-p", str(tmp_path), "-c"]}[request.param]
    with (tmp_path / "log").open("w") as log:
        running = subprocess.Popen([program, *arguments, str(configuration)], stdout=log, stderr=log)
    try:
        wait_for(lambda: running.poll() is not None or can_connect(port))
        yield port
    finally:
        running.terminate()
        running.wait(60)


def can_connect(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_proxies_read_the_next_response_of_a_kept_connection(proxy, callers):
    headers = dict(header.split(": ", 1) for header in callers[:1])
    with contextlib.closing(HTTPConnection("127.0.0.1", proxy, timeout=60)) as client:
        for path in ("/livez", "/api/$metadata", "/admin/login/", "/static/favicon.svg") * 3:
            for method, asked, body in (("HEAD", path, b""), ("GET", "/livez", b'{"status": "alive"}')):
                client.request(method, asked, headers=headers)
                response = client.getresponse()
                assert response.status == 200
                assert response.read().strip() == body
