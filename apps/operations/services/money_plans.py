"""Plans of ``archive_money``: the old books that refer to nothing that stays, nor are referred to by it."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import SET_NULL, DateTimeField, Model

from apps.base import clock
from apps.base.errors import plural
from apps.core.bulk_insert import in_batches
from apps.core.models import Subscriber
from apps.operations.archived_books import BOOKS, Book
from apps.operations.tables import OperationError

#: As many of the records that stay for one reason are named.
NAMED = 3


@dataclass(slots=True)
class MoneyPlan:
    """The keys of records that are archived, by year and book, and in words what stays and why."""

    years: dict[int, dict[Book, list[Any]]] = field(default_factory=lambda: defaultdict(dict))
    stays: list[str] = field(default_factory=list)

    def keys_of(self, book: Book) -> list[Any]:
        return [key for books in self.years.values() for key in books.get(book, ())]

    def summary(self, year: int) -> str:
        return ", ".join(counted(book, len(keys)) for book, keys in self.years[year].items())


def counted(book: Book, count: int) -> str:
    return plural(count, str(book.model._meta.verbose_name))


def last_day(until: dt.date | None) -> dt.date:
    """The day before which books are old. Raises ``OperationError`` for one within the retention."""
    latest = clock.years_after(clock.today(), -settings.RETENTION_YEARS)
    if until is not None and until > latest:
        years = settings.RETENTION_YEARS
        raise OperationError(f"Books stay for RETENTION_YEARS, {years}: until {latest}, not until {until}.")
    return until or latest


def plan_archive(until: dt.date) -> MoneyPlan:
    """The books from before the day that can go; the others are named with their reason."""
    days = {book: days_of(book, until) for book in BOOKS}
    going = Going({book: set(found) for book, found in days.items()})
    for book in BOOKS:
        for reason, condition in book.stays:
            for batch in in_batches(sorted(going.keys[book])):
                held = book.model._base_manager.filter(condition, pk__in=batch)
                going.keep(book, reason, held.values_list("pk", flat=True))
    links = links_between_books()
    while any([going.keep_unfit(), *(going.keep_linked(link) for link in links)]):
        pass
    plan = MoneyPlan(stays=list(going.sentences()))
    for book, keys in going.keys.items():
        for key in sorted(keys):
            plan.years[days[book][key].year].setdefault(book, []).append(key)
    return plan


def days_of(book: Book, until: dt.date) -> dict[Any, dt.date]:
    """The days of the records from before ``until``, by their keys; the records are locked."""
    zone = Subscriber.current().zone
    is_moment = isinstance(book.model._meta.get_field(book.day), DateTimeField)
    end = clock.in_utc(dt.datetime.combine(until, dt.time()), zone) if is_moment else until
    old = book.model._base_manager.filter(**{f"{book.day}__lt": end}).order_by("pk").select_for_update()
    pairs = list(old.values_list("pk", book.day))
    return {key: day.astimezone(zone).date() if is_moment else day for key, day in pairs}


@dataclass(frozen=True, slots=True)
class BookLink:
    """References of rows to records of a book, or to rows of those, by paths from the referring rows.

    ``of``: the book of the referring rows; ``None``: of no book, so that they stay.
    """

    model: type[Model]
    to: Book
    to_path: str
    of: Book | None
    of_path: str


def links_between_books() -> list[BookLink]:
    """All references to rows of books that are not within one of them, but those that may become null."""
    places: dict[Any, tuple[Book, str]] = {
        model: (book, path) for book in BOOKS for model, path in book.tables
    }
    found = []
    for model, (book, path) in places.items():
        for relation in model._meta.get_fields(include_hidden=True):
            if not relation.auto_created or relation.concrete or relation.on_delete is SET_NULL:
                continue
            other, other_path = places.get(relation.related_model, (None, "pk"))
            if other is not book:
                name = relation.field.name
                to_path = name if path == "pk" else f"{name}__{path}"
                found.append(BookLink(relation.related_model, book, to_path, other, other_path))
    return found


@dataclass(slots=True)
class Going:
    """The keys of the records that can go, while reasons are found that some of them stay."""

    keys: dict[Book, set[Any]]
    reasons: dict[tuple[Book, str], set[Any]] = field(default_factory=lambda: defaultdict(set))

    def keep(self, book: Book, reason: str, keys: Iterable[object]) -> bool:
        found = self.keys[book].intersection(keys)
        self.keys[book] -= found
        self.reasons[book, reason] |= found
        return bool(found)

    def keep_unfit(self) -> bool:
        found = [(book, *book.unfit(self.keys[book])) for book in BOOKS if book.unfit]
        return any([self.keep(*each) for each in found])  # noqa: C419  (each of them)

    def keep_linked(self, link: BookLink) -> bool:
        """Keep records that rows refer to which stay, and records whose rows refer to what stays."""
        what = link.model._meta.verbose_name_plural
        held = [own for own, of in self.pairs(link, link.to, "to") if not self.goes(link.of, of)]
        changed = self.keep(link.to, f"{what} refer to it that stay", held)
        if link.of is not None:
            held = [of for own, of in self.pairs(link, link.of, "of") if not self.goes(link.to, own)]
            reason = f"it refers to a {link.to.model._meta.verbose_name} that stays"
            changed |= self.keep(link.of, reason, held)
        return changed

    def goes(self, book: Book | None, key: object) -> bool:
        return book is not None and key in self.keys[book]

    def pairs(self, link: BookLink, book: Book, side: str) -> Iterator[tuple[Any, Any]]:
        """(record that is referred to, record whose row refers to it) of those of a book that can go."""
        path = link.to_path if side == "to" else link.of_path
        for batch in in_batches(sorted(self.keys[book])):
            rows = link.model._base_manager.filter(**{f"{path}__in": batch, f"{link.to_path}__isnull": False})
            # Without the order of the model, whose columns would be distinct as well: of each row.
            yield from rows.order_by().values_list(link.to_path, link.of_path).distinct()

    def sentences(self) -> Iterator[str]:
        """The books that stay, by reason."""
        for (book, reason), keys in self.reasons.items():
            if keys:
                named = book.model._base_manager.filter(pk__in=sorted(keys)[:NAMED])
                names = ", ".join(sorted(map(str, named))) + (" …" if len(keys) > NAMED else "")
                yield f"{counted(book, len(keys))}: {reason} ({names})"
