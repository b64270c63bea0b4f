"""Journals as accounting packages book them, before they are written in the form of one package."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.base.money import ZERO


class UnfitAccountsFile(ValueError):
    """A value that the file cannot hold; the text is a sentence that names it."""


@dataclass(frozen=True, slots=True)
class JournalLine:
    """An amount on one account: a debit above zero, a credit below. ``tax`` is the package's name of it."""

    account: str
    amount: Decimal
    tax: str
    description: str


@dataclass(frozen=True, slots=True)
class Journal:
    """Lines of one day that come to zero. ``number`` has at most eight letters and digits."""

    number: str
    narration: str
    day: dt.date
    lines: Sequence[JournalLine]

    @property
    def debits(self) -> Decimal:
        return sum((line.amount for line in self.lines if line.amount > 0), ZERO)


def read_day(text: str) -> dt.date:
    """The day that is written ``31/12/2026``."""
    day, month, year = map(int, text.split("/"))
    return dt.date(year, month, day)


def check_journal(journal: Journal) -> None:
    """Raise ``UnfitAccountsFile`` for a journal that no package books."""
    difference = sum((line.amount for line in journal.lines), ZERO)
    if difference:
        raise UnfitAccountsFile(f"“{journal.narration}” does not balance: {difference:,.2f} are left over.")
    if not journal.lines:
        raise UnfitAccountsFile(f"“{journal.narration}” has no lines.")
    for line in journal.lines:
        if not line.amount or line.amount != round(line.amount, 2):
            raise UnfitAccountsFile(f"“{journal.narration}” cannot have the amount {line.amount:,f}.")
        if not line.account or not line.tax:
            raise UnfitAccountsFile(f"“{journal.narration}” has a line without an account or a tax.")


def split_journals(journals: Iterable[Journal], most_lines: int) -> list[list[Journal]]:
    """The journals in their order, as many in each file as fit whole."""
    files: list[list[Journal]] = []
    free = 0
    for journal in journals:
        if len(journal.lines) > most_lines:
            raise UnfitAccountsFile(f"“{journal.narration}” has more than {most_lines:,} lines.")
        if len(journal.lines) > free:
            files.append([])
            free = most_lines
        files[-1].append(journal)
        free -= len(journal.lines)
    return files


def net_by_account(lines: Iterable[JournalLine]) -> Mapping[str, Decimal]:
    """The sum of the lines of each account."""
    found: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for line in lines:
        found[line.account] += line.amount
    return found
