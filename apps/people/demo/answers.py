"""Answers to the demo's custom fields, one of every kind."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from apps.core.demo import Context, Series
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.demo import lists
from apps.people.models import CustomFieldAnswer, CustomFieldResponse

#: Of how many records one has answers: all staff, one client in three, one contact in five.
ONE_IN = {AppliesTo.STAFF.value: 1, AppliesTo.CLIENT.value: 3, AppliesTo.CONTACT.value: 5}
BATCH = 2_000

Answered = tuple[CustomFieldAnswer, list[str]]


def load_answers(context: Context, applies_to: str, records: Series, fields: dict[str, UUID]) -> None:
    """Store the answers of one kind of record. ``fields``: the guids of its custom fields by name."""
    left = answers(context, applies_to, records, fields)
    while batch := list(itertools.islice(left, BATCH)):
        stored = CustomFieldAnswer.objects.bulk_create([answer for answer, _ in batch])
        responses = [
            CustomFieldResponse(answer=answer, response=response)
            for answer, (_, told) in zip(stored, batch, strict=True)
            for response in told
        ]
        CustomFieldResponse.objects.bulk_create(responses)
        context.stored(CustomFieldAnswer, len(batch), None)


def answers(
    context: Context, applies_to: str, records: Series, fields: dict[str, UUID]
) -> Iterator[Answered]:
    """Answers with the texts of their responses; the first records have all of them, others some."""
    chance = context.chance(f"answers/{applies_to}")
    questions = lists.CUSTOM_FIELDS[applies_to]
    for number in range(0, records.count, ONE_IN[applies_to]):
        record = {f"{applies_to.lower()}_id": records.guid(number)}
        for question in questions if number == 0 else chance.sample(questions, chance.randint(1, 3)):
            name = question[0]
            answer = CustomFieldAnswer(custom_field_id=fields[name], **record)
            yield answer, responses_to(chance, context.as_of, *question)


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
