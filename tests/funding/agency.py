"""A small player of the agency: it decides by chance what becomes of each line, and answers in files.

What it claims to have paid, refused and left open is what the records must say at the end.
"""

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from tests.funding.answer_files import REMITTANCE, RESULTS, a_payment, a_result, as_csv

CENT = Decimal("0.01")
#: The days of the three remittances, unless others are given.
DAYS = (dt.date(2026, 11, 4), dt.date(2026, 11, 7), dt.date(2026, 11, 14))
REFUSALS = ("C04 Quantity over approved", "C22 No plan for dates", "V17 Funds of the period are used up")


@dataclass
class Agency:
    """What it decided about lines, in cents it never loses: claimed = paid + refused + short + waiting."""

    random: Random
    day_form: str = "%Y%m%d"
    #: Of the three remittances.
    days: tuple[dt.date, ...] = DAYS
    #: True when it cancels half of what waits, in later results.
    cancels: bool = False
    cancellations: list[dict[str, str]] = field(default_factory=list)
    results: list[dict[str, str]] = field(default_factory=list)
    remittances: tuple[list[dict[str, str]], ...] = ((), (), ())
    paid: dict[str, Decimal] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    #: Accepted, and never paid.
    waiting: set[str] = field(default_factory=set)

    def answer(self, file_lines):
        self.remittances = ([], [], [])
        for number, line in enumerate(file_lines, start=400_000_001):
            self.decide(line.reference, line.amount, str(number))
        return self

    def decide(self, reference, amount, number):
        luck = self.random.random()
        if luck < 0.2:
            self.refused.add(reference)
            self.results.append(a_result(reference, "ERROR", self.random.choice(REFUSALS)))
            return
        part = (amount * Decimal(self.random.randint(1, 99)) / 100).quantize(CENT)
        part = min(max(part, CENT), amount)
        rest = amount - part
        promised, payments = amount, [(self.random.randrange(3), amount)]
        if luck < 0.35:
            promised, payments = part, [(0, part)]
        elif luck < 0.5:
            payments = [(0, part), (self.random.choice((1, 2)), rest)]
        elif luck < 0.6:
            payments = [(0, part / 2), (1, part - part / 2), (2, rest)]
            payments = [(at, each.quantize(CENT)) for at, each in payments]
            payments[2] = (2, amount - payments[0][1] - payments[1][1])
        elif luck < 0.7:
            self.waiting.add(reference)
            payments = []
            if self.cancels and self.random.random() < 0.5:
                self.cancellations.append(a_result(reference, "CANCELLED", "Cancelled after a review"))
        capped = "Y" if promised < amount else "N"
        self.results.append(a_result(reference, "SUCCESSFUL", amount=promised, capped=capped))
        for part_number, (at, each) in enumerate(payments):
            if each > 0:
                self.paid[reference] = self.paid.get(reference, Decimal(0)) + each
                day = self.days[at].strftime(self.day_form)
                self.remittances[at].append(a_payment(reference, each, f"{number}{part_number}", day))

    def write(self, folder, odd=False):
        """The results and the remittances that have rows, as files; odd ones are as real files can be."""
        folder.mkdir(exist_ok=True)
        files = [("results", RESULTS, self.results)]
        files += [("results_later", RESULTS, self.cancellations)] if self.cancellations else []
        files += [(f"paid{at}", REMITTANCE, rows) for at, rows in enumerate(self.remittances) if rows]
        return {
            name: self.write_file(folder / f"{name}.csv", header, rows, odd) for name, header, rows in files
        }

    def write_file(self, path, header, rows, odd):
        if not odd:
            return as_csv(path, rows, header)
        other = {"ProvClaimRef": "OTHER-1", "PayReqNum": "3999"} if "ProvClaimRef" in header else {}
        other = {**rows[0], **other, "Claim Reference": "OTHER-1"} if rows else {}
        rows = self.random.sample([*rows, *([other] if other else [])], len(rows) + bool(other))
        rows += self.random.sample(rows, min(2, len(rows)))  # some rows twice
        header = self.random.sample([*header, "Comment"], len(header) + 1)
        spelt = {name: name.lower() if self.random.random() < 0.5 else f" {name.upper()}" for name in header}
        rows = [
            {spelt[name]: change_case(self.random, name, row.get(name, "n")) for name in header}
            for row in rows
        ]
        return as_csv(path, rows, list(spelt.values()), mark="\ufeff", end=self.random.choice(("\n", "\r\n")))


def change_case(random, name, cell):
    return cell.lower() if name in ("ProvClaimRef", "Claim Reference") and random.random() < 0.5 else cell
