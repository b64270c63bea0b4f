"""What holds for every test: which engine it needs, a clean cache, a browser where one is installed."""

import contextlib
import datetime as dt
import os
import shutil
from zoneinfo import ZoneInfo

import hypothesis
import pytest
import time_machine
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test.utils import override_settings
from playwright.sync_api import sync_playwright

from apps.odata import clock
from tests.any_day import MOMENT
from tests.engines import in_ci

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ON_MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

# A slow machine is no fault of the code. In CI the examples are always the same: red means something changed.
hypothesis.settings.register_profile("records", deadline=None, derandomize=in_ci())
hypothesis.settings.load_profile("records")


def pytest_runtest_setup(item):
    for marker in item.iter_markers("postgres"):
        (reason,) = marker.args  # a test that leaves one engine out says why
        if connection.vendor != "postgresql":
            pytest.skip(f"only PostgreSQL can show it: {reason}")


@pytest.fixture(autouse=True)
def clean_cache():
    """Rate limits and cached answers of one test are not the next one's."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def moment_of_run():
    """The clock of all tests where ``python -m tests.any_day`` sets it."""
    moment = os.environ.get(MOMENT)
    with time_machine.travel(dt.datetime.fromisoformat(moment)) if moment else contextlib.nullcontext():
        yield


@pytest.fixture(autouse=True)
def fresh_clock():
    """The moment of one test is not the next one's."""
    clock.reset_now()
    yield
    clock.reset_now()


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
def quick_password_hasher():
    """A password takes a tenth of a second to hash on purpose; tests set and check hundreds."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True, scope="session")
def documents_apart(tmp_path_factory):
    """Documents that tests keep lie beside no others."""
    folder = {
        "BACKEND": "apps.documents.storage.DocumentFolder",
        "OPTIONS": {"location": tmp_path_factory.mktemp("documents")},
    }
    with override_settings(STORAGES={**settings.STORAGES, "documents": folder}):
        yield


@pytest.fixture(scope="session")
def browser():
    """A running Chromium for tests marked `browser`."""
    program = chromium()
    if program is None:
        missing = "no Chromium is installed (Debian: apt-get install chromium)"
        pytest.fail(missing) if in_ci() else pytest.skip(missing)
    # Playwright's event loop runs in this thread; Django would take our queries for asynchronous ones.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium refuses its sandbox to root
        opened = playwright.chromium.launch(executable_path=program, args=[*QUIET, *sandbox])
        yield opened
        opened.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


#: Without these it asks its maker's servers for updates, which closed networks refuse one by one.
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium():
    found = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    return found or (CHROMIUM_ON_MACOS if os.path.exists(CHROMIUM_ON_MACOS) else None)
