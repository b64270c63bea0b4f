"""Mutants of the business rules, which tests must kill: `./run test mutants --count 200 --seed 1`.

It exits 0 when at least 95 of 100 are killed and each survivor is in survivors.toml with its reason;
``--record`` writes docs/faults.md. Tests run on SQLite; ``var/mutants`` has which lines each executes.
"""

import argparse
import json
import os
import resource
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from tests.faults import page
from tests.mutants.mutations import AREAS, ROOT, Mutant, all_mutants
from tests.mutants.selection import LinesOfTests, run_tests

FOLDER = ROOT / "var" / "mutants"
TRIALS = FOLDER / "trials"
SURVIVORS = Path(__file__).with_name("survivors.toml")
#: Tests of a mutant, as many as take so long without it: the likeliest at first, then all that are tried.
LIKELIEST_SECONDS, SECONDS = 3, 15
#: Of 100 mutants so many must be killed.
KILLED_OF_100 = 95
TITLE = "Mutants"
METHOD = """\
A mutant is one small change of a module with business rules: a comparison, its boundary, `and` and `or`, a
`not`, a number, a truth value, `+` and `-`, a statement or a returned value that is missing, an element that
a list of rules lacks. Tests that execute its line run in a process that has it, the likeliest first; it is
killed when one fails or takes a minute. Tests that fail without a mutant as well kill none.
"""


class Trial(NamedTuple):
    """``outcome``: killed, time limit or survived. ``killer``: the test that failed."""

    outcome: str
    killer: str


def try_mutants(mutants: list[Mutant], lines: LinesOfTests, processes: int) -> None:
    """Try those that TRIALS lacks: what a copied process cannot change or kill in a process of its own."""
    with ThreadPoolExecutor(processes) as threads:
        for seconds in (LIKELIEST_SECONDS, SECONDS):
            trials = read_trials()
            left = [
                each for each in mutants if each.name not in trials or trials[each.name].outcome == "survived"
            ]
            tests = [(mutant.name, lines.tests_for(mutant, seconds)) for mutant in left]
            slices = [dict(tests[start::processes]) for start in range(processes)]
            list(threads.map(partial(try_in_copies, lines), filter(None, slices)))
        trials = read_trials()
        left = [each for each in mutants if trials[each.name].outcome in ("outside", "survived")]
        list(threads.map(lambda each: try_in_process(each.name, lines.tests_for(each, SECONDS)), left))


def try_in_copies(lines: LinesOfTests, tests: dict[str, list[str]]) -> None:
    with NamedTemporaryFile("w") as file:
        json.dump(tests, file)
        file.flush()
        done = run_tests(lines.tests, MUTANTS=file.name, MUTANT_TRIALS=str(TRIALS))
    if tests.keys() - read_trials().keys():
        raise RuntimeError(done.stdout[-2000:])


def try_in_process(name: str, tests: list[str]) -> None:
    done = run_tests(tests, MUTANT=name, MUTANT_TRIALS=str(TRIALS)) if tests else None
    if done is None or (done.returncode and read_trials()[name].outcome != "killed"):
        # Without tests nothing kills it; otherwise it cannot be imported, or a test never ended.
        outcome = "survived" if done is None else "time limit" if done.returncode < 0 else "killed"
        with TRIALS.open("a") as file:
            print(json.dumps([name, outcome, ""]), file=file)


def read_trials() -> dict[str, Trial]:
    """The last trial of each mutant, by its name."""
    written = map(json.loads, TRIALS.read_text().splitlines()) if TRIALS.exists() else ()
    return {name: Trial(outcome, killer) for name, outcome, killer in written}


def without_false_killers(trials: dict[str, Trial]) -> dict[str, Trial]:
    """The trials; those whose test fails without the mutant as well have survived."""
    killers = sorted({trial.killer for trial in trials.values() if trial.killer})
    printed = run_tests(killers).stdout if killers else ""
    false = {each for each in killers if f"\nFAILED {each}" in printed or f"\nERROR {each}" in printed}
    return {name: Trial("survived", "") if trial.killer in false else trial for name, trial in trials.items()}


def accepted() -> dict[str, str]:
    """The reasons why mutants may survive, by their names."""
    return dict(tomllib.loads(SURVIVORS.read_text())["accepted"])


def as_markdown(mutants: list[Mutant], trials: dict[str, Trial], words: str) -> str:
    """The section of docs/faults.md."""
    outcomes = Counter((mutant.area, trials[mutant.name].outcome) for mutant in mutants)
    every = Counter(mutant.area for mutant in all_mutants())
    columns = ("killed", "time limit", "survived")
    rows = []
    for area in AREAS:
        counts = [outcomes[area, column] for column in columns]
        rows.append((area, f"{every[area]:,}", sum(counts), *counts))
    totals = [sum(int(str(row[at]).replace(",", "")) for row in rows) for at in range(1, 6)]
    rows.append(("**all**", *(f"**{total:,}**" for total in totals)))
    heads = ("Area", "Mutants", "Tried", "Killed by a test", "Killed by the limit of time", "Survived")
    share = 100 * (totals[2] + totals[3]) / totals[1]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    text = f"{page.table(heads, rows)}\n\n{share:.1f} % are killed, in {seconds:,.0f} s of CPU."
    return f"{page.origin(f'mutants {words}'.strip())}\n{METHOD}\n{text}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run test mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="mutants of the sample (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which sample (default %(default)s)")
    parser.add_argument("--only", default="", help="those of the sample whose name has this text")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="at once (default %(default)s)")
    parser.add_argument("--resume", action="store_true", help="without those that a run before has killed")
    parser.add_argument("--record", action="store_true", help="write docs/faults.md")
    options = parser.parse_args(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    sample = sorted(all_mutants(), key=lambda mutant: mutant.rank(options.seed))[: options.count]
    sample = [mutant for mutant in sample if options.only in mutant.name]
    lines = LinesOfTests(FOLDER / "lines_of_tests.json")
    lines.refresh(options.processes)
    if not options.resume:
        TRIALS.unlink(missing_ok=True)
    try_mutants(sample, lines, options.processes)
    trials = read_trials()
    trials = without_false_killers({mutant.name: trials[mutant.name] for mutant in sample})
    text = as_markdown(sample, trials, " ".join(arguments))
    print(text)
    if options.record:
        page.replace_section(TITLE, text)
    survivors = [name for name, trial in trials.items() if trial.outcome == "survived"]
    reasons = accepted()
    for name in survivors:
        print(f"Survived: {name}: {reasons.get(name, 'no reason is given')}")
    killed = len(trials) - len(survivors)
    return 0 if killed * 100 >= KILLED_OF_100 * len(trials) and set(survivors) <= set(reasons) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
