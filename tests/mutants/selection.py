"""Which tests may kill a mutant: those that execute its line, the likeliest first."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.mutants.mutations import ROOT, Mutant, area_files

#: Folders whose tests start a browser or a server, which would have no mutant, or take minutes.
LEFT_OUT = ("browser", "clients", "demo", "faults", "mutants", "server")
#: Of a file of tests without one that passes on SQLite.
NOTHING = {"seconds": {}, "lines": {}}
Line = tuple[str, int]


class LinesOfTests:
    """The lines of the areas that each test executes; a file of tests is run again when it has changed."""

    def __init__(self, file: Path):
        self.file = file
        stored = json.loads(file.read_text()) if file.exists() else {}
        modules = sorted(ROOT.glob("apps/**/*.py"))
        self.code = sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()
        self.tests = stored["tests"] if stored.get("code") == self.code else {}

    def refresh(self, processes: int) -> None:
        """Run the files of tests that have changed, all when the code has, in so many processes at once."""
        files = [path for path in sorted(ROOT.glob("tests/*/test_*.py")) if path.parent.name not in LEFT_OUT]
        digests = {
            str(path.relative_to(ROOT)): sha256(path.read_bytes()).hexdigest()
            for path in [*files, ROOT / "tests/test_entry_points.py"]
        }
        known = {name: found["digest"] for name, found in self.tests.items()}
        changed = [name for name, digest in digests.items() if known.get(name) != digest]
        if changed:
            print(f"Running {len(changed)} files of tests to see which lines they execute", flush=True)
            with ThreadPoolExecutor(processes) as threads:
                slices = [changed[start::processes] for start in range(processes)]
                for found in threads.map(find_lines, filter(None, slices)):
                    self.tests |= found
            for name in changed:
                self.tests[name] = {**self.tests[name], "digest": digests[name]}
            self.tests = {name: found for name, found in self.tests.items() if name in digests}
            self.file.write_text(json.dumps({"code": self.code, "tests": self.tests}))

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Of each test that passes."""
        return {test: each for found in self.tests.values() for test, each in found["seconds"].items()}

    @cached_property
    def by_line(self) -> dict[Line, set[str]]:
        lines: dict[Line, set[str]] = {}
        for found in self.tests.values():
            names = list(found["seconds"])
            for path, numbers in found["lines"].items():
                for line, tests in numbers.items():
                    lines.setdefault((path, int(line)), set()).update(names[test] for test in tests)
        return lines

    @cached_property
    def lines_of_test(self) -> dict[str, int]:
        counts = dict.fromkeys(self.seconds, 0)
        for tests in self.by_line.values():
            for test in tests:
                counts[test] += 1
        return counts

    def tests_for(self, mutant: Mutant, seconds: float) -> list[str]:
        """Those of what a list lacks first, then those with most of its words that execute least."""
        path = str(mutant.path.relative_to(ROOT))
        found = self.tests_of((path, line) for line in mutant.lines)
        # Executed by imports: tests execute what reads its name, or else what it names and its module.
        found = found or self.tests_about(mutant.assigned)
        if not found:
            module = self.tests_of(line for line in self.by_line if line[0] == path)
            found = self.tests_about(mutant.words) | module
        words = words_of(mutant.name)
        # Of a rule that a list lacks: those that execute it. In functions, the names are those of variables.
        change = "" if mutant.lines else mutant.name.rpartition("[")[2].partition(" → ")[0]
        removed = self.tests_about(re.findall(r"\w+", change))
        order = sorted(
            found | removed,
            key=lambda test: (
                test not in removed,
                -len(words & words_of(test)),
                self.lines_of_test[test],
                test,
            ),
        )
        ends = accumulate(self.seconds[test] for test in order)
        return [test for test, end in zip(order, ends, strict=True) if end <= seconds or test == order[0]]

    def tests_about(self, names: Iterable[str]) -> set[str]:
        return self.tests_of(line for name in names for line in lines_about().get(name, ()))

    def tests_of(self, lines: Iterable[Line]) -> set[str]:
        return set().union(*(self.by_line.get(line, ()) for line in lines))


def find_lines(files: list[str]) -> dict[str, dict[str, Any]]:
    """The lines that the tests of these files execute, by file."""
    with tempfile.NamedTemporaryFile() as made:
        run = run_tests(files, MUTANT_MAP=made.name)
        if run.returncode > 1:  # a module of tests cannot be imported: nothing was run at all
            sys.exit(run.stdout[-2000:])
        return dict.fromkeys(files, NOTHING) | json.loads(Path(made.name).read_text())


@cache
def lines_about() -> dict[str, set[Line]]:
    """The lines of the functions and classes that have a name, or read it."""
    found: dict[str, set[Line]] = {}
    for path in area_files():
        for node in definitions(ast.parse(path.read_text())):
            lines = {(str(path.relative_to(ROOT)), line) for line in range(node.lineno, node.end_lineno + 1)}
            read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            for name in {node.name, *read}:
                found.setdefault(name, set()).update(lines)
    return found


def definitions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))


@cache
def words_of(name: str) -> frozenset[str]:
    """Words of four letters and more, those of CamelCase as well, without the ending of a plural."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return frozenset(word.lower().removesuffix("s") for word in words if len(word) > 3)


def run_tests(tests: Iterable[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests on SQLite in a process of its own, which stops at the first failure of a mutant."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.mutants.pytest_plugin"]
    command += ["-m", "not browser", "-p", "no:cacheprovider"]
    command += ["-x"] if "MUTANT" in environment else []
    # As in CI Hypothesis tries the same examples each time: others could fail without a mutant.
    settings = {**os.environ, "DATABASE_URL": "", "CI": "true", **environment}
    with tempfile.NamedTemporaryFile("w") as names:
        names.write("\n".join(tests))
        names.flush()
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.run([*command, f"@{names.name}"], cwd=ROOT, env=settings, **output)
