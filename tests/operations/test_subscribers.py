"""Many subscribers on one installation: nothing shared, every database migrated, each host led to its own."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.core.database.migrations import applied_migrations, known_migrations
from tests.operations.databases import default_database

pytestmark = pytest.mark.django_db


def write(folder, name, **settings):
    """The file of a subscriber; settings replace those of its own, and ``None`` leaves one out."""
    port = 9000 + sum(map(ord, name))
    own = {
        "DATABASE_URL": f"sqlite:///{folder / name}.sqlite3",
        "VAR_DIR": folder / f"{name}-var",
        "SECRET_KEY": f'"{name * 20}"',
        "PORT": port,
        "ALLOWED_HOSTS": f"{name}.example, 127.0.0.1",
        **settings,
    }
    lines = [f"{key}={value}" for key, value in own.items() if value is not None]
    (folder / f"{name}.env").write_text("# a comment\n\n" + "\n".join(lines) + "\n")


def run(folder, **options):
    out = StringIO()
    call_command("subscribers", folder, stdout=out, **options)
    return out.getvalue().splitlines()


def test_each_host_is_led_to_its_own_process(tmp_path):
    write(tmp_path, "harbour", ALLOWED_HOSTS="Harbour.example,records.harbour.example,localhost", PORT=8101)
    write(tmp_path, "ridge", PORT=8102)
    assert run(tmp_path, haproxy=tmp_path) == ["2 subscribers: nothing is shared."]
    hosts = ["harbour.example harbour", "records.harbour.example harbour", "ridge.example ridge"]
    assert (tmp_path / "hosts.map").read_text().splitlines() == hosts
    backends = (tmp_path / "backends.cfg").read_text()
    assert backends.count("backend ") == 2
    assert "server one 127.0.0.1:8102 " in backends.partition("backend ridge")[2]


@pytest.mark.parametrize("setting", ["DATABASE_URL", "VAR_DIR", "SECRET_KEY", "PORT", "ALLOWED_HOSTS"])
def test_what_two_share_and_what_one_lacks_is_named_without_its_value(tmp_path, setting):
    write(tmp_path, "harbour", **{setting: "the-same"})
    write(tmp_path, "ridge", **{setting: "the-same"})
    write(tmp_path, "valley", **{setting: None})
    with pytest.raises(CommandError) as refused:
        run(tmp_path, migrate=True)
    assert str(refused.value).splitlines() == [
        f"ridge.env and harbour.env have the same {setting}.",
        f"valley.env has no {setting}.",
    ]


def test_a_folder_without_subscribers_and_a_wrong_name_are_refused(tmp_path):
    with pytest.raises(CommandError, match="has no file"):
        run(tmp_path)
    write(tmp_path, "Two words")
    with pytest.raises(CommandError, match="small letters, digits and hyphens"):
        run(tmp_path)


def test_all_databases_are_migrated_though_one_fails(tmp_path, databases):
    urls = {name: databases.create() for name in ("harbour", "ridge")}
    *_, before, last = sorted(name for app, name in known_migrations() if app == "funding")
    with default_database(urls["harbour"]):
        call_command("migrate", "funding", before, verbosity=0)
    for name, url in urls.items():
        write(tmp_path, name, DATABASE_URL=url)
    write(tmp_path, "broken", DATABASE_URL=f"sqlite:///{tmp_path}/no/such/folder")
    out = StringIO()
    with pytest.raises(CommandError, match="1 database of 3 could not be migrated"):
        call_command("subscribers", tmp_path, migrate=True, parallel=2, stdout=out)
    done = dict(line.partition("] ")[2].split(": ", 1) for line in out.getvalue().splitlines()[1:4])
    assert done.pop("broken").startswith("OperationalError")
    assert done == dict.fromkeys(urls, "up to date")
    with default_database(urls["harbour"]):
        assert ("funding", last) in applied_migrations(connection)
