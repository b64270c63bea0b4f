"""`./run`: one clear line for everything that a fresh machine can lack, and a .venv that is made once."""

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "run"


@pytest.fixture
def checkout(tmp_path):
    """A copy of the script in a folder with blanks in its name, with locks of its own and no .venv."""
    folder = tmp_path / "records service"
    folder.mkdir()
    shutil.copy(SCRIPT, folder / "run")
    (folder / "requirements.txt").write_text("one==1\n")
    (folder / "requirements-extras.txt").write_text("one==1\ns3==1\n")
    (folder / "requirements-dev.txt").write_text("one==1\ns3==1\ntwo==2\n")
    return folder


@pytest.fixture
def run(checkout, monkeypatch):
    """The script as a module, loaded from the checkout."""
    loader = importlib.machinery.SourceFileLoader("run_script", str(checkout / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """The only folder on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def a_program(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def a_venv(checkout, *pip_does):
    """A .venv whose Python notes what it is asked, and whose pip does as told."""
    asked = checkout / "asked"
    return a_program(
        checkout / ".venv" / "bin" / "python",
        f'echo "$@" >>"{asked}"',
        'if [ "$2" = pip ]; then',
        *(pip_does or (":",)),
        "fi",
    )


def installs(checkout):
    asked = (checkout / "asked").read_text() if (checkout / "asked").exists() else ""
    return [line for line in asked.splitlines() if line.startswith("-m pip install")]


def start(checkout, *words, **environment):
    return subprocess.Popen(
        [sys.executable, checkout / "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, **environment},
    )


def outcome(process):
    printed, complaint = process.communicate(timeout=30)
    return process.returncode, printed, complaint


def test_any_python_3_can_read_the_script():
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Match)
    assert not [f"line {node.lineno}" for node in ast.walk(tree) if isinstance(node, newer)]


def test_the_script_needs_the_standard_library_only():
    tree = ast.parse(SCRIPT.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names
    assert names <= sys.stdlib_module_names
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("words", [(), ("-h",), ("--help",)])
def test_help_is_shown_without_installing_anything(checkout, words):
    status, printed, complaint = outcome(start(checkout, *words))
    assert (status, complaint) == (0, "")
    for word in ("demo", "test", "serve", "worker", "lint", "lock"):
        assert f"\n  {word} " in printed
    assert not (checkout / ".venv").exists()


def test_a_python_that_is_too_old_shows_what_to_do(run, bin_folder, monkeypatch):
    old = a_program(bin_folder / "python3", "echo 3.9.18")
    monkeypatch.setattr(run.sys, "executable", str(old))
    monkeypatch.setattr(run.sys, "version", "3.9.18 (main)")
    with pytest.raises(SystemExit) as refusal:
        run.prepare()
    assert refusal.value.code == (
        "run: Python 3.11 or newer is needed and this is 3.9.18. "
        "Install one (python.org), or install uv, and start again."
    )


def test_a_newer_python_on_the_path_is_found(run, bin_folder, monkeypatch):
    monkeypatch.setattr(run.sys, "executable", str(a_program(bin_folder / "python3", "echo 3.9.18")))
    a_program(bin_folder / "python3.13", "echo 'pyenv: python3.13: command not found'", "exit 127")
    newer = a_program(bin_folder / "python3.12", "echo 3.12.1")
    assert run.python_with_venv() == (str(newer), "3.12.1")


def test_a_python_without_its_venv_module_shows_what_to_install(run, bin_folder, monkeypatch):
    bare = a_program(bin_folder / "python3", "echo 3.11.2", "echo 'No module named ensurepip' >&2", "exit 1")
    monkeypatch.setattr(run.sys, "executable", str(bare))
    with pytest.raises(SystemExit) as refusal:
        run.prepare()
    assert refusal.value.code == (
        "run: Python 3.11.2 lacks its venv module. "
        "Install it (Debian, Ubuntu: apt-get install python3-venv), or install uv, and start again."
    )


def test_uv_makes_the_venv_where_python_cannot(run, checkout, bin_folder, monkeypatch):
    monkeypatch.setattr(run.sys, "executable", str(a_program(bin_folder / "python3", "echo 3.9.18")))
    a_program(bin_folder / "uv", f'echo "$@" >"{checkout}/uv-was-asked"')
    run.make_venv()
    assert (checkout / "uv-was-asked").read_text().split() == [
        *("venv", "--quiet", "--seed", "--python", ">=3.11"),
        *str(checkout / ".venv").split(),
    ]


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements*.txt")), ids=lambda path: path.name)
def test_a_library_is_the_same_on_every_python(lock):
    """Another version for newer ones, of which no test would know, kept them from starting for a week."""
    names = Counter(re.findall(r"^([\w.\[\],-]+)==", lock.read_text(), re.MULTILINE))
    assert len(names) > 50
    assert [name for name, count in names.items() if count > 1] == []


def test_the_lock_is_installed_once(run, checkout):
    a_venv(checkout)
    run.prepare()
    run.prepare()
    assert len(installs(checkout)) == 1
    assert "--require-hashes --only-binary :all:" in installs(checkout)[0]


def test_a_changed_lock_is_installed_again(run, checkout):
    a_venv(checkout)
    run.prepare()
    (checkout / "requirements.txt").write_text("one==2\n")
    run.prepare()
    assert len(installs(checkout)) == 2


def test_what_development_needs_contains_what_the_service_needs(run, checkout):
    a_venv(checkout)
    run.prepare(run.DEVELOPMENT_LOCK)
    run.prepare()
    assert len(installs(checkout)) == 1


@pytest.mark.parametrize("setting", ["DOCUMENTS_S3_BUCKET", "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_what_few_settings_need_is_installed_where_one_is_set(run, checkout, monkeypatch, setting):
    a_venv(checkout)
    run.prepare()
    assert not run.is_installed(run.EXTRAS_LOCK)
    monkeypatch.setenv(setting, "ours")
    run.prepare()
    assert run.is_installed(run.EXTRAS_LOCK)
    assert run.is_installed(run.SERVICE_LOCK)
    run.prepare()
    assert len(installs(checkout)) == 2


def test_installing_for_the_service_may_change_what_development_had(run, checkout):
    a_venv(checkout)
    run.prepare(run.DEVELOPMENT_LOCK)
    (checkout / "requirements.txt").write_text("one==2\n")
    run.prepare()
    assert not run.is_installed(run.DEVELOPMENT_LOCK)


def test_an_interrupted_install_starts_over_from_an_empty_venv(run, checkout, monkeypatch):
    a_venv(checkout, "kill -9 $PPID", "sleep 5")
    assert outcome(start(checkout, "migrate"))[0] == -9
    made = []
    monkeypatch.setattr(run, "make_venv", lambda: made.append(a_venv(checkout)))
    run.prepare()
    assert made
    assert run.is_installed(run.SERVICE_LOCK)


def test_a_venv_whose_python_is_gone_is_made_again(run, checkout, monkeypatch):
    a_venv(checkout)
    run.prepare()
    (checkout / ".venv/bin/python").unlink()
    (checkout / ".venv/bin/python").symlink_to("/nowhere/python3.11")
    made = []

    def make_venv():
        (checkout / ".venv/bin/python").unlink()
        made.append(a_venv(checkout))

    monkeypatch.setattr(run, "make_venv", make_venv)
    run.prepare()
    assert made


def test_what_a_link_leads_to_is_not_emptied(run, checkout, tmp_path):
    """It is the .venv of another checkout, which may work there."""
    others = tmp_path / "others"
    others.mkdir()
    (others / "kept").write_text("-")
    (checkout / ".venv").symlink_to(others)
    with pytest.raises(SystemExit, match=r"is a link to .*others, which does not work here"):
        run.prepare()
    assert (others / "kept").exists()


def test_two_at_once_install_once(checkout):
    a_venv(checkout, "sleep 1")
    first, second = start(checkout, "migrate"), start(checkout, "migrate")
    printed = outcome(first)[1] + outcome(second)[1]
    assert len(installs(checkout)) == 1
    assert printed.count("run: waiting for another ./run, which is preparing .venv\n") == 1


@pytest.mark.parametrize(
    ("pip_says", "line"),
    [
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'",
            "run: the package index cannot be reached, or has no wheels for this machine. "
            "Look at the network and the proxy, or name a mirror in PIP_INDEX_URL, and start again. "
            "Details: .venv/pip.log",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "run: a package is not the one that requirements.txt names (its hash differs). "
            "Look at what your index serves; .venv/pip.log names the package.",
        ),
        (
            "ERROR: Could not install packages due to an OSError: No space left on device",
            "run: pip could not install requirements.txt: Could not install packages due to an OSError: "
            "No space left on device (details: .venv/pip.log)",
        ),
    ],
)
def test_a_failing_install_is_reported_in_one_line_and_tried_again_next_time(checkout, pip_says, line):
    a_venv(checkout, f'echo "{pip_says}" >&2', "exit 1")
    for tries in (1, 2):
        status, _, complaint = outcome(start(checkout, "migrate"))
        assert (status, complaint) == (1, line + "\n")
        assert len(installs(checkout)) == tries
    assert (checkout / ".venv/pip.log").read_text() == pip_says + "\n"


@pytest.mark.parametrize("word", ["demo", "serve"])
def test_a_busy_port_is_reported_in_one_line_with_another_to_try(checkout, word):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, _, complaint = outcome(start(checkout, word, PORT=str(port)))
    remedy = {"demo": f"PORT={port + 1} ./run demo", "serve": f"./run serve --port {port + 1}"}[word]
    assert status == 1
    assert complaint == f"run: cannot listen on 127.0.0.1:{port} (Address already in use). Try: {remedy}\n"


def test_a_host_that_is_not_here_is_reported_in_one_line(checkout):
    status, _, complaint = outcome(start(checkout, "serve", "--host", "192.0.2.1"))
    assert status == 1
    assert complaint == "run: cannot listen on 192.0.2.1:8000 (Cannot assign requested address).\n"


@pytest.mark.parametrize("port", ["", "no", "0", "65536", "-1", "²"])
def test_a_port_that_is_none_is_refused(checkout, port):
    assert outcome(start(checkout, "demo", PORT=port)) == (
        1,
        "",
        f"run: {port!r} is not a port: a number from 1 to 65535.\n",
    )


def test_any_other_word_is_a_command_of_the_service(checkout, tmp_path):
    """In the caller's own folder, so that it finds the files it names, and with the command's exit status."""
    a_program(checkout / ".venv/bin/python", 'case "$1" in */manage.py) pwd; echo "$@"; exit 7 ;; esac')
    started = subprocess.run(
        [sys.executable, checkout / "run", "import_records", "client", "people.csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert started.stdout.splitlines()[-2:] == [
        str(tmp_path),
        f"{checkout / 'manage.py'} import_records client people.csv",
    ]
    assert started.returncode == 7


def test_a_folder_that_cannot_be_written_is_reported_in_one_line(run, checkout, monkeypatch):
    (checkout / ".venv.lock").mkdir()
    status, _, complaint = outcome(start(checkout, "migrate"))
    assert (status, complaint) == (1, f"run: {checkout / '.venv.lock'}: Is a directory\n")


def test_an_account_that_cannot_write_the_venv_is_told_who_makes_it(run, checkout, monkeypatch):
    monkeypatch.setattr(run.os, "access", lambda path, mode: path != str(checkout))
    with pytest.raises(
        SystemExit, match=r"\.venv is missing, .*Start \./run help as the account that owns it"
    ):
        run.prepare()


def a_service(checkout, *checks):
    """A .venv whose ``migrate --check`` prints and ends as given, one try after the other."""
    answers = [
        f'  {number}) printf "%s\\n" "{text}"; exit {status} ;;'
        for number, (text, status) in enumerate(checks)
    ]
    return a_program(
        checkout / ".venv/bin/python",
        f'tries="{checkout}/tries"; number=$(cat "$tries" 2>/dev/null || echo 0)',
        'case "$2 $3" in',
        '"migrate --check") echo $((number + 1)) >"$tries"; case $number in',
        *answers,
        "esac ;;",
        f'"records_site.server "*) echo "$@" >"{checkout}/served" ;;',
        "esac",
    )


DOWN = """Traceback
psycopg.OperationalError: refused

django.db.utils.OperationalError: refused
  Is it running?"""


REFUSED = "the database refuses DATABASE_URL: "


@pytest.mark.parametrize("reason", ["refused", "FATAL:  the database system is starting up"])
def test_serve_waits_until_the_database_answers(run, checkout, monkeypatch, capsys, reason):
    down = DOWN.replace("refused", reason)
    a_service(checkout, (down, 1), (down, 1), ("", 0))
    monkeypatch.setattr(run, "DATABASE_PAUSE", 0)
    run.wait_for_database()
    assert capsys.readouterr().out == f"run: waiting for the database: {reason}\n" * 2


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("people.0002", "run: the database is not up to date: ./run migrate, then start again."),
        (
            "Traceback\nValueError: no engine",
            "run: the database or a setting cannot be used: ValueError: no engine",
        ),
        (
            "Traceback\ndjango.core.exceptions.ImproperlyConfigured: HTTPS is true or false, not 'ja'.",
            "run: the database or a setting cannot be used: HTTPS is true or false, not 'ja'.",
        ),
        *(
            (DOWN.replace("refused", f"connection to server failed: {answer}"), f"run: {REFUSED}{answer}")
            for answer in (
                "FATAL:  password authentication failed for user records",
                "fe_sendauth: no password supplied",
                "FATAL:  database recods does not exist",
                "FATAL:  no pg_hba.conf entry for host 10.1.0.5, user records",
                "FATAL:  role records is not permitted to log in",
                "FATAL:  no such user: recods",
            )
        ),
    ],
)
def test_serve_refuses_a_database_that_waiting_does_not_help(run, checkout, text, refusal):
    a_service(checkout, (text, 1))
    with pytest.raises(SystemExit) as ended:
        run.wait_for_database()
    assert ended.value.code == refusal


def test_serve_hands_its_options_to_the_server(checkout):
    a_service(checkout, ("", 0))
    digest = hashlib.sha256((checkout / "requirements.txt").read_bytes()).hexdigest()
    (checkout / ".venv/installed").write_text(f"requirements.txt {digest}\n")
    status, _, complaint = outcome(
        start(checkout, "serve", "--port", "18999", "--workers", "3", "--no-worker")
    )
    assert (status, complaint) == (0, "")
    served = (checkout / "served").read_text()
    arguments = "--host 127.0.0.1 --workers 3 --threads 8 --port 18999 --no-worker"
    assert served == f"-m records_site.server {arguments}\n"


def test_serve_hands_a_folder_of_subscribers_to_the_server_once_it_is_checked(checkout):
    a_program(
        checkout / ".venv/bin/python",
        'case "$2 $3" in',
        f'"subscribers "*) echo "$3" >"{checkout}/checked" ;;',
        f'"records_site.server "*) echo "$@" "$STATIC_DIR" >"{checkout}/served" ;;',
        "esac",
    )
    digest = hashlib.sha256((checkout / "requirements.txt").read_bytes()).hexdigest()
    (checkout / ".venv/installed").write_text(f"requirements.txt {digest}\n")
    status, _, complaint = outcome(
        start(checkout, "serve", "--subscribers", "/etc/records", "--workers", "1")
    )
    assert (status, complaint) == (0, "")
    assert (checkout / "checked").read_text() == "/etc/records\n"
    arguments = "--host 127.0.0.1 --workers 1 --threads 8 --subscribers /etc/records"
    assert (checkout / "served").read_text() == f"-m records_site.server {arguments} {checkout}/var/static\n"
