"""The words of a statement: what its page and its PDF say, of the same stored figures."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from django.utils import timezone

from apps.base.money import ZERO
from apps.core.admin_base.display import format_amount, short_day
from apps.core.models import Subscriber
from apps.engagements.models import ClientEngagement
from apps.payments.models import Statement, StatementBudget, StatementLine, month_name

#: The amounts of a line and what they are called.
AMOUNT_WORDS = {
    "paid": "paid",
    "claimed": "claimed, not paid yet",
    "waiting": "waiting",
    "refused": "refused",
}


@dataclass(frozen=True, slots=True)
class SpentRow:
    """The amount spent with a provider from a budget; without a provider, the sum of the budget or of all."""

    label: str
    paid: str
    claimed: str
    sum: str
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class PendingRow:
    """The part of one invoice that was refused, or waits, and why."""

    provider: str
    invoice: str
    amount: str
    outcome: str


@dataclass(frozen=True, slots=True)
class StatementBudgetRow:
    """The rest of a budget, and how long it lasts."""

    name: str
    budget: str
    used: str
    left: str
    forecast: str


@dataclass(frozen=True, slots=True)
class StatementText:
    """All that a statement says, in the order in which it is read."""

    title: str
    made: str
    summary: Sequence[str]
    changes: Sequence[str]
    spent: Sequence[SpentRow]
    pending: Sequence[PendingRow]
    left_title: str
    budgets: Sequence[StatementBudgetRow]


def made_on(statement: Statement) -> dt.date:
    return timezone.localtime(statement.creation_date).date()


def dollars(amount: Decimal) -> str:
    """An amount as a letter has it: ``$1,234.50``; in another currency ``NZD 1,234.50``."""
    currency = Subscriber.current().currency
    sign = "-" if amount < 0 else ""
    return f"{sign}{'$' if currency == 'AUD' else f'{currency} '}{format_amount(abs(amount))}"


def statement_text(
    statement: Statement, lines: Sequence[StatementLine], budgets: Sequence[StatementBudget]
) -> StatementText:
    day = short_day(made_on(statement))
    return StatementText(
        title=f"Your statement for {month_name(statement.month)}",
        made=f"Made on {day}" + (f", version {statement.version}" if statement.version > 1 else ""),
        summary=list(summary_sentences(statement, budgets, day)),
        changes=statement.changes.splitlines(),
        spent=list(spent_rows(lines)),
        pending=list(pending_rows(lines)),
        left_title=f"What is left of your plan on {day}",
        budgets=[budget_row(each, statement) for each in budgets],
    )


def summary_sentences(statement: Statement, budgets: Sequence[StatementBudget], day: str) -> Iterator[str]:
    month = month_name(statement.month)
    if not statement.spent:
        yield f"Nothing of your plan was spent on supports of {month}."
    else:
        yield f"{dollars(statement.spent)} of your plan was spent on supports of {month}."
        if statement.claimed and statement.paid:
            paid, claimed = dollars(statement.paid), dollars(statement.claimed)
            yield f"{paid} of it is paid, {claimed} is claimed and not paid yet."
    if statement.waiting:
        yield f"{dollars(statement.waiting)} more waits: it is not claimed from the agency yet."
    if statement.refused:
        yield f"{dollars(statement.refused)} was refused. You will find why below."
    if budgets:
        left = sum((each.left for each in budgets), ZERO)
        last = statement.plan_last_day
        until = (
            f", which {'ended' if last < made_on(statement) else 'ends'} on {short_day(last)}" if last else ""
        )
        yield f"On {day}, {dollars(left)} was left of your plan{until}."
        first = statement.plan_first_day
        if first is not None and first > statement.month:
            yield f"It began on {short_day(first)}: supports of earlier days do not count on it."


def spent_rows(lines: Sequence[StatementLine]) -> Iterator[SpentRow]:
    """Budget by budget: its sum, then its providers; at the end the sum of all, if anything was spent."""
    spent = [each for each in lines if each.paid or each.claimed]
    for budget, of_budget in groupby(sorted(spent, key=lambda each: each.budget), lambda each: each.budget):
        parts = sorted(of_budget, key=lambda each: each.provider)
        yield spent_row(budget, parts, is_sum=True)
        for provider, of_provider in groupby(parts, lambda each: each.provider):
            yield spent_row(provider, list(of_provider))
    if spent:
        yield spent_row("Total", spent, is_sum=True)


def spent_row(label: str, lines: Iterable[StatementLine], is_sum: bool = False) -> SpentRow:
    parts = list(lines)
    paid = sum((each.paid for each in parts), ZERO)
    claimed = sum((each.claimed for each in parts), ZERO)
    return SpentRow(label, dollars(paid), dollars(claimed), dollars(paid + claimed), is_sum)


def pending_rows(lines: Iterable[StatementLine]) -> Iterator[PendingRow]:
    for line in lines:
        for amount, outcome in ((line.refused, "Refused"), (line.waiting, "Waiting")):
            if amount:
                text = f"{outcome}: {line.reason}" if line.reason else f"{outcome}."
                yield PendingRow(line.provider, line.reference or line.number, dollars(amount), text)


def budget_row(budget: StatementBudget, statement: Statement) -> StatementBudgetRow:
    made = made_on(statement)
    if budget.left <= 0:
        forecast = "It is used up."
    elif statement.plan_last_day and statement.plan_last_day < made:
        forecast = "The plan has ended."
    elif budget.runs_out is not None and budget.runs_out < made:
        forecast = f"It ended on {short_day(budget.runs_out)}."
    elif budget.runs_out is not None:
        forecast = f"At this pace it runs out about {short_day(budget.runs_out)}."
    else:
        forecast = "At this pace it lasts until the plan ends." if budget.used else "Nothing is used yet."
    return StatementBudgetRow(
        budget.name, dollars(budget.budget), dollars(budget.used), dollars(budget.left), forecast
    )


# --- what changed ---------------------------------------------------------------------------------------


def find_changes(before: Iterable[StatementLine], after: Iterable[StatementLine]) -> list[str]:
    """Sentences about what the figures of a month did not say before; none when nothing changed."""
    old, new = by_place(before), by_place(after)
    known = {invoice_of(line) for line in old.values()}
    gone = {invoice_of(line): place for place, line in old.items() if place not in new}
    # A resubmission is a claim of its own, of the same invoice: its participant reads of one thing.
    again = {
        place: gone.pop(invoice_of(line))
        for place, line in new.items()
        if place not in old and invoice_of(line) in gone
    }
    changes = []
    for place in dict.fromkeys([*old, *new]):
        if place in again.values():
            continue
        was, now = old.get(again.get(place, place)), new.get(place)
        line = new.get(place) or old[place]
        name = f"{line.provider}, invoice {line.reference or line.number} ({line.budget})"
        if was is None:
            word = "Claimed once more" if invoice_of(line) in known else "New"
            changes.append(f"{word}: {name}, {amounts_text(now)}.")
        elif place in again:
            changes.append(
                f"{name}: it was {amounts_text(was)}. It is claimed once more, and is {amounts_text(now)}."
            )
        elif now is None:
            changes.append(f"Not in it any more: {name}, {amounts_text(was)}.")
        elif amounts_of(was) != amounts_of(now):
            changes.append(f"{name}: it was {amounts_text(was)}, and is {amounts_text(now)}.")
    return changes


def find_plan_change(before: Statement, plan: ClientEngagement | None) -> list[str]:
    """A sentence where the month has another plan by now: one that began in the past replaced it."""
    if plan is None or plan.plan_start_date == before.plan_first_day:
        return []
    return [f"What is left is that of your plan from {short_day(plan.plan_start_date)} on."]


def by_place(lines: Iterable[StatementLine]) -> Mapping[tuple[str, str], StatementLine]:
    return {(each.number, each.budget): each for each in lines}


def invoice_of(line: StatementLine) -> tuple[str, str, str]:
    """The provider's invoice, which a claim and its resubmissions have in common."""
    return line.provider, line.reference or line.number, line.budget


def amounts_of(line: StatementLine) -> list[Decimal]:
    return [getattr(line, column) for column in AMOUNT_WORDS]


def amounts_text(line: StatementLine | None) -> str:
    """``$20.00 paid, $5.00 refused``."""
    parts = ((getattr(line, column), word) for column, word in AMOUNT_WORDS.items() if getattr(line, column))
    return ", ".join(f"{dollars(amount)} {word}" for amount, word in parts)
