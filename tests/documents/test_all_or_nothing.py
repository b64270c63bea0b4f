"""No document without its file, whatever fails in between (attacks 65, 66)."""

import datetime as dt
import errno
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError, connections, transaction

from apps.base.drafts import Draft
from apps.documents import services, storage, uploads
from apps.documents.models import Document
from apps.documents.services import sweep
from apps.documents.storage import DocumentFolder, FileBatch
from tests.api.caller import an_application, refused
from tests.documents.builders import PDF, a_category, a_document, a_file, fields, files, form
from tests.documents.conftest import stored
from tests.operations.databases import default_database
from tests.people.builders import a_staff_member
from tests.server.server_process import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
#: Files are stamped by the system's clock, which a test's clock may be years away from.
ANY_AGE = dt.timedelta(days=-36500)


@pytest.fixture
def lists(staff, category):
    return [*fields("CreatedByStaffGuidList", staff.pk), *fields("DocumentCategoryGuidList", category.pk)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (OSError(errno.EIO, "disk"), 503),
        (ConnectionResetError("the bucket hung up"), 503),
        (RuntimeError("what no one foresaw"), 503),
    ],
)
def test_a_storage_that_fails_midway_leaves_nothing(
    post, lists, nothing_is_left, monkeypatch, trouble, status
):
    real, calls = DocumentFolder._save, []

    def failing(self, name, content):
        calls.append(name)
        if len(calls) == 1:
            return real(self, name, content)

        class Broken:
            def chunks(self):
                yield b"%PDF"
                raise trouble

        return real(self, name, Broken())

    monkeypatch.setattr(DocumentFolder, "_save", failing)
    error = refused(post(*files(("a.pdf", PDF), ("b.pdf", PDF)), *lists * 2), status)
    assert "space" not in error["message"]
    assert "bucket" not in error["message"]
    nothing_is_left()


@pytest.mark.django_db
def test_a_database_that_fails_leaves_nothing(post, lists, nothing_is_left, monkeypatch):
    def failing(*args, **options):
        raise RuntimeError("no")

    monkeypatch.setattr(services.saving, "insert_records", failing)
    answer = post(a_file(), *lists)
    assert answer.status_code == 500
    nothing_is_left()


@pytest.mark.django_db
def test_a_file_of_an_uncertain_commit_is_left_to_the_sweep(post, lists, folder, monkeypatch):
    def lost(*args, **options):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(uploads, "create", lost)
    assert post(a_file(), *lists).status_code == 503
    assert len(stored(folder)) == 1
    assert len(sweep(ANY_AGE).keys) == 1
    assert stored(folder) == []


@pytest.mark.django_db
def test_a_body_that_breaks_off_in_a_file_leaves_nothing(api, lists, nothing_is_left):
    body, media = form(*lists, a_file(PDF * 5_000))
    answer = api.call("POST", "document", body=body[:200_000], content_type=media)
    refused(answer, 400, "InvalidBody")
    nothing_is_left()


@pytest.mark.django_db
def test_a_file_that_was_deleted_before_its_document_is_stored_is_refused(post, lists, folder, monkeypatch):
    def delete_files(shared=False):
        for path in stored(folder):
            path.unlink()

    monkeypatch.setattr(services, "lock_sweeps", delete_files)
    refused(post(a_file(), *lists), 503, "Unavailable")
    assert Document.objects.count() == 0
    assert stored(folder) == []


# --- the sweep ------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_sweep_removes_old_files_without_a_document_and_no_others(folder):
    document = a_document()
    orphan, fresh, partial = (folder / name for name in ("2020/old", "2020/new", "2020/half.part"))
    orphan.parent.mkdir()
    for path in (orphan, fresh, partial):
        path.write_bytes(b"x")
    for path in (orphan, partial, folder / document.storage_key):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    os.utime(fresh, (time.time(), time.time()))
    output = io.StringIO()
    call_command("sweep_documents", "--dry-run", stdout=output)
    assert "2020/old" in output.getvalue()
    assert orphan.exists()
    output = io.StringIO()
    call_command("sweep_documents", stdout=output)
    assert output.getvalue() == "2 files without a document removed.\n"
    assert stored(folder) == sorted([fresh, folder / document.storage_key])
    call_command("sweep_documents", "--older-than", "0m", stdout=io.StringIO())
    assert stored(folder) == [folder / document.storage_key]


@pytest.mark.django_db
def test_a_sweep_checks_many_files_in_batches(folder, monkeypatch):
    monkeypatch.setattr("apps.documents.services.SWEEP_BATCH", 2)
    used_keys = {a_document().storage_key for _ in range(3)}
    for number in range(5):
        storage.document_storage().save(f"orphan{number}", storage.UploadStream([b"x"], 9))
    assert sorted(sweep(ANY_AGE).keys) == [f"orphan{number}" for number in range(5)]
    assert {str(path.relative_to(folder)) for path in stored(folder)} == used_keys


@pytest.mark.django_db
def test_a_file_that_gets_its_document_before_a_sweep_has_the_lock_stays(folder, monkeypatch):
    a_document()
    storage.document_storage().save("new", storage.UploadStream([b"x"], 9))
    monkeypatch.setattr(services, "lock_sweeps", lambda: Document.objects.update(storage_key="new"))
    assert sweep(ANY_AGE).keys == []
    assert folder / "new" in stored(folder)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("on SQLite a sweep waits for the one who writes, and the tests' lies in memory")
def test_a_sweep_waits_for_documents_that_are_being_created(folder):
    draft = {"name": "x", "client": None, "category": a_category(), "created_by": a_staff_member()}
    swept = []

    def sweeping():
        swept.append(sweep(ANY_AGE).keys)
        connections.close_all()

    with FileBatch() as file_batch:
        file = file_batch.store(iter([PDF]), "a.pdf")
        with transaction.atomic():
            filed = Draft(draft, given=draft)
            services.attach_file(filed, file)
            services.create_documents([filed])
            thread = threading.Thread(target=sweeping)
            thread.start()
            thread.join(0.5)
            assert thread.is_alive()  # it waits
        thread.join(20)
    assert swept == [[]]
    assert len(stored(folder)) == 1


# --- a process that dies --------------------------------------------------------------------------------


#: A server that hands bodies on while they arrive; ours would not call the application before it has them.
SERVE = """
import sys
from wsgiref.simple_server import make_server
from records_site.wsgi import application
make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""


def answers(port):
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def test_a_process_killed_amid_an_upload_leaves_no_document_and_the_sweep_finds_its_files(
    tmp_path, folder, databases
):
    url, port = databases.create(), free_port()
    with default_database(url):
        authorization = an_application()
    ours = {"VAR_DIR": str(tmp_path), "DATABASE_URL": url}
    ours |= {"LOG_LEVEL": "ERROR", "DJANGO_SETTINGS_MODULE": "records_site.settings"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port)],
        cwd=ROOT, env={**os.environ, **ours}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: answers(port))
        body, media = form(a_file(), a_file(PDF + b"x" * 3_000_000))
        with socket.create_connection(("127.0.0.1", port)) as upload:
            upload.sendall(
                f"POST /api/document HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
                f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body[:2_000_000]
            )
            # The first file is whole, the second under way.
            wait_for(lambda: folder.exists() and len(stored(folder)) == 2)
            os.killpg(server.pid, signal.SIGKILL)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert len(stored(folder)) == 2
    with default_database(url):
        assert not Document.objects.exists()
        assert len(sweep(ANY_AGE).keys) == 2
    assert stored(folder) == []


def test_an_upload_takes_no_more_memory_than_a_few_pieces(settings, folder):
    settings.DOCUMENT_MAX_BYTES = 200 * 1024 * 1024
    pieces = (bytes(64 * 1024) for _ in range(1600))  # 100 MiB
    file_batch = storage.FileBatch()
    tracemalloc.start()
    file = file_batch.store(pieces, "a.bin")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert file.size == 100 * 1024 * 1024
    assert most < 2 * 1024 * 1024
    file_batch.delete_all()
    assert stored(folder) == []
