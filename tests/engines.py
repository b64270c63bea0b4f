"""Runs the tests on SQLite and, at once, on a PostgreSQL of their own: `./run test`."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from tests import postgres

ENGINES = ("sqlite", "postgresql")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}

Process = subprocess.Popen[Any]


class Skipped(Exception):
    """An engine's tests were not run; the text says why."""


def main(arguments: list[str]) -> int:
    """The exit status for the words after `./run test`: 0 only when every engine's tests passed."""
    # So that `finally` runs, and nothing that was started outlives us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chosen, words = chosen_engines(arguments)
    running: dict[str, Process] = {}
    outputs: dict[str, IO[bytes]] = {}
    verdicts: dict[str, str] = {}
    status, began = 0, time.monotonic()
    if spread(words, 1):
        compile_tests()
    with contextlib.ExitStack() as stack:
        # At once: the tests of one engine use the processors while those of the other wait.
        for engine in chosen:
            added: list[str] = []
            if engine == chosen[0]:
                print(heading(engine), flush=True)
            else:
                # A test that reaches no database, or shows what a page does in a browser, is run once.
                added = ["--database-only"]
                outputs[engine] = stack.enter_context(tempfile.TemporaryFile())
            try:
                added += spread(words, 1 if engine == chosen[0] else 2)
                running[engine] = stack.enter_context(RUNS[engine]([*added, *words], outputs.get(engine)))
                if engine != chosen[-1]:
                    # The other one, with fewer workers, would end last, beside idle processors.
                    nice = os.getpriority(os.PRIO_PROCESS, 0) + 3
                    os.setpriority(os.PRIO_PROCESS, running[engine].pid, nice)
            except Skipped as reason:
                # Whoever develops on SQLite alone may; what is merged was seen on both.
                failed = in_ci() or len(chosen) == 1
                status = status or int(failed)
                verdicts[engine] = f"{'FAILED, ' if failed else ''}not run: {reason}"
        for engine, result in results(running):
            status = status or result
            verdict = "passed" if result == 0 else f"FAILED (pytest's exit status is {result})"
            verdicts[engine] = f"{verdict} in {time.monotonic() - began:.0f} s"
        for engine, output in outputs.items():
            output.seek(0)
            print(heading(engine), output.read().decode(errors="replace"), sep="\n")
    print("\n" + "\n".join(f"{NAMES[engine]}: {verdicts[engine]}" for engine in chosen), flush=True)
    return status


def compile_tests() -> None:
    """From an empty clone workers that start at once would each compile the tests: 10 s of CPU for each."""
    if not list(Path("tests/__pycache__").glob("*-pytest-*.pyc")):
        command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet"]
        subprocess.run(command, env=compiling(os.environ), stdout=subprocess.DEVNULL)


def compiling(environment: Mapping[str, str]) -> dict[str, str]:
    """What one run has compiled serves the next."""
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}


def heading(engine: str) -> str:
    return f"\n== The tests on {NAMES[engine]}"


def results(running: Mapping[str, Process]) -> Iterator[tuple[str, int]]:
    """Each engine with the exit status of its tests, as soon as they end."""
    left = dict(running)
    while left:
        time.sleep(0.1)
        for engine, process in running.items():
            if engine in left and process.poll() is not None:
                del left[engine]
                yield engine, process.returncode


def chosen_engines(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """The engines that `--engine=` asks for (all without it), and pytest's own words."""
    wishes = [word.removeprefix("--engine=") for word in arguments if word.startswith("--engine=")]
    words = [word for word in arguments if not word.startswith("--engine=")]
    unknown = set(wishes) - set(ENGINES)
    if unknown:
        sys.exit(f"run: no engine {', '.join(sorted(unknown))}: --engine={' or --engine='.join(ENGINES)}.")
    return [engine for engine in ENGINES if engine in wishes or not wishes], words


def on_sqlite(words: list[str], output: IO[bytes] | None) -> AbstractContextManager[Process]:
    environment = dict(os.environ)
    environment.pop("DATABASE_URL", None)  # never the developer's own database
    return pytest(words, environment, output)


@contextlib.contextmanager
def on_postgresql(words: list[str], output: IO[bytes] | None) -> Iterator[Process]:
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(postgres.throwaway_server())
        except postgres.Unavailable as reason:
            raise Skipped(str(reason)) from reason
        yield stack.enter_context(pytest(words, {**os.environ, "DATABASE_URL": url}, output))


RUNS: dict[str, Callable[[list[str], IO[bytes] | None], AbstractContextManager[Process]]] = {
    "sqlite": on_sqlite,
    "postgresql": on_postgresql,
}


def spread(words: list[str], share: int) -> list[str]:
    """Options of workers for the whole suite, one for each processor or each second one.

    To start a worker and its controller takes 8 s of CPU: where there would be one, there is none.
    """
    workers = (os.cpu_count() or 1) // share
    names_a_part = any(not word.startswith("-") for word in words)
    if names_a_part or workers < 2:
        return []
    # Workers take tests in their order, so that those of a file share what it sets up, and no test that
    # needs the records of migrations comes after one that empties the tables. Forty at a time:
    # of larger parts one had all tests of the browser, while the other worker had nothing left to do.
    return ["-n", str(workers), "--dist", "load", "--maxschedchunk", "40"]


@contextlib.contextmanager
def pytest(words: list[str], environment: dict[str, str], output: IO[bytes] | None) -> Iterator[Process]:
    """A running pytest."""
    command = [sys.executable, "-m", "pytest", *words]
    stdin = None if output is None else subprocess.DEVNULL  # who debugs one engine asks for it
    process = subprocess.Popen(command, env=compiling(environment), stdin=stdin, stdout=output, stderr=output)
    try:
        yield process
    except KeyboardInterrupt:
        # pytest got the same signal: it prints how far it came.
        process.wait(timeout=20)
        raise
    finally:
        process.terminate()
        process.wait()


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
