"""What a process of tests does for `./run test mutants`: it has a mutated module, or notes what runs what.

``MUTANTS`` names a file with the tests of mutants, of which each is tried in a copy of the process.
``MUTANT`` names a mutant whose module is compiled from the changed tree. No file changes in either way.
``MUTANT_TRIALS`` names the file to which a trial adds a line: mutant, outcome, the test that failed.
``MUTANT_MAP`` names the file to which a run writes the lines that each of its tests executes.
"""

import gc
import json
import os
import resource
import signal
import sys
from collections import defaultdict
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

from tests.mutants.mutations import ROOT, area_files, module_name, mutants_of, mutated_tree, path_of

#: A test that needs longer, or more memory, has found the mutant: none takes a tenth of that otherwise.
TEST_SECONDS, MEMORY = 60, 4 << 30


class MutantLoader(SourceFileLoader):
    """A loader of the mutated module, which neither reads nor writes bytecode files."""

    def get_code(self, fullname):
        tree = mutated_tree(os.environ["MUTANT"])
        return compile(tree, self.get_filename(fullname), "exec", dont_inherit=True)


class MutantFinder:
    """A finder before all others, for the module of the mutant only."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != os.environ["MUTANT"].partition(":")[0]:
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = MutantLoader(name, spec.origin)
        return spec


class Trial:
    """The trial of one mutant: it ends a test that never ends, and writes down which one failed."""

    def __init__(self, trials):
        self.trials, self.killer = trials, ""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def pytest_runtest_setup(self):
        signal.alarm(TEST_SECONDS)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.killer = self.killer or report.nodeid

    def write(self, name, outcome):
        signal.alarm(0)
        with open(self.trials, "a") as file:
            print(json.dumps([name, outcome, self.killer]), file=file)


class TrialOfProcess(Trial):
    """The trial of the mutant that this process has imported."""

    def pytest_sessionfinish(self):
        self.write(os.environ["MUTANT"], "killed" if self.killer else "survived")


class Trials(Trial):
    """Runs the tests of each mutant in a copy of this process, which has imported and collected everything.

    A copy changes the code of the mutant's function; what runs when a module is imported it cannot change.
    """

    def __init__(self, trials, tests_of_mutants):
        super().__init__(trials)
        self.tests_of_mutants = tests_of_mutants

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        with_database = next(item for item in session.items if item.get_closest_marker("django_db"))
        self.run([with_database], session)  # the database is made once, and copied with the process
        for path in area_files():
            import_module(module_name(path))
        gc.unfreeze()
        functions = defaultdict(list)
        for each in gc.get_objects():
            if type(each) is FunctionType:  # isinstance asks lazy objects, which may have no value any more
                functions[each.__code__.co_filename].append(each)
        gc.freeze()
        for name, tests in self.tests_of_mutants.items():
            mutants_of(path_of(name))  # kept for the copies
            pid = os.fork()
            if pid == 0:
                is_changed = change_functions(name, functions)
                self.run([items[test] for test in tests if is_changed and test in items], session)
                outcome = "survived" if is_changed else "outside"
                self.write(name, "killed" if self.killer else outcome)
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            if status:
                self.write(name, "time limit" if os.WIFSIGNALED(status) else "killed")
        return True

    def run(self, items, session):
        """Run the tests up to the first that fails; what a session has set up stays."""
        for item in items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=session.items[-1])
            if self.killer:
                break
        signal.alarm(0)


def change_functions(name, functions):
    """Give the existing functions the code that they have in the mutant; False when there are none."""
    path = path_of(name)
    original = compile(path.read_text(), path, "exec", dont_inherit=True)
    mutated = compile(mutated_tree(name), path, "exec", dont_inherit=True)
    is_changed = False
    for old, new in pairs_of_codes(original, mutated):
        for function in functions[str(path)]:
            if old != new and function.__code__ == old:
                function.__code__ = new
                is_changed = True
    return is_changed


def pairs_of_codes(old, new):
    """The code objects within two, each with the other at its place, as far as both have as many."""
    inner = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    if len(inner[0]) == len(inner[1]):
        for pair in zip(*inner, strict=True):
            yield pair
            yield from pairs_of_codes(*pair)


class LineRecorder:
    """Writes the lines of the areas that each test executes, and how long it takes, by its file."""

    def __init__(self):
        self.seconds, self.not_passed = {}, set()
        files = [str(path) for path in area_files()]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if not report.passed:
            self.not_passed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.coverage.stop()
        data = self.coverage.get_data()
        found = {}
        for test in self.seconds.keys() - self.not_passed:
            tests = found.setdefault(test.partition("::")[0], {"seconds": {}, "lines": {}})
            tests["seconds"][test] = round(self.seconds[test], 3)
        numbers = {test: at for tests in found.values() for at, test in enumerate(tests["seconds"])}
        for path in data.measured_files():
            name = os.path.relpath(path, ROOT)
            for line, tests in data.contexts_by_lineno(path).items():
                for test in numbers.keys() & set(tests):
                    lines = found[test.partition("::")[0]]["lines"].setdefault(name, {})
                    lines.setdefault(line, []).append(numbers[test])
        Path(os.environ["MUTANT_MAP"]).write_text(json.dumps(found))


if "MUTANT" in os.environ:
    sys.meta_path.insert(0, MutantFinder)


def pytest_configure(config):
    if "MUTANT_MAP" in os.environ:
        config.pluginmanager.register(LineRecorder())
    if "MUTANT" in os.environ:
        config.pluginmanager.register(TrialOfProcess(os.environ["MUTANT_TRIALS"]))
    if "MUTANTS" in os.environ:
        tests_of_mutants = json.loads(Path(os.environ["MUTANTS"]).read_text())
        config.pluginmanager.register(Trials(os.environ["MUTANT_TRIALS"], tests_of_mutants))
