"""Drafts of bills that stand: completed from what stands, and refused where nothing may change any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import models

from apps.core import saving
from apps.funding.models import Bill, LineItem
from apps.funding.services.check import Kind
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft, Issue, raise_if_invalid
from apps.people.models import Client, Contact, Staff

#: The records that rules ask more of than their key.
ASKED: Mapping[str, type[models.Model]] = {"contact": Contact, "provider": Client, "staff": Staff}


def bring_up(kind: Kind, drafts: Sequence[Draft]) -> dict[Any, Any]:
    """Complete drafts of standing bills and their lines from what stands; the bills by key, locked.

    Lines that are not given are all as they stand. Statements are constant in the number of drafts.
    """
    standing = saving.load_existing(kind.model, drafts)
    lines = lines_by_bill(kind, standing)
    for draft in drafts:
        keep_number(kind, draft, standing.get(draft.key))
        bring_up_lines(kind, draft, lines.get(draft.key, []))
        bill = standing.get(draft.key)
        draft.fill("stands_on", getattr(bill, "provider_invoice_id", None))
    load_whole(drafts)
    return standing


def lines_by_bill(kind: Kind, bills: Iterable[Any]) -> dict[Any, list[LineItem]]:
    column = kind.line_model._meta.get_field(kind.name)
    beside = [name for name in ("product", "price_book", "cost_centre") if has(kind.line_model, name)]
    rows = kind.line_model.objects.filter(AnyOf(column, bills)).select_related(*beside)
    found: dict[Any, list[LineItem]] = {}
    for line in rows.order_by("position", "pk"):
        found.setdefault(getattr(line, column.attname), []).append(line)
    return found


def has(model: type[models.Model], name: str) -> bool:
    return name in {column.name for column in model._meta.concrete_fields}


def keep_number(kind: Kind, draft: Draft, bill: Bill | None) -> None:
    """A bill whose number is taken away keeps it."""
    name = f"{kind.name}_number"
    if bill is not None and name in draft.given and draft.__dict__.get(name) is None:
        draft.fill(name, getattr(bill, name))


def bring_up_lines(kind: Kind, draft: Draft, standing: Sequence[LineItem]) -> None:
    """Complete the lines of a draft; ``standing_lines`` are those that stand, ``unknown_lines`` do not."""
    by_key = {line.pk: line for line in standing}
    draft.fill("standing_lines", standing)
    if "line_items" not in draft.given | draft.invalid:
        draft.fill("line_items", [Draft({}, key=line.pk) for line in standing])
    lines = draft.__dict__.get("line_items") or []
    known = [line for line in lines if line.key in by_key]
    for line in known:
        bring_up_line(line, by_key[line.key])
    saving.apply_model_defaults(kind.line_model, [line for line in lines if line.key is None])
    strange = [at for at, line in enumerate(lines) if line.key is not None and line.key not in by_key]
    draft.fill("unknown_lines", strange)


def bring_up_line(line: Draft, record: LineItem) -> None:
    for column in record._meta.concrete_fields:
        name = column.name
        if column.primary_key or name in line.given or name in line.invalid:
            continue
        is_whole = name in ("product", "price_book", "cost_centre")
        held = getattr(record, name) if is_whole else saving.existing_value(record, column)
        line.__dict__[name] = held


def load_whole(drafts: Sequence[Draft]) -> None:
    """Put whole records where drafts were completed with bare keys; one query for each kind of record."""
    for name, model in ASKED.items():
        bare = [draft for draft in drafts if is_bare(draft.__dict__.get(name))]
        if not bare:
            continue
        key: Any = model._meta.pk
        found = model._base_manager.filter(AnyOf(key, {getattr(draft, name).pk for draft in bare})).in_bulk()
        for draft in bare:
            draft.fill(name, found[getattr(draft, name).pk])


def is_bare(record: Any) -> bool:
    """Whether it is a record of which only the key is known."""
    return isinstance(record, models.Model) and record._state.adding


# --- may it change? -------------------------------------------------------------------------------------


def hold_open(standing: Mapping[Any, Any], drafts: Sequence[Draft]) -> None:
    """Raise ``Refused`` when a draft is of a bill that may not change any more, or names lines of another."""
    found = [
        (number, finding)
        for number, draft in enumerate(drafts)
        for finding in closed(draft, standing.get(draft.key))
    ]
    if found:
        raise_if_invalid(drafts, found)


def closed(draft: Draft, bill: Any) -> Iterator[Issue]:
    if bill is None:
        yield Issue("NotFound", "", f"There is no such record: {draft.key}.")
        return
    if bill.is_archived:
        yield Issue("Archived", "", f"{bill} is archived; restore it before you change it.")
    elif not bill.is_editable:
        label = bill.get_funding_status_display()
        message = f"{bill} is “{label}”; only what awaits approval or is on hold can be changed."
        yield Issue("NotAllowed", "", message)
    for at in draft.unknown_lines:
        yield Issue("NotFound", ("line_items", at), f"Line {at + 1} is no line of {bill}.")
    kept = {line.key for line in draft.__dict__.get("line_items") or ()}
    for line in draft.standing_lines:
        if line.amount_paid and line.pk not in kept:
            message = f"Line {line.position + 1} was paid in part ({line.amount_paid:,.2f}); it stays."
            yield Issue("NotAllowed", "line_items", message)
