"""Answers to the demo's custom fields, one of every kind."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from apps.core.bulk_insert import bulk_insert
from apps.core.demo import Context, Series
from apps.core.saving import new_keys
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.demo import lists
from apps.people.models import CustomFieldAnswer, CustomFieldResponse

#: Of how many records one has answers: all staff, one client in three, one contact in five.
ONE_IN = {AppliesTo.STAFF.value: 1, AppliesTo.CLIENT.value: 3, AppliesTo.CONTACT.value: 5}
BATCH = 5_000

#: What an answer is: the record's number, the custom field's guid, the texts of its responses.
Answer = tuple[int, UUID, list[str]]


def load_answers(context: Context, applies_to: str, records: Series, fields: dict[str, UUID]) -> None:
    """Store the answers of one kind of record. ``fields``: the guids of its custom fields by name."""
    drawn = answers(context, applies_to, records, fields)
    while batch := list(itertools.islice(drawn, BATCH)):
        keys = new_keys(CustomFieldAnswer, len(batch))
        bulk_insert(
            CustomFieldAnswer,
            ("id", f"{applies_to.lower()}_id", "custom_field_id"),
            [(key, records.guid(number), field) for key, (number, field, _) in zip(keys, batch, strict=True)],
        )
        responses = [(key, text) for key, (_, _, told) in zip(keys, batch, strict=True) for text in told]
        bulk_insert(CustomFieldResponse, ("answer_id", "response"), responses)
        context.stored(CustomFieldAnswer, len(batch), None)


def answers(context: Context, applies_to: str, records: Series, fields: dict[str, UUID]) -> Iterator[Answer]:
    """The first record has answered all that is asked, others some."""
    chance = context.chance(f"answers/{applies_to}")
    questions = lists.CUSTOM_FIELDS[applies_to]
    for number in range(0, records.count, ONE_IN[applies_to]):
        for question in questions if number == 0 else chance.sample(questions, chance.randint(1, 3)):
            yield number, fields[question[0]], responses_to(chance, context.as_of, *question)


def responses_to(chance: Random, as_of: dt.date, name: str, kind: str, options: tuple[str, ...]) -> list[str]:
    """What somebody answers: one text, or several to a field of choices."""
    if kind == AnswerKind.CHOICES:
        return sorted(chance.sample(options, chance.randint(1, 3)))
    possible: dict[str, Any] = {
        AnswerKind.TEXT: lists.TEXT_ANSWERS.get(name, ()),
        AnswerKind.CHOICE: options,
        AnswerKind.YES_NO: ("Yes", "No"),
        AnswerKind.NUMBER: range(1, 36),
        AnswerKind.DATE: range(20, 700),
    }
    drawn = chance.choice(possible[kind])
    if kind == AnswerKind.DATE:
        return [(as_of + dt.timedelta(days=drawn)).isoformat()]
    return [str(drawn)]
