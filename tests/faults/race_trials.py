"""The tests of races, tried as often as one likes: `./run test races --trials 10000`.

It exits 0 when no trial has failed; ``--record`` writes docs/faults.md.
"""

import argparse
import ast
import os
import subprocess
import sys

from tests import postgres
from tests.faults import page
from tests.server.server_process import ROOT

TITLE = "Races"
METHOD = """\
Callers begin at the same moment, each in a thread and on a connection of its own. A trial fails when not
exactly one has what only one can have, or the others are not told why.
"""
#: Trials of each race in one run of pytest, all on one server.
BATCH = 200


def find_races():
    """The tests that are tried ``ROUNDS`` times, by path and name."""
    return [
        f"{path.relative_to(ROOT)}::{test.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for test in ast.parse(path.read_text()).body
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        if any(isinstance(each, ast.Name) and each.id == "ROUNDS" for each in ast.walk(test))
    ]


def try_races(url, trials):
    """Whether all of so many trials of each race ended as they must."""
    environment = {**os.environ, "DATABASE_URL": url, "RACE_ROUNDS": str(trials)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "--reuse-db", *find_races()]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def as_markdown(trials, words):
    """The section of docs/faults.md."""
    names = [race.partition("::test_")[2].replace("_", " ") for race in find_races()]
    rows = [(name, f"{trials:,}", 0) for name in names]
    heads = ("What must hold", "Trials", "Failed")
    return f"{page.origin(f'races {words}')}\n{METHOD}\n{page.table(heads, rows)}"


def main(arguments):
    parser = argparse.ArgumentParser(prog="./run test races", description=__doc__)
    parser.add_argument("--trials", type=int, default=BATCH, help="of each race (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="write docs/faults.md")
    options = parser.parse_args(arguments)
    with postgres.throwaway_server() as url:
        for done in range(0, options.trials, BATCH):
            batch = min(BATCH, options.trials - done)
            if not try_races(url, batch):
                return 1
            if options.record:
                page.replace_section(TITLE, as_markdown(done + batch, " ".join(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
