"""One parent for many subscribers: their workers have the settings of their own files, and nothing else."""

import contextlib
import os
import pwd
import signal
import subprocess
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from tests.server.server_process import ROOT, free_port, output_of, variables, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the workers' ids from /proc")

#: Loads the site as the parent does, with marks in all that its settings read, then becomes a subscriber.
PROGRAM = r"""
import gc, json, os, re, sys, urllib.parse
from pathlib import Path
from records_site.server import supervisor

folder, file = sys.argv[1:]
os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
source = Path("records_site/settings.py").read_text()
names = re.findall(r'env\.(?:int|float)\(\s*"(\w+)"', source)
numbers = {name: place for place, name in enumerate(names, int("9" + "0" * 7))}
os.environ |= {name: str(number) for name, number in numbers.items()}
supervisor.be_nobody(folder)
marks = [folder, os.environ["SECRET_KEY"], os.environ["ALLOWED_HOSTS"]]
supervisor.load_site()
for name in numbers:
    del os.environ[name]
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(Path(file).parent)
former = vars(sys.modules["records_site.settings"])
supervisor.be_subscriber(file)
former.clear()  # nobody asks the module that is left
urllib.parse.clear_cache()
from django.conf import settings
from django.db import connections

def is_marked(each):
    if isinstance(each, (str, bytes, Path)):
        return any(mark in str(each) for mark in marks)
    return each in numbers.values()

from records_site import metrics
metrics.WORKERS.set(1)  # the library opens its files in the folder of the process that counts
own = (marks, numbers, os.environ, vars(os.environ), globals(), sys.argv, sys.orig_argv)
gc.unfreeze()
gc.collect()

found = [
    (str(type(holder)), str(each)[:200])
    for holder in gc.get_objects()
    if not any(holder is each for each in own)
    for each in gc.get_referents(holder)
    if isinstance(each, (str, bytes, Path, int, float)) and is_marked(each)
]
databases = repr({alias: connections[alias].settings_dict for alias in connections})
described = {name: repr(getattr(settings, name)) for name in dir(settings) if name.isupper()}
print(json.dumps({"found": found, "settings": described, "databases": databases}))
"""

#: The same settings, of a process that the subscriber has for itself.
APART = """
import json, sys
sys.path.insert(0, ".")
import records_site.server.loading as loading
loading.load()
from django.conf import settings
from django.db import connections
databases = repr({alias: connections[alias].settings_dict for alias in connections})
described = {name: repr(getattr(settings, name)) for name in dir(settings) if name.isupper()}
print(json.dumps({"settings": described, "databases": databases}))
"""

ACCOUNT = """
import json, os, sys
from records_site.server.loading import be_subscriber
be_subscriber(sys.argv[1])
print(json.dumps([os.getresuid(), os.getresgid(), os.getgroups()]))
"""


def own_settings(folder, name, port, **others):
    return {
        "DATABASE_URL": f"sqlite:///{folder / name}.sqlite3",
        "VAR_DIR": str(folder / f"{name}-var"),
        "SECRET_KEY": f"key of {name}",
        "PORT": str(port),
        "ALLOWED_HOSTS": f"{name}.example,127.0.0.1",
        **others,
    }


def write_file(folder, name, port, **others):
    path = folder / f"{name}.env"
    lines = (f"{key}={value}\n" for key, value in own_settings(folder, name, port, **others).items())
    path.write_text("".join(lines))
    return path


def test_nothing_of_the_parents_settings_is_left_in_a_subscribers_worker(tmp_path):
    file = write_file(tmp_path, "harbour", 8101, HTTPS="true", API_PAGE_SIZE="77", MAIL_HOST="mail.example")
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    forked = output_of(PROGRAM, variables(tmp_path), nobody, file)
    assert forked["found"] == []
    own = own_settings(tmp_path, "harbour", 8101, HTTPS="true", API_PAGE_SIZE="77", MAIL_HOST="mail.example")
    apart = output_of(APART, variables(tmp_path, **own))
    assert forked["databases"] == apart["databases"]
    assert plain(forked["settings"]) == plain(apart["settings"])


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives a process another account")
@pytest.mark.parametrize("user", [pwd.getpwnam("nobody").pw_uid, 64_999], ids=["account", "number"])
def test_a_worker_has_the_account_that_owns_its_folder_and_not_the_group_that_root_left_there(tmp_path, user):
    file = write_file(tmp_path, "harbour", 8101)
    folder = tmp_path / "harbour-var"
    folder.mkdir()
    os.chown(folder, user, 0)
    group = user if user == 64_999 else pwd.getpwuid(user).pw_gid
    account = output_of(ACCOUNT, variables(tmp_path, PROMETHEUS_MULTIPROC_DIR=str(tmp_path)), file)
    assert account == [[user] * 3, [group] * 3, []]


def plain(described):
    return {name: text for name, text in described.items() if " at 0x" not in text and name != "VAR_DIR"}


class Parent:
    """A parent that serves the subscribers of a folder."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        command = [sys.executable, "-m", "records_site.server", "--no-worker", "--threads", "2"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, "--subscribers", str(folder)], cwd=ROOT, env=variables(folder), stderr=log
            )

    def status(self, port, token=""):
        """The status of the figures of whoever serves this port; None when nobody does."""
        with (
            contextlib.suppress(OSError, HTTPException),
            contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=10)) as client,
        ):
            client.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
            return client.getresponse().status

    def workers(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return {int(number) for number in children.split()}

    def reload(self):
        """Reload, and wait until nothing but new workers is left."""
        before = self.workers()
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: not before & self.workers())


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """Started once: to load the site takes more than what a test does with it."""
    folder = tmp_path_factory.mktemp("subscribers")
    ports = {name: free_port() for name in ("harbour", "bay")}
    for name, port in ports.items():
        write_file(folder, name, port, METRICS_TOKEN=name)
    started = Parent(folder)
    started.ports = ports
    wait_for(lambda: all(started.status(port) == 401 for port in ports.values()))
    yield started
    started.process.terminate()
    assert started.process.wait(60) == 0
    assert not [*folder.glob("records-metrics-*")]


def test_each_subscriber_is_served_with_its_own_settings(parent):
    statuses = {
        (name, token): parent.status(port, token)
        for name, port in parent.ports.items()
        for token in parent.ports
    }
    assert statuses == {
        ("harbour", "harbour"): 200,
        ("harbour", "bay"): 401,
        ("bay", "harbour"): 401,
        ("bay", "bay"): 200,
    }


def test_a_worker_has_no_socket_of_another_subscriber(parent):
    for worker in parent.workers():
        assert len(sockets_of(worker) & listening(parent.ports.values())) == 1


def sockets_of(process):
    links = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.add(str(each.readlink()))
    return links


def listening(ports):
    """The sockets that listen on these ports."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listen = "0A"  # the state; connections have others
    return {
        f"socket:[{line[9]}]"
        for line in lines
        if line[3] == listen and int(line[1].split(":")[1], 16) in ports
    }


def test_a_folder_in_which_two_share_a_key_leaves_all_as_they_are_until_it_is_mended(parent):
    before = parent.workers()
    wrong = write_file(parent.folder, "cove", free_port(), SECRET_KEY="key of bay")
    parent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "cove.env and bay.env have the same SECRET_KEY" in parent.log.read_text())
    assert before <= parent.workers()
    assert parent.status(parent.ports["bay"], "bay") == 200
    assert "key of bay" not in parent.log.read_text()
    wrong.unlink()
    wait_for(lambda: not before & parent.workers())


def test_a_worker_that_is_killed_is_started_again_for_the_same_subscriber(parent):
    for _ in range(3):
        for worker in parent.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        wait_for(lambda: all(parent.status(port, name) == 200 for name, port in parent.ports.items()))
    assert "of harbour ended (-9)" in parent.log.read_text()


def test_a_reload_finds_new_subscribers_and_leaves_those_that_are_gone(parent):
    """The last one, since it leaves the parent with others."""
    new = free_port()
    write_file(parent.folder, "cove", new, METRICS_TOKEN="cove")
    (parent.folder / "bay.env").unlink()
    parent.reload()
    assert wait_for(lambda: parent.status(new, "cove") == 200)
    assert wait_for(lambda: parent.status(parent.ports["bay"]) is None)
    assert parent.status(parent.ports["harbour"], "harbour") == 200
    assert len(parent.workers()) == 2
