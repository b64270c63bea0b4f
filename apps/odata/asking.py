"""Questions that are asked again and again with other keys: their text is made once, several go in one trip.

Making the text of a query costs Python several times what sending it does, and every trip to PostgreSQL
costs as much again. So whoever looks up many small things writes each look-up as a *conversation*, a
generator that yields questions and is sent their rows, and lets ``together`` hold several at once::

    @kept
    def names(keys):
        return Staff.objects.filter(Among(KEY, keys)).order_by().values_list("pk", "last_name")

    def look_up_names(drafts):
        rows = yield names({draft.staff.pk for draft in drafts})
        ...

    together(look_up_names(drafts), look_up_prices(drafts))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from django.db import connections, models

from apps.odata.among import Later

Rows = list[tuple[Any, ...]]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Question:
    """A kept query with the values it is asked for."""

    query: Kept
    values: tuple[Iterable[Any], ...]

    def ask(self) -> Rows:
        """Its rows."""
        return ask_all([self])[0]


#: A look-up on its way: yields questions, is sent the rows of each, and returns what it found.
Conversation = Generator[Question, Rows, Result]


@dataclass(eq=False, slots=True)
class Kept:
    """A query whose text is made once: ``make`` gives the queryset for lists of values to be ``Among``.

    The queryset is one of ``values_list``; nothing in it but those lists may change from call to call.
    """

    make: Callable[..., models.QuerySet[Any, Any]]
    texts: dict[str, Text | None] = field(default_factory=dict)

    def __call__(self, *values: Iterable[Any]) -> Question:
        return Question(self, values)

    def text(self, alias: str) -> Text | None:
        """What PostgreSQL is sent; ``None`` where the values of a row are not those that the driver reads."""
        if alias not in self.texts:
            count = self.make.__code__.co_argcount
            compiler = self.make(*map(Later, range(count))).query.get_compiler(alias)
            sql, params = compiler.as_sql()
            is_plain = not compiler.get_converters([shown[0] for shown in compiler.select])
            self.texts[alias] = Text(sql, tuple(params)) if is_plain else None
        return self.texts[alias]


@dataclass(frozen=True, slots=True)
class Text:
    """A statement and its parameters, some of which are told later."""

    sql: str
    params: tuple[Any, ...]

    def filled(self, values: Sequence[Iterable[Any]]) -> list[Any]:
        return [p.adapted(values[p.number]) if isinstance(p, Later) else p for p in self.params]


def kept(make: Callable[..., models.QuerySet[Any, Any]]) -> Kept:
    """Keep the query that a function makes of lists of values."""
    return Kept(make)


def together(*conversations: Conversation[Any]) -> list[Any]:
    """What each conversation found; the questions that wait at the same time are asked in one trip."""
    found: list[Any] = [None] * len(conversations)
    waiting: list[tuple[int, Question]] = []

    def go_on(number: int, rows: Rows | None) -> None:
        try:
            waiting.append((number, conversations[number].send(rows)))  # type: ignore[arg-type]
        except StopIteration as end:
            found[number] = end.value

    for number in range(len(conversations)):
        go_on(number, None)
    while waiting:
        asked, waiting = waiting, []
        for (number, _), rows in zip(asked, ask_all([question for _, question in asked]), strict=True):
            go_on(number, rows)
    return found


def alone(conversation: Conversation[Result]) -> Result:
    """What one conversation found."""
    result: Result = together(conversation)[0]
    return result


def ask_all(questions: Sequence[Question], alias: str = "default") -> list[Rows]:
    """The rows of each question: one trip to PostgreSQL, one statement after the other on SQLite."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return [list(question.query.make(*question.values)) for question in questions]
    texts = [text for question in questions if (text := question.query.text(alias)) is not None]
    if len(texts) < len(questions) or connection.features.uses_server_side_binding:  # type: ignore[attr-defined]
        return [list(question.query.make(*question.values)) for question in questions]
    with connection.cursor() as cursor:
        params = [text.filled(asked.values) for text, asked in zip(texts, questions, strict=True)]
        cursor.execute("; ".join(text.sql for text in texts), list(chain.from_iterable(params)))
        answers = [cursor.fetchall()]
        while cursor.nextset():
            answers.append(cursor.fetchall())
    return answers
