"""Requests that schemathesis makes up from the OpenAPI document, until there were so many.

``./run test openapi --cases 50000`` exits 0 when no response is a 5xx or undocumented; ``--record`` writes
docs/faults.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import count, cycle, product
from pathlib import Path

from tests.clients.service import DemoService, demo_service, fetch
from tests.faults import page

#: Not the others: a service may accept more than its document promises.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
#: What is run in turn, for so many seconds: from the bounds of each schema, at random, in sequences.
PHASES = ("coverage", "fuzzing", "stateful")
RUNS = tuple(product(PHASES, ("2.0", "2.1")))
RUN_SECONDS = 60
TITLE = "Made-up requests"

METHOD = """\
schemathesis makes requests from the OpenAPI document: from the bounds of each schema (coverage), at random
(fuzzing), and in sequences where one uses what another made (stateful), against demo data on SQLite. A
failure is a 5xx, or a status, type or body that the document does not have.
"""


def schemathesis_command(document: Path, service: DemoService, version: str) -> tuple[str | Path, ...]:
    return (
        *(Path(sys.executable).with_name("schemathesis"), "run", document, "--url", service.origin),
        *("--header", f"Authorization: Bearer {service.token}", "--header", f"api-version: {version}"),
        *("--checks", CHECKS, "--no-shrink", "--suppress-health-check", "all", "--warnings", "off"),
    )


def run_phase(folder: Path, service: DemoService, phase: str, version: str, seed: int) -> tuple[int, int]:
    """The number of requests that one run has sent, and of their different failures."""
    document, report = folder / f"openapi {version}.json", folder / "report.json"
    document.write_text(fetch(f"{service.origin}/docs/openapi.json?version={version}", service.token))
    command = (
        *schemathesis_command(document, service, version),
        *("--phases", phase, "--max-time", str(RUN_SECONDS), "--seed", str(seed)),
        *("--report", "json", "--report-json-path", report),
    )
    subprocess.run(command, cwd=folder)
    found = json.loads(report.read_text())
    return found["test_cases"]["generated"], len(found["failures"]) + len(found["errors"])


def as_markdown(cases: Counter[tuple[str, str]], failures: Counter[tuple[str, str]], words: str) -> str:
    """The section of docs/faults.md."""
    rows = [(*run, f"{cases[run]:,}", failures[run]) for run in RUNS]
    rows.append(("**all**", "", f"**{cases.total():,}**", f"**{failures.total()}**"))
    heads = ("Phase", "Version", "Requests", "Failures")
    return f"{page.origin(f'openapi {words}')}\n{METHOD}\n{page.table(heads, rows)}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run test openapi", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="requests (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="write docs/faults.md")
    options = parser.parse_args(arguments)
    cases: Counter[tuple[str, str]] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        demo_service(Path(folder, "var"), API_REQUESTS_PER_MINUTE="1000000") as service,
    ):
        for seed, run in zip(count(options.seed), cycle(RUNS)):
            sent, failed = run_phase(Path(folder), service, *run, seed)
            cases[run] += sent
            failures[run] += failed
            text = as_markdown(cases, failures, " ".join(arguments))
            print(text, flush=True)
            if options.record:
                page.replace_section(TITLE, text)
            if cases.total() >= options.cases:
                return int(failures.total() > 0)
    raise AssertionError("seeds do not end")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
