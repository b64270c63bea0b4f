"""The tests' own PostgreSQL, and what `./run test` does where there is none."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from django.db import connection

from tests import engines, postgres, schema_template
from tests.dependence import depends_on_engine

ROOT = Path(__file__).resolve().parent.parent

HOLD_A_SERVER = """
import signal, time
from tests import postgres
# A background job starts with SIGINT ignored, and what starts it may have blocked the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
with postgres.throwaway_server() as url:
    print(url, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def asks_for_a_server():
    try:
        postgres.find_programs(postgres.usual_places())
    except postgres.Unavailable as reason:
        pytest.skip(f"PostgreSQL: {reason}")


def folder_of(url):
    return Path(parse_qs(urlsplit(url).query)["host"][0])


@pytest.mark.usefixtures("asks_for_a_server")
def test_a_server_is_there_for_as_long_as_it_is_needed():
    with postgres.throwaway_server() as url:
        folder = folder_of(url)
        with psycopg.connect(host=str(folder), user="records", dbname="postgres") as connection:
            row = connection.execute("SELECT upper('é'), 'Z' < 'a', current_setting('fsync')").fetchone()
    assert row == ("É", True, "off")
    assert not folder.exists()


@pytest.mark.usefixtures("asks_for_a_server")
# One that Python handles, one that ends it at once.
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_server_behind(blow):
    run = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    folder = folder_of(run.stdout.readline().decode().strip())
    server = int((folder / "data/postmaster.pid").read_text().split()[0])
    run.send_signal(blow)
    run.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (folder.exists() or Path(f"/proc/{server}").exists()):
        time.sleep(0.05)
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_a_machine_without_postgresql_shows_what_to_install(tmp_path):
    with pytest.raises(postgres.Unavailable, match="apt-get install postgresql"):
        postgres.find_programs([tmp_path])


def test_an_older_postgresql_is_not_taken(tmp_path):
    for program in postgres.PROGRAMS:
        (tmp_path / program).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 13.4'\n")
        (tmp_path / program).chmod(0o755)
    with pytest.raises(postgres.Unavailable, match="holds PostgreSQL 13, and 15 or newer is needed"):
        postgres.find_programs([tmp_path])


@pytest.fixture
def run_as(monkeypatch):
    """run_as(engine, script): a shell stands for pytest there."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(engines, "compile_tests", lambda: None)

    def replace(engine, script):
        @contextlib.contextmanager
        def run(words, output):
            with subprocess.Popen(["/bin/sh", "-c", script], stdout=output) as process:
                yield process

        monkeypatch.setitem(engines.RUNS, engine, run)

    return replace


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_only_ci_must_have_postgresql(run_as, monkeypatch, capsys, ci, status):
    def nowhere(words, output):
        raise engines.Skipped("it is not here.")

    run_as("sqlite", "exit 0")
    monkeypatch.setitem(engines.RUNS, "postgresql", nowhere)
    monkeypatch.setenv("CI", ci)
    assert engines.main([]) == status
    last = capsys.readouterr().out.splitlines()[-2:]
    assert last[0].startswith("SQLite: passed in ")
    assert last[1] == f"PostgreSQL: {'FAILED, ' if ci else ''}not run: it is not here."


def test_one_failing_engine_fails_the_run(run_as, capsys):
    run_as("sqlite", "exit 1")
    run_as("postgresql", "exit 0")
    assert engines.main([]) == 1
    assert "SQLite: FAILED (pytest's exit status is 1)" in capsys.readouterr().out


def test_both_engines_run_at_once_and_print_one_after_the_other(run_as, capfd, tmp_path):
    begun = tmp_path / "begun"
    waiting = f"for i in $(seq 200); do test -e {begun} && echo first && exit; sleep 0.05; done; exit 1"
    run_as("sqlite", waiting)
    run_as("postgresql", f"echo second; touch {begun}")
    assert engines.main([]) == 0
    printed = capfd.readouterr().out.split()
    assert printed.index("first") < printed.index("second")


def test_the_second_engine_is_served_first(run_as, capfd):
    for engine in engines.ENGINES:
        run_as(engine, "sleep 0.2; nice")
    assert engines.main([]) == 0
    first, second = (int(line) for line in capfd.readouterr().out.splitlines() if line.isdigit())
    assert first == min(second + 3, 19)


def test_tests_end_with_whoever_started_them(tmp_path):
    with (
        (tmp_path / "output").open("wb") as output,
        pytest.raises(SystemExit),
        engines.pytest(["--version"], dict(os.environ), output) as process,
    ):
        sys.exit()  # as the handler of SIGTERM does
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("processors", "first", "second"), [(1, None, None), (2, "2", None), (3, "3", None), (8, "8", "4")]
)
def test_a_second_engine_has_half_as_many_workers_and_none_instead_of_one(
    monkeypatch, processors, first, second
):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    words = [engines.spread(["-x"], share) for share in (1, 2)]
    assert [each[1] if each else None for each in words] == [first, second]
    assert engines.spread(["tests/people"], 1) == []


@pytest.mark.parametrize(
    ("nodeid", "fixtures", "marks", "seed", "expected"),
    [
        ("tests/core/a.py", ["tmp_path"], [], None, False),
        ("tests/core/a.py", ["db"], [], None, True),
        ("tests/core/a.py", [], ["django_db"], None, True),
        ("tests/core/a.py", ["db"], ["any_engine"], None, False),
        ("tests/core/a.py", ["db", "client"], [], None, False),
        ("tests/core/a.py", ["db", "client"], ["both_engines"], None, True),
        ("tests/api/a.py", ["db", "client"], [], None, True),
        ("tests/core/a.py", ["transactional_db"], ["browser"], None, False),
        ("tests/core/a.py", ["db"], [], 0, True),
        ("tests/core/a.py", ["db"], [], 1, False),
        ("tests/core/a.py", ["db"], ["both_engines"], 1, True),
    ],
)
def test_the_second_engine_runs_what_depends_on_it(nodeid, fixtures, marks, seed, expected):
    indices = {} if seed is None else {"seed": seed}
    item = SimpleNamespace(
        nodeid=nodeid,
        cls=None,
        fixturenames=fixtures,
        callspec=SimpleNamespace(indices=indices),
        get_closest_marker=lambda name: name in marks,
    )
    assert depends_on_engine(item) is expected


def test_tests_are_compiled_once_from_an_empty_clone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one(): pass\n")
    engines.compile_tests()
    (compiled,) = (tmp_path / "tests" / "__pycache__").iterdir()
    (tmp_path / "tests" / "test_two.py").write_text("def test_two(): pass\n")
    engines.compile_tests()
    assert list(compiled.parent.iterdir()) == [compiled]


def test_one_engine_can_be_requested():
    assert engines.chosen_engines(["--engine=postgresql", "-k", "race"]) == (["postgresql"], ["-k", "race"])
    assert engines.chosen_engines(["-x"]) == (["sqlite", "postgresql"], ["-x"])
    with pytest.raises(SystemExit, match="no engine oracle"):
        engines.chosen_engines(["--engine=oracle"])


def test_the_schema_is_made_anew_when_a_migration_or_what_it_imports_changes(tmp_path, monkeypatch):
    app, imported = SimpleNamespace(path=str(tmp_path)), tmp_path / "search_indexes.py"
    migration = tmp_path / "migrations" / "0001_initial.py"
    migration.parent.mkdir()
    monkeypatch.setattr(schema_template.apps, "get_app_configs", lambda: [app])
    monkeypatch.setattr(schema_template, "find_spec", lambda name: SimpleNamespace(origin=str(imported)))

    def fingerprint(text, text_of_imported):
        migration.write_text(text)
        imported.write_text(text_of_imported)
        return schema_template.fingerprint()

    importing = "from apps.core.search_indexes import create_search_index"
    texts = [("", ""), (importing, ""), (importing, "x = 1")]
    assert len({fingerprint(*each) for each in texts}) == 3
    assert fingerprint("", "x = 1") == fingerprint("", "")


@pytest.fixture(scope="module")
def left_open(django_db_blocker):
    with django_db_blocker.unblock():
        yield


@pytest.mark.usefixtures("left_open")
def test_a_test_that_does_not_ask_for_the_database_cannot_use_it():
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        connection.ensure_connection()
