"""The installed Chromium, for tests and for clients that run in a browser."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: It has no window around a page, which takes two thirds of a browser's CPU, and no viewer of PDF files.
HEADLESS_SHELL = "chromium-headless-shell"
ON_MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
#: Without these it asks its maker's servers for updates, which closed networks refuse one by one.
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Each process would compile the scripts of the pages again.
ONE_PROCESS = "--renderer-process-limit=1"
#: No page stays long enough to repay what its scripts would cost to optimise: a fifth of the page's process.
NO_OPTIMISER = "--js-flags=--no-opt,--no-maglev"


def find_chromium(*preferred: str) -> str | None:
    found = next(filter(None, map(shutil.which, (*preferred, *NAMES))), None)
    return found or (ON_MACOS if os.path.exists(ON_MACOS) else None)


def launch(playwright: Playwright, program: str) -> Browser:
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium refuses its sandbox to root
    return playwright.chromium.launch(
        executable_path=program, args=[*QUIET, ONE_PROCESS, NO_OPTIMISER, *sandbox]
    )
