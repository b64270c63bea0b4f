"""The base of every record: its key, its time stamps, its history; and how texts are compared."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.base import ModelState

from apps.base import clock
from apps.base.money import ZERO
from apps.base.texts import composed
from apps.core import history


def optional_text(label: str | None = None, length: int = 90, **options: Any) -> models.CharField:
    """An optional text: null when not given, never empty."""
    return models.CharField(label, max_length=length, null=True, blank=True, **options)


def optional_reference(to: Any, label: str | None = None, **options: Any) -> models.ForeignKey[Any, Any]:
    """A reference that may be null; the record that it refers to cannot be deleted."""
    is_blank = options.get("editable", True)
    return models.ForeignKey(
        to, verbose_name=label, null=True, blank=is_blank, on_delete=models.PROTECT, **options
    )


def money(label: str | None = None, **options: Any) -> models.DecimalField:
    """An amount in the subscriber's currency, to the cent."""
    return models.DecimalField(label, max_digits=14, decimal_places=2, **options)


def calculated_money(label: str | None = None, **options: Any) -> models.DecimalField:
    """An amount that the service calculates, never entered by hand."""
    return money(label, default=ZERO, editable=False, **options)


def normalised(text: str | None) -> str | None:
    """The form in which unique texts are compared: composed, trimmed, without regard to case.

    ``"  Café Pty Ltd"`` and ``"CAFE\\u0301 pty ltd"`` are one name. Empty texts are no text.
    """
    if text is None:
        return None
    return composed(composed(text).strip().casefold()) or None


class NormalisedField(models.CharField):
    """A hidden column with the normalised form of a text, by which texts are compared (``normalised``).

    ``of`` names the text's field. One character may become three, so its length is three times the text's.
    """

    normalise = staticmethod(normalised)

    def __init__(self, of: str = "", **options: Any) -> None:
        self.text_field = of
        options = {"editable": False, "null": True, "max_length": 270, **options}
        super().__init__(**options)

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        # By its long name PostgreSQL's type is the same, but Django makes no second index for LIKE beside
        # the unique one: normalised texts are only ever compared for equality.
        kind = super().db_type(connection)
        return kind and kind.replace("varchar", "character varying")

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, path, args, options = super().deconstruct()
        options.pop("editable", None)
        return name, path, args, {**options, "of": self.text_field}

    def pre_save(self, model_instance: models.Model, add: bool) -> object:
        value = normalised(getattr(model_instance, self.text_field))
        setattr(model_instance, self.attname, value)
        return value


@dataclass(frozen=True, slots=True)
class Responsibility:
    """A reference to whoever looks after a record, of those that are open; others to staff are facts.

    ``permission``: what that member of staff needs.
    """

    column: str
    open: models.Q = field(default_factory=models.Q)
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """The columns that records are found by, as ORM paths, wherever they are searched.

    ``names`` and ``codes`` are searched everywhere, names also when they are misspelt; ``texts`` in the
    interface and in lists, ``in_lists`` in lists only. ``numbers`` are found in lists however they are
    written. Each has an index of PostgreSQL (``core.search_indexes``), unless ``without_index`` says why not.
    """

    names: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    in_lists: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    without_index: str = ""

    @property
    def palette(self) -> tuple[str, ...]:
        """The columns of the command palette (Ctrl+K), which finds no record of none."""
        return (*self.names, *self.codes)

    @property
    def interface(self) -> tuple[str, ...]:
        """The columns of ``$search``."""
        return (*self.palette, *self.texts)

    @property
    def lists(self) -> tuple[str, ...]:
        """The columns of the words above a list of the back office."""
        return (*self.interface, *self.in_lists)


class TimestampedModel(models.Model):
    """A record with its three time stamps, whose every change is written to the history."""

    creation_date = models.DateTimeField("created", default=clock.now, editable=False)
    modify_date = models.DateTimeField("modified", default=clock.now, editable=False)
    archive_date = models.DateTimeField("archived", null=True, blank=True, editable=False)

    #: Columns whose values the history never shows, only that they changed.
    secret_columns: ClassVar[frozenset[str]] = frozenset()
    #: Columns whose change is no change of the record (a login's time): no entry has them, and
    #: ``saving`` does not write them.
    unrecorded_columns: ClassVar[frozenset[str]] = frozenset()
    #: Whether the records are about people, so that reading them is logged (``core.read_log``).
    has_personal_data: ClassVar[bool] = True
    #: What is handed over when somebody leaves.
    responsibilities: ClassVar[Sequence[Responsibility]] = ()
    #: The records of which something is still expected, where there are others: whoever archives what they
    #: refer to is told how many.
    open_records: ClassVar[models.Q | None] = None
    #: What it is found by, in the interface and in the back office.
    searched: ClassVar[Searched] = Searched()
    #: The path to the account manager of the participant whom a record belongs to (``core.caseload``):
    #: whoever is limited to a caseload sees it when that member of staff is in it. Empty: everybody sees it.
    #: ``None``: it tells of several participants, and only those see it who see all.
    caseload_path: ClassVar[str | None] = None
    #: Columns that an existing record keeps, and those that it keeps once a relation has records.
    fixed_columns: ClassVar[Sequence[str]] = ()
    columns_fixed_by: ClassVar[Mapping[str, Sequence[str]]] = {}

    class Meta:
        abstract = True

    def save(self, *args: object, **options: Any) -> None:
        """Store the record and, in the same transaction, what changed and who changed it."""
        adding = self._state.adding
        if not adding and history.differences(self):
            self.modify_date = clock.now()
            if options.get("update_fields") is not None:
                options["update_fields"] = {*options["update_fields"], "modify_date"}
        with transaction.atomic(using=options.get("using")):
            super().save(*args, **options)
            if adding:
                history.write_entries(type(self), [self.pk], "Created")
            elif changed := history.differences(self):
                history.write_differences(type(self), [(self.pk, changed)])
        self._stored = history.loaded_values(self)

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        with transaction.atomic():
            history.write_deletions(type(self), [self])
            return super().delete(*args, **options)

    @classmethod
    def from_db(cls, db: str | None, field_names: Any, values: Sequence[object]) -> Any:
        """As Django's, without the arguments, defaults and signals of ``__init__``: twice as fast."""
        record = cls.__new__(cls)
        record._state = ModelState()
        record._state.adding, record._state.db = False, db
        record._stored = dict(zip(field_names, values, strict=True))
        vars(record).update(record._stored)
        return record

    def refresh_from_db(self, *args: Any, **options: Any) -> None:
        super().refresh_from_db(*args, **options)
        self._stored = history.loaded_values(self)

    @property
    def is_archived(self) -> bool:
        return self.archive_date is not None

    def unchangeable_columns(self) -> list[str]:
        """The columns that this record keeps from now on."""
        relations = [name for name in self.columns_fixed_by if getattr(self, name).exists()]
        return [*self.fixed_columns, *(name for each in relations for name in self.columns_fixed_by[each])]


_REPEATABLE: ContextVar[Random | None] = ContextVar("repeatable_guids", default=None)


def new_guid() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then 74 random bits.

    Rows of one time are neighbours in the key's index, which random keys would scatter.
    """
    chance = _REPEATABLE.get()
    if chance is None:
        milliseconds, bits = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10))
    else:
        milliseconds, bits = int(clock.now().timestamp() * 1000), chance.getrandbits(80)
    value = (milliseconds & (1 << 48) - 1) << 80 | bits
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


@contextmanager
def repeatable_guids(chance: Random | None) -> Iterator[None]:
    """Within the block, new guids are made of ``clock.now()`` and this chance: demo data repeats its own.

    Without a chance they are random within the block.
    """
    token = _REPEATABLE.set(chance)
    try:
        yield
    finally:
        _REPEATABLE.reset(token)


class Record(TimestampedModel):
    """A record known by its guid."""

    guid = models.UUIDField("identifier", primary_key=True, default=new_guid, editable=False)

    class Meta:
        abstract = True


class Lookup(models.Model):
    """The name of an entry in a short list that other records refer to; unique in its normalised form."""

    #: Archived, it cannot be chosen for new records.
    is_lookup: ClassVar[bool] = True
    has_personal_data: ClassVar[bool] = False
    caseload_path: ClassVar[str | None] = ""

    name = models.CharField(max_length=90)
    name_key = NormalisedField(of="name", unique=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name
