"""What the parent hands to itself when it executes itself anew: which files are open, and what it knows."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from typing import Any, NoReturn

#: The open file with what is handed over.
VARIABLE = "RECORDS_SERVER_HANDOVER"


def execute_anew(files: Iterable[int], state: dict[str, Any]) -> NoReturn:
    """Start this program again in its own process, with its children and these files."""
    with tempfile.TemporaryFile("w+") as kept:
        files = [*files, kept.fileno()]
        json.dump({**state, "files": files}, kept)
        kept.flush()
        for each in files:
            os.set_inheritable(each, True)
        try:
            environment = {**os.environ, VARIABLE: str(kept.fileno())}
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606  our own
        finally:  # it could not
            for each in files:
                os.set_inheritable(each, False)


def take_over() -> dict[str, Any]:
    """What was handed over; nothing at a first start."""
    number = os.environ.pop(VARIABLE, None)
    if number is None:
        return {}
    kept = os.fdopen(int(number))
    kept.seek(0)
    state: dict[str, Any] = json.load(kept)
    for each in state["files"]:
        os.set_inheritable(each, False)
    kept.close()
    return state
