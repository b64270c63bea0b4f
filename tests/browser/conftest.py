"""A person at a browser: signed in, on a window of any width."""

import pytest
from django.conf import settings
from django.test import Client

from tests.people.records import an_administrator


@pytest.fixture
def ada():
    return an_administrator(first_name="Ada", last_name="Byron", primary_email="ada@example.org")


@pytest.fixture
def open_window(browser, live_server, ada):
    """open_window(width) -> a page on which Ada has signed in, with the errors that occurred on it.

    Nothing but the service itself may be asked: any other host's address is an error.
    """
    contexts = []
    # The page of the login is tested on its own; filled in before each test it would cost a minute in all.
    client = Client()
    client.force_login(ada)
    session = client.cookies[settings.SESSION_COOKIE_NAME]

    def opened(width=1280):
        context = browser.new_context(viewport={"width": width, "height": 844}, base_url=live_server.url)
        contexts.append(context)
        context.add_cookies([{"name": session.key, "value": session.value, "url": live_server.url}])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.errors, page.dialogs, page.elsewhere = [], [], []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: note_elsewhere(page, asked.url, live_server.url))
        return page

    yield opened
    for context in contexts:
        context.close()


def note_elsewhere(page, address, home):
    if not address.startswith((home, "data:", "blob:")):
        page.elsewhere.append(address)
