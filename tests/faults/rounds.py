"""Injects faults under load, then compares what is stored with what was acknowledged.

``./run test faults --rounds 100 --seed 1`` exits 0 when nothing is wrong; ``--record`` writes docs/faults.md.
``--control`` lets PostgreSQL acknowledge before it writes: then losses must be found, which proves the check.
"""

import argparse
import functools
import operator
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.faults import page
from tests.faults.deployment import LOSSY, RECORDS, SETTINGS, WRITERS, Deployment, Findings, deployment

#: Seconds between two faults.
FAULT_PAUSE = (0.1, 0.4)
#: Faults of one deployment, which has an empty database at first.
BATCH = 50
TITLE = "Faults under load"

METHOD = f"""\
{WRITERS} writers, each request with an `Idempotency-Key` of its own, POST {RECORDS} contacts at a time, and
one {RECORDS} documents instead, to the server with two workers on a PostgreSQL with `synchronous_commit=on`
and `full_page_writes=on`; `fsync` is off, because processes are killed here, not the machine. Connections are
cut by a proxy, before PostgreSQL has the COMMIT, or when it has answered and the service does not know. Disks
are small ones in memory, full until a write is refused. The server's clock jumps an hour and stays there.

After each fault the time runs from its end, or from the start of the killed server, to the acknowledgement
(201) of a write that began later. In the end the tables and files are compared with what was acknowledged:
*lost* is what is missing, *doubled* what is there twice, *half* what lacks a record, a history line, its file
or its stored response. Then every write without a 201, and as many with one, are sent again with their keys,
and all are compared again. The positive control, `./run test faults --control`, must find losses: PostgreSQL
acknowledges there before it writes.
"""


@dataclass(frozen=True)
class Report:
    """What a run has found; reports of several runs can be added."""

    recoveries: list
    statuses: Counter
    findings: Findings
    findings_after_repeats: Findings
    repeated: int
    skipped: dict

    def __add__(self, other):
        return Report(
            self.recoveries + other.recoveries,
            self.statuses + other.statuses,
            self.findings + other.findings,
            self.findings_after_repeats + other.findings_after_repeats,
            self.repeated + other.repeated,
            {**self.skipped, **other.skipped},
        )

    @property
    def is_clean(self):
        return not self.findings and not self.findings_after_repeats


def run_rounds(running, rounds, faults=Deployment.FAULTS):
    """Each fault in turn, every so many rounds in another order, while writers write."""
    recoveries, order = [], []
    possible = [fault for fault in faults if fault.__name__ not in running.skipped]
    ledger = running.ledger
    with running.writers():
        ledger.seconds_until_acknowledged()
        for _ in range(rounds):
            order = order or running.random.sample(possible, len(possible))
            fault = order.pop()
            time.sleep(running.random.uniform(*FAULT_PAUSE))
            fault(running)
            recoveries.append((ledger.seconds_until_acknowledged(), fault.__name__))
    acknowledged = ledger.acknowledged
    findings = running.findings(acknowledged)
    unknown = ledger.statuses.keys() - acknowledged
    repeated = sorted(unknown) + sorted(acknowledged)[: len(unknown)]
    running.repeat(repeated)
    statuses = Counter(str(status or "none") for status in ledger.statuses.values())
    after = running.findings(ledger.statuses.keys())
    return Report(recoveries, statuses, findings, after, len(repeated), running.skipped)


def as_markdown(report, words):
    """The section of docs/faults.md."""
    rows = []
    for name in sorted({name for _, name in report.recoveries}):
        taken = sorted(seconds for seconds, fault in report.recoveries if fault == name)
        median, slowest = taken[len(taken) // 2], taken[-1]
        rows.append((name.replace("_", " "), len(taken), f"{median:.1f} s", f"{slowest:.1f} s"))
    rows.append(("**all**", f"**{len(report.recoveries)}**", "", f"**{max(report.recoveries)[0]:.1f} s**"))
    answers = ", ".join(f"{status}: {number:,}" for status, number in sorted(report.statuses.items()))
    lines = [
        page.origin(f"faults {words}"),
        METHOD,
        page.table(("Fault", "Times", "First acknowledged write: median", "slowest"), rows),
        "",
        f"- Writes by answer: {answers}",
        f"- {as_text(report.findings)}",
        f"- After {report.repeated:,} repeats: {as_text(report.findings_after_repeats)}",
        *(f"- Skipped {name.replace('_', ' ')}: {reason}" for name, reason in report.skipped.items()),
    ]
    return "\n".join(lines)


def as_text(findings):
    return f"lost {len(findings.lost)}, doubled {len(findings.doubled)}, half {len(findings.half)}"


def main(arguments):
    parser = argparse.ArgumentParser(prog="./run test faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="faults (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of their order (default %(default)s)")
    parser.add_argument("--control", action="store_true", help="succeed only when losses are found")
    parser.add_argument("--record", action="store_true", help="write docs/faults.md")
    options = parser.parse_args(arguments)
    # So that disks are unmounted, and nothing that was started outlives it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    settings = LOSSY if options.control else SETTINGS
    faults = [Deployment.postgresql_restarted_immediately] if options.control else Deployment.FAULTS
    reports = []
    for done in range(0, options.rounds, BATCH):
        with (
            tempfile.TemporaryDirectory() as folder,
            deployment(Path(folder), options.seed + done // BATCH, settings) as running,
        ):
            reports.append(run_rounds(running, min(BATCH, options.rounds - done), faults))
        report = functools.reduce(operator.add, reports)
        text = as_markdown(report, " ".join(arguments))
        print(text, flush=True)
        if options.record:
            page.replace_section(TITLE, text)
    return int(not report.findings.lost if options.control else not report.is_clean)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
