"""What holds for every test: which engine it needs, a clean cache, a browser where one is installed."""

import contextlib
import datetime as dt
import functools
import gc
import json
import os
from unittest import mock
from zoneinfo import ZoneInfo

import hypothesis
import pytest
import time_machine
from django.conf import settings
from django.core.cache import cache
from django.core.management.commands import flush
from django.db import connection, transaction
from django.template import RequestContext, Template
from django.test import Client
from django.test.utils import instrumented_test_render, override_settings
from django.utils import timezone
from playwright.sync_api import sync_playwright

from apps.base import clock
from apps.core.models import Subscriber
from apps.core.read_log import READ_LOG
from apps.core.table_files import opening, reader
from apps.core.untrusted import run_limited
from tests import races
from tests.any_day import MOMENT
from tests.chromium import HEADLESS_SHELL, find_chromium, launch
from tests.dependence import depends_on_engine, uses_database
from tests.engines import in_ci
from tests.mail_server import running_mail_server
from tests.operations.databases import Databases
from tests.people.records import an_administrator
from tests.schema_template import database_of_tests, schema_template
from tests.virus_scanner import running_scanner

# A slow machine is no fault of the code. In CI the examples are always the same: red means something changed.
# Every run has other examples; so fewer than Hypothesis' hundred find as much in the end.
hypothesis.settings.register_profile("records", deadline=None, derandomize=in_ci(), max_examples=40)
hypothesis.settings.load_profile("records")

MADE_FOR_EACH_MODEL = ("django_content_type", "auth_permission")


def pytest_addoption(parser):
    parser.addoption(
        "--database-only",
        action="store_true",
        help="leave out what does not depend on the engine, by the rules of docs/commands.md",
    )


def pytest_collection_modifyitems(config, items):
    if config.getoption("--database-only"):
        left_out = [item for item in items if not depends_on_engine(item)]
        items[:] = [item for item in items if depends_on_engine(item)]
        config.hook.pytest_deselected(items=left_out)
    # Tests of servers wait for most of their time: at the end nothing is left that could be done meanwhile.
    items.sort(key=lambda item: uses_database(item) or "/server/" not in item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay until the end: to look for garbage among them took a twentieth of the run."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()
    return collected


def pytest_runtest_setup(item):
    for marker in item.iter_markers("postgres"):
        (reason,) = marker.args  # a test that leaves one engine out says why
        if connection.vendor != "postgresql":
            pytest.skip(f"only PostgreSQL can show it: {reason}")


@pytest.fixture(autouse=True)
def database_where_it_is_asked_for(request, django_db_blocker):
    """A test that does not ask for it would run on one engine only, or pass by what others have left open."""
    asks = uses_database(request.node)
    with django_db_blocker.unblock() if asks else django_db_blocker.block():
        yield


@pytest.fixture(autouse=True)
def no_state_is_left(monkeypatch):
    """The moment, the settings, the rate limits and the cached answers of one test are not the next one's."""
    # On a busy machine a test takes longer than the settings are kept: its statements would be one more.
    monkeypatch.setattr(Subscriber, "CACHE_SECONDS", float("inf"))
    Subscriber.clear_cache()
    clock.reset_now()
    yield
    Subscriber.clear_cache()
    clock.reset_now()
    timezone.deactivate()  # back to that of the settings, Sydney
    cache.clear()
    READ_LOG.waiting.clear()


@pytest.fixture(scope="session")
def store_schema(pytestconfig, django_db_modify_db_settings_parallel_suffix):
    """``store_schema(database)`` keeps what the migrations made of it, unless a run before has: the file."""
    with schema_template(pytestconfig.rootpath) as store:
        yield store


@pytest.fixture(scope="session")
def django_db_modify_db_settings(store_schema):
    """The database of the tests begins as a copy of what a run before has kept."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker, store_schema):
    """Nobody uses the database of the tests any more when it is deleted."""
    with django_db_blocker.unblock():
        if database_of_tests():
            store_schema(database_of_tests())
    yield
    with django_db_blocker.unblock():
        races.close_connections()


@pytest.fixture(scope="session")
def schema_dump(databases, store_schema, django_db_blocker):
    """A migrated database as pg_dump writes it, for servers of a test: to migrate takes 6 s of CPU."""
    with django_db_blocker.unblock():
        return store_schema(databases.template)


@pytest.fixture(autouse=True, scope="session")
def moment_of_run():
    """The clock of all tests where ``python -m tests.any_day`` sets it."""
    moment = os.environ.get(MOMENT)
    with time_machine.travel(dt.datetime.fromisoformat(moment)) if moment else contextlib.nullcontext():
        yield


@pytest.fixture(scope="module")
def module_transaction(django_db_setup, django_db_blocker):
    """For records made once for a file of tests: the transaction of each test lies inside this one."""
    Subscriber.clear_cache()
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
    Subscriber.clear_cache()


@pytest.fixture
def ada(client):
    """An administrator, who is signed in to the back office."""
    person = an_administrator(first_name="Ada", last_name="Byron")
    client.force_login(person)
    return person


@pytest.fixture
def nothing_changed_since(monkeypatch):
    """Claims of builders are approved as if they had a plan, a booking and a price."""
    monkeypatch.setattr("apps.funding.services.shown_warnings.find_warnings_since", lambda model, keys: {})


@pytest.fixture
def at():
    """at("2026-06-30 23:59"): from here on it is that time in Sydney, for whoever reads a clock."""
    with contextlib.ExitStack() as travels:

        def set_clock(text):
            moment = dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Australia/Sydney"))
            travels.enter_context(time_machine.travel(moment, tick=False))
            clock.reset_now()

        yield set_clock


@pytest.fixture(autouse=True, scope="session")
def quick_settings():
    """Settings that are slow on purpose, or at every start of a server: each test's client starts one."""
    with override_settings(
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # a tenth of a second each
        WHITENOISE_USE_FINDERS=False,  # a search for static files, which the live server finds by itself
        STATIC_ROOT=None,  # nor those that ./run demo has collected: 20 ms each
    ):
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_templates(django_test_environment):
    """``response.context`` is that of the page: Django would keep one for each of hundreds of parts of it."""

    def render(template, context):
        is_page = context.template is template and isinstance(context, RequestContext)
        return instrumented_test_render(template, context) if is_page else template.nodelist.render(context)

    with mock.patch.object(Template, "_render", render):
        yield


def read_here(module, request, limits, output):
    """``run_limited`` without a process and without limits."""
    assert module == reader.__name__
    output.writelines(reader.answer(json.loads(json.dumps(request))))


@pytest.fixture(autouse=True, scope="session")
def quick_reader():
    """Files to import are read in the process of the tests: another for each takes 0.1 s.

    ``reader_process`` is for tests of what a file can do to that process, and of each format of files.
    """
    with mock.patch.object(opening, "run_limited", read_here):
        yield


@pytest.fixture
def reader_process(monkeypatch):
    """Files to import are read as in the service, each in a process of its own."""
    monkeypatch.setattr(opening, "run_limited", run_limited)


def delete_rows(operations, style, tables, **options):
    """Statements that empty the tables which have rows, but for what would be made again for each model."""
    emptied = {name: operations.quote_name(name) for name in tables if name not in MADE_FOR_EACH_MODEL}
    has_rows = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {table})" for name, table in emptied.items())
    with operations.connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(has_rows))
        return [f"DELETE FROM {emptied[name]}" for (name,) in cursor]


@pytest.fixture(autouse=True, scope="session")
def quick_flush():
    """A test that commits writes to few tables: to truncate them all takes PostgreSQL a tenth of a second.

    What each model has stays, so it need not be looked for after each such test.
    """
    with (
        mock.patch.object(type(connection.ops), "sql_flush", delete_rows),
        mock.patch.object(flush, "emit_post_migrate_signal"),
    ):
        yield


@pytest.fixture(autouse=True, scope="session")
def files_apart(tmp_path_factory):
    """Documents that tests keep, and files of their workers, lie beside no others."""
    var = tmp_path_factory.mktemp("var")
    folder = {
        "BACKEND": "apps.documents.storage.DocumentFolder",
        "OPTIONS": {"location": var / "documents"},
    }
    with override_settings(VAR_DIR=var, STORAGES={**settings.STORAGES, "documents": folder}):
        yield


@pytest.fixture
def log_of_one_writer(settings):
    """A test is one transaction, of which a snapshot does not tell what came earlier."""
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"


@pytest.fixture
def mail_server(settings):
    """The server that our mail goes to: ``received`` are its messages; the next ``refusals`` it refuses."""
    with running_mail_server(settings) as server:
        yield server


@pytest.fixture
def scanner(settings):
    """The scanner that files are sent to: ``scanned`` has what it got."""
    with running_scanner(settings) as server:
        yield server


@pytest.fixture(scope="session")
def databases(django_db_setup, django_db_blocker, tmp_path_factory):
    """Databases beside that of the tests, each a copy of it without a migration."""
    with django_db_blocker.unblock():
        made = Databases(tmp_path_factory.mktemp("databases"))
    yield made
    made.delete()


@pytest.fixture(scope="session")
def playwright():
    # Its event loop runs in this thread; Django would take our queries for asynchronous ones.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as started:
        yield started
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def browser_profile(playwright, live_server):
    """browser_profile(program): one for all tests, so that styles and scripts come out of its cache."""
    with contextlib.ExitStack() as opened:

        @functools.cache
        def open_profile(program):
            browser = opened.enter_context(contextlib.closing(launch(playwright, program)))
            context = opened.enter_context(contextlib.closing(browser.new_context(base_url=live_server.url)))
            context.set_default_timeout(15_000)
            context.new_page()  # the pages of tests are tabs beside it, which cost less than windows
            return context

        yield open_profile


@pytest.fixture
def profile(request, browser_profile):
    """The profile of a running Chromium, for tests marked `browser`."""
    needs_viewer = request.node.get_closest_marker("pdf_viewer")
    program = find_chromium() if needs_viewer else find_chromium(HEADLESS_SHELL)
    if program is None:
        missing = "no Chromium is installed (Debian: apt-get install chromium)"
        pytest.fail(missing) if in_ci() else pytest.skip(missing)
    return browser_profile(program)


@pytest.fixture
def open_window(profile, live_server):
    """open_window(width, user) -> a page, with `user` signed in, and what went wrong on it.

    ``page.errors`` are those of scripts and of the console, ``page.dialogs`` what was asked, and
    ``page.elsewhere`` the addresses of other hosts: the service asks nobody but itself.
    """

    def opened(width=1280, user=None):
        if user is not None:
            # The page of the login is tested on its own; before each test it would cost a minute in all.
            client = Client()
            client.force_login(user)
            session = client.cookies[settings.SESSION_COOKIE_NAME]
            cookie = {"name": session.key, "value": session.value, "url": live_server.url}
            profile.add_cookies([cookie])
        page = profile.new_page()
        page.set_viewport_size({"width": width, "height": 844})
        page.errors, page.dialogs, page.elsewhere = [], [], []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: answer_dialog(page, dialog))
        page.on("request", lambda request: note_elsewhere(page, request.url, live_server.url))
        return page

    yield opened
    for page in profile.pages[1:]:
        if page.url.startswith(live_server.url):
            page.evaluate("localStorage.clear()")
        page.close()
    profile.clear_cookies()


def answer_dialog(page, dialog):
    """A page is left though the browser asks whether to; every other question is answered with no."""
    page.dialogs.append(dialog.message or dialog.type)
    (dialog.accept if dialog.type == "beforeunload" else dialog.dismiss)()


def note_elsewhere(page, address, home):
    own = ("data:", "blob:", "chrome:", "chrome-extension:")  # the last two are its viewer of PDF files
    if not address.startswith((home, *own)):
        page.elsewhere.append(address)
