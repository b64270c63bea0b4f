"""Files are scanned by clamd before they are used; nothing is stored unscanned."""

import logging
import socket
import socketserver

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.core.models import FileImport
from apps.core.virus_scanner import (
    FileTooLargeToScan,
    Scan,
    ScannerUnavailable,
    check_scanner,
    virus_in,
)
from tests.virus_scanner import EICAR, running_scanner

IMPORTS = "/admin/core/fileimport/"


def a_dead_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


def test_without_the_setting_nothing_is_asked(settings):
    settings.VIRUS_SCANNER = ""
    scan = Scan([b"a", EICAR])
    assert (b"".join(scan.chunks()), scan.virus) == (b"a" + EICAR, "")


def test_every_byte_is_scanned_and_passed_on(scanner):
    scan = Scan([b"a" * 100_000, b"", b"b"])
    assert b"".join(scan.chunks()) == b"a" * 100_000 + b"b"
    assert scanner.scanned == [b"a" * 100_000 + b"b"]
    assert scan.virus == ""


def test_what_is_found_is_named_and_logged(scanner, caplog):
    with caplog.at_level(logging.WARNING, "records.virus_scanner"):
        assert virus_in(b"x" + EICAR) == "Eicar-Test-Signature"
    assert "Eicar-Test-Signature" in caplog.text


def test_a_scanner_behind_a_unix_socket_is_asked(settings, tmp_path):
    address = str(tmp_path / "clamd.ctl")
    with running_scanner(settings, socketserver.ThreadingUnixStreamServer, address) as server:
        assert virus_in(EICAR) == "Eicar-Test-Signature"
        assert server.scanned == [EICAR]


def test_a_scanner_that_is_down_says_so(settings):
    settings.VIRUS_SCANNER = a_dead_address()
    with pytest.raises(ScannerUnavailable, match="does not answer, and no file is stored unscanned") as down:
        virus_in(b"x")
    assert (down.value.status, down.value.headers["Retry-After"]) == (503, "30")


@pytest.mark.parametrize(
    "answer", [b"", b"stream: Heuristics.Limits.Exceeded ERROR\0", b"what?\0", b"\xff\0"]
)
def test_an_answer_that_is_no_verdict_lets_nothing_through(scanner, answer):
    scanner.answer = answer
    with pytest.raises(ScannerUnavailable):
        virus_in(b"x")


def test_a_file_beyond_the_scanners_limit_is_refused_with_the_reason(scanner, caplog):
    scanner.stream_max_length = 1_000
    with pytest.raises(FileTooLargeToScan, match="The virus scanner takes no file of this size") as refused:
        virus_in(b"x" * 50_000_000)
    assert refused.value.status == 413
    assert "StreamMaxLength" in caplog.text


# --- imports


@pytest.fixture
def ada_imports(client, ada):
    def upload(content):
        file = SimpleUploadedFile("people.csv", content)
        return client.post(f"{IMPORTS}add/", {"kind": "contact", "file": file})

    return upload


@pytest.mark.django_db
def test_an_import_file_with_a_virus_is_not_stored(scanner, ada_imports):
    answer = ada_imports(b"First name\n" + EICAR)
    assert "people.csv is refused: the virus scanner found Eicar-Test-Signature" in answer.content.decode()
    assert not FileImport.objects.exists()
    assert ada_imports(b"First name\nAl").status_code == 302


@pytest.mark.django_db
def test_no_import_file_is_stored_while_the_scanner_is_down(settings, ada_imports):
    settings.VIRUS_SCANNER = a_dead_address()
    answer = ada_imports(b"First name\nAl")
    assert answer.status_code == 503
    assert "The virus scanner does not answer" in answer.content.decode()
    assert not FileImport.objects.exists()


# --- what tells the operator


def test_readiness_names_a_scanner_that_does_not_answer(client, db, settings, scanner):
    assert client.get("/readyz").json() == {"status": "ready", "virusScanner": "answers"}
    settings.VIRUS_SCANNER = a_dead_address()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["virusScanner"]) == (200, "does not answer")
    settings.VIRUS_SCANNER = ""
    assert client.get("/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize("address", ["clamd", "http://127.0.0.1", "tcp://", "unix:", "tcp://a:b"])
def test_a_setting_that_names_no_scanner_is_an_error(settings, address):
    settings.VIRUS_SCANNER = address
    assert [each.id for each in check_scanner()] == ["core.E001"]


def test_the_check_of_a_deployment_asks_the_scanner(settings, scanner):
    assert check_scanner() == []
    settings.VIRUS_SCANNER = a_dead_address()
    assert [each.id for each in check_scanner()] == ["core.W001"]
