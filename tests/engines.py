"""Runs the tests on SQLite, then on a PostgreSQL of their own: `./run test`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

from tests import postgres

ENGINES = ("sqlite", "postgresql")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Skipped(Exception):
    """An engine's tests were not run; the text says why."""


def main(arguments: list[str]) -> int:
    """The exit status for the words after `./run test`: 0 only when every engine's tests passed."""
    # So that `finally` runs, and nothing that was started outlives us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chosen, words = chosen_engines(arguments)
    summaries, status = [], 0
    for engine in chosen:
        # A test that reaches no database, or shows what a page does in a browser, is run once.
        repeated = ["--database-only"] if engine != chosen[0] else []
        print(f"\n== The tests on {NAMES[engine]}", flush=True)
        began = time.monotonic()
        try:
            result = RUNS[engine]([*repeated, *words])
            verdict = "passed" if result == 0 else f"FAILED (pytest's exit status is {result})"
            summaries.append(f"{NAMES[engine]}: {verdict} in {time.monotonic() - began:.0f} s")
        except Skipped as reason:
            # Whoever develops on SQLite alone may; what is merged was seen on both.
            result = 1 if in_ci() or len(chosen) == 1 else 0
            summaries.append(f"{NAMES[engine]}: {'FAILED, ' if result else ''}not run: {reason}")
        status = status or result
    print("\n" + "\n".join(summaries), flush=True)
    return status


def chosen_engines(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """The engines that `--engine=` asks for (all without it), and pytest's own words."""
    wishes = [word.removeprefix("--engine=") for word in arguments if word.startswith("--engine=")]
    words = [word for word in arguments if not word.startswith("--engine=")]
    unknown = set(wishes) - set(ENGINES)
    if unknown:
        sys.exit(f"run: no engine {', '.join(sorted(unknown))}: --engine={' or --engine='.join(ENGINES)}.")
    return [engine for engine in ENGINES if engine in wishes or not wishes], words


def on_sqlite(words: list[str]) -> int:
    environment = dict(os.environ)
    environment.pop("DATABASE_URL", None)  # never the developer's own database
    return pytest(words, environment)


def on_postgresql(words: list[str]) -> int:
    try:
        with postgres.throwaway_server() as url:
            return pytest(words, {**os.environ, "DATABASE_URL": url})
    except postgres.Unavailable as reason:
        raise Skipped(str(reason)) from reason


RUNS: dict[str, Callable[[list[str]], int]] = {"sqlite": on_sqlite, "postgresql": on_postgresql}


def pytest(words: list[str], environment: dict[str, str]) -> int:
    """One run of pytest. Only the whole suite is worth starting workers for."""
    names_a_part = any(not word.startswith("-") for word in words)
    # Workers take tests in their order, so that those of a file share what it sets up, and no test that
    # needs the records of migrations comes after one that empties the tables.
    spread = [] if names_a_part else ["-n", "auto", "--dist", "load"]
    # Rewriting and compiling the tests takes each worker ten seconds; what is kept serves the next run.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen([sys.executable, "-m", "pytest", *spread, *words], env=environment)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # pytest got the same signal: it prints how far it came.
        process.wait(timeout=20)
        raise
    finally:
        process.terminate()


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
