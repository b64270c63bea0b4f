"""Clients in Chromium: pages of an origin of their own, which call the service across origins."""

import contextlib
import functools
import http.server
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.chromium import find_chromium, launch
from tests.clients.commands import Failed

PAGE_SECONDS = 90


class PageHandler(http.server.SimpleHTTPRequestHandler):
    """The files of a folder, OpenUI5's libraries as one, and what the steps need to know of the service."""

    def __init__(self, *arguments: Any, description: Mapping[str, str], **options: Any) -> None:
        self.description = description
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/records.js":
            self.send_text("text/javascript", f"globalThis.RECORDS = {json.dumps(self.description)};")
        elif path.endswith("/library.css"):  # OpenUI5's build makes it; the steps need no styles
            self.send_text("text/css", "")
        else:
            super().do_GET()

    def send_text(self, content_type: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        self.wfile.write(text.encode())

    def translate_path(self, path: str) -> str:
        libraries = Path(self.directory, "node_modules/@openui5")
        name = path.partition("?")[0].removeprefix("/resources/")
        found = (library / "src" / name for library in libraries.iterdir() if path.startswith("/resources/"))
        return str(next(filter(Path.exists, found), super().translate_path(path)))

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the steps are printed."""


@contextlib.contextmanager
def page_server(folder: Path, port: int, description: Mapping[str, str]) -> Iterator[Browser]:
    """A Chromium, and a server of the folder's pages for it."""
    handler = functools.partial(PageHandler, directory=str(folder), description=description)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = launch(playwright, find_chromium())
        yield browser
        browser.close()
    server.shutdown()


def run_page(browser: Browser, url: str) -> str:
    """What the steps of a page print; ``Failed`` with what else went wrong."""
    page = browser.new_page()
    printed, errors = [], []
    page.on("console", lambda message: printed.append(message.text) if message.type == "log" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    end = time.monotonic() + PAGE_SECONDS
    while page.title() != "done":
        if errors or time.monotonic() > end:
            raise Failed("\n".join([*printed, *(errors or [f"not done in {PAGE_SECONDS} seconds"])]))
        page.wait_for_timeout(100)
    page.close()
    return "\n".join(printed)
