"""The classes and functions that declare a resource once, as interface.md lists it.

A declaration never touches the database. ``apps.base.declaration.schema`` binds it to the models, and
everything the API does is derived from the bound types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol, Self

from django.db import models


class Behaviour(Enum):
    """How request bodies treat a property."""

    KEY = "key"
    REQUIRED = "required"
    OPTIONAL = "optional"
    READ_ONLY = "read only"


class BodyKind(Enum):
    """The kinds of request bodies: a new record, a whole one, a part of one."""

    NEW = "a record to be created"
    WHOLE = "all of an existing record"
    PARTIAL = "some members of an existing record"


class Enumeration(models.TextChoices):
    """Choices that are an enumeration type of the interface: each has a value, a number and perhaps a label.

    Released clients store and compare the numbers: a value that is added anywhere takes a new one.

    >>> class Payee(Enumeration):
    ...     PROVIDER = "Provider", 0
    ...     PLAN_MANAGER = "PlanManager", 2, "Plan manager"
    """

    _value_: str
    #: ``None`` where the declaration has none, which is a system check.
    number: int | None

    def __new__(cls, value: str, number: int | None = None) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.number = number
        return member


class Numbered(Enumeration):
    """Choices that request bodies and filters may name by their numbers too.

    Values in ``__names_only__`` they may name by the value alone.
    """

    __names_only__: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, kw_only=True)
class Property:
    """A value of a record: its wire name and its source.

    ``source`` is the ORM path from the model (``contact__client``), by default the name in snake case. The
    value of a foreign key is the key of the related record. ``body_name`` is its name in request bodies where
    that is another one, ``aliases`` are further ones; bodies may always use ``name`` as well.
    ``write_only`` properties are never in responses. ``body_source`` is the field that request bodies set
    where responses show another one (a date computed from a date-time). ``rule_columns`` are further columns
    of the related record that validation rules read. ``partner`` is the name of the navigation property from
    the related record back to records of this type (``Claims``). ``sum_of`` are ORM paths to the records of
    which the value is a sum without a history of its own: it may change whenever one of them does.
    """

    name: str
    source: str
    behaviour: Behaviour
    body_name: str = ""
    aliases: tuple[str, ...] = ()
    write_only: bool = False
    body_source: str = ""
    rule_columns: tuple[str, ...] = ()
    partner: str = ""
    description: str = ""
    sum_of: tuple[str, ...] = ()


def Key(name: str, source: str = "guid", **options: Any) -> Property:
    """The identifier of a record; ignored in request bodies."""
    return Property(name=name, source=source, behaviour=Behaviour.KEY, **options)


def Required(name: str, source: str = "", **options: Any) -> Property:
    """A value that request bodies must hold."""
    return Property(name=name, source=source or snake_case(name), behaviour=Behaviour.REQUIRED, **options)


def Optional(name: str, source: str = "", **options: Any) -> Property:
    """A value that request bodies may hold; the default is the model's, or null."""
    return Property(name=name, source=source or snake_case(name), behaviour=Behaviour.OPTIONAL, **options)


def ReadOnly(name: str, source: str = "", **options: Any) -> Property:
    """A value that is only in responses; ignored in request bodies."""
    return Property(name=name, source=source or snake_case(name), behaviour=Behaviour.READ_ONLY, **options)


class Nesting(Enum):
    """The place where the data of a nested object is stored."""

    EMBEDDED = "columns of the record itself"
    REFERENCE = "independent records"
    CONTAINED = "rows that are created and deleted with the record"
    ENTITY_SET = "records of another entity set"


@dataclass(frozen=True, kw_only=True)
class Navigation:
    """A nested object, or a list of them: in responses only when expanded.

    ``prefix`` (embedded objects) is put before the source of each property of the nested type. ``order``
    (lists) are ORM order terms; the key is always added. ``item_only`` navigation properties can be expanded
    on a single record only. ``rule_columns`` are further columns of the related record that validation
    rules read. ``set_navigation`` is the name of a navigation property to the whole record in its entity set
    (``Owner``), ``partner`` of the one from there back to records of this type.
    """

    name: str
    nested_type: type[NestedType]
    nesting: Nesting
    source: str = ""
    prefix: str = ""
    many: bool = False
    required: bool = False
    read_only: bool = False
    item_only: bool = False
    order: tuple[str, ...] = ()
    rule_columns: tuple[str, ...] = ()
    set_navigation: str = ""
    partner: str = ""
    description: str = ""


def Embedded(name: str, nested_type: type[NestedType], prefix: str = "", **options: Any) -> Navigation:
    """An object of columns of the record's own row; null when all of them are null."""
    return Navigation(name=name, nested_type=nested_type, nesting=Nesting.EMBEDDED, prefix=prefix, **options)


def RefersTo(name: str, nested_type: type[NestedType], source: str = "", **options: Any) -> Navigation:
    """An independent record, or with ``many`` a list of them; request bodies name it by its key."""
    return Navigation(
        name=name,
        nested_type=nested_type,
        nesting=Nesting.REFERENCE,
        source=source or snake_case(name),
        **options,
    )


def Contains(name: str, nested_type: type[NestedType], source: str = "", **options: Any) -> Navigation:
    """A list of rows that are created with the record."""
    return Navigation(
        name=name,
        nested_type=nested_type,
        nesting=Nesting.CONTAINED,
        source=source or snake_case(name),
        many=True,
        **options,
    )


class Sight(Protocol):
    """The records that a caller sees who does not see all."""

    def visible(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """The rows that the caller sees, of these."""

    def path(self, model: type[models.Model]) -> str:
        """The ORM path that decides about records of the model: it must lead to what the caller sees; empty
        where all are seen."""

    def sight_columns(self, model: type[models.Model]) -> Sequence[str]:
        """The ORM paths of the columns that decide, at the end of ``path``."""

    def is_current(self) -> bool:
        """True where no change of records has changed what the caller sees since that was read."""

    def digest(self) -> str:
        """A text that changes with what the caller sees, other than by changes of records."""


class Caller(Protocol):
    """Who sends a request; the app of the callers says what they may read.

    ``sees``: the records that it is limited to, ``None`` for all.
    """

    @property
    def sees(self) -> Sight | None: ...

    def may(self, right: str, entity_set: Any) -> bool:
        """True when the caller may ``read`` or ``write`` the records of the entity set, or has a further
        right of its resource."""

    def refusal(self, right: str, name: str) -> str:
        """The sentence of a refusal of a right to the entity set of that name."""


class NestedType:
    """A nested object on the wire: its properties and navigation properties, in their order in responses.

    Embedded types (an address) have no ``model``: they take the model of the record. ``type_name`` is the
    name of the type in $metadata, by default the name of the class without ``Type``.
    ``draft_class`` is the class of its drafts: a subclass of ``apps.base.drafts.Draft`` with the types of
    the members that rules read.
    """

    type_name: ClassVar[str] = ""
    model: ClassVar[type[models.Model] | None] = None
    fields: ClassVar[Sequence[Property | Navigation]] = ()
    draft_class: ClassVar[type | None] = None


@dataclass(frozen=True, slots=True)
class StoredSums:
    """Sums of all records of a set that PostgreSQL stores: the rows of ``model``, by the values of ``keys``.

    A row has the ``number`` of records and the sums of the columns ``sums``, all by their names in records.
    """

    model: type[models.Model]
    keys: tuple[str, ...]
    sums: tuple[str, ...]


GET, POST, PUT, PATCH, DELETE = "GET", "POST", "PUT", "PATCH", "DELETE"

#: The versions of the interface; requests that name none have the first (docs/versions.md).
V2_0, V2_1 = VERSIONS = ("2.0", "2.1")


class Resource(NestedType):
    """An entity set: its fields, its address, its order and its services.

    ``path`` is the URL segment, ``name`` the name of the entity set (by default ``path`` with a capital),
    ``methods`` the HTTP methods it supports. ``order`` is the order without ``$orderby`` (ORM terms; the key
    is always added), ``search`` the text fields of ``$search``. ``etag_field`` is the model field an ETag is
    made of. ``create``, ``update`` and ``archive`` are the services of POST, of PUT and PATCH, and of DELETE
    (see ``apps.odata.write.dispatch``), which forms and imports call as well: ``update`` stores what drafts
    give of existing records, ``archive`` is called with a queryset, and returns how many were current.
    ``has_warnings`` is true when ``create`` and ``update`` take ``ignore_warnings``, ``archive_has_warnings``
    when ``archive`` does, ``loads_references`` when ``create`` and ``update`` load the records that drafts
    name by key together with what else they need. ``importing`` declares how files of these records are
    imported; without it they cannot be. ``unpublished`` are columns that people enter in the back office, and
    the interface does not have.

    ``methods_of_2_1`` and ``fields_of_2_1`` are what version 2.1 has besides, or in place of a field of that
    name, ``alternate_keys`` the unique members by which it finds a record as by its key; ``since`` is the
    first version that has the set at all. ``is_tracked`` is false where the log of changes has no entries of
    these records: there are no links of changes. ``stored_sums`` are read in place of all records.
    ``further_rights`` are rights that reading and writing do
    not include, each with what it allows in words: an action that needs one names it (``right="files"``).
    """

    path: ClassVar[str]
    name: ClassVar[str] = ""
    since: ClassVar[str] = V2_0
    methods: ClassVar[Sequence[str]] = (GET,)
    methods_of_2_1: ClassVar[Sequence[str]] = ()
    fields_of_2_1: ClassVar[Sequence[Property | Navigation]] = ()
    alternate_keys: ClassVar[Sequence[str]] = ()
    is_tracked: ClassVar[bool] = True
    is_own: ClassVar[bool] = False
    further_rights: ClassVar[Mapping[str, str]] = {}
    order: ClassVar[Sequence[str]] = ("-creation_date",)
    etag_field: ClassVar[str | None] = "modify_date"
    search: ClassVar[Sequence[str]] = ()
    unpublished: ClassVar[Sequence[str]] = ()
    has_warnings: ClassVar[bool] = False
    archive_has_warnings: ClassVar[bool] = False
    loads_references: ClassVar[bool] = False
    create: ClassVar[Callable[..., Any] | None] = None
    update: ClassVar[Callable[..., object] | None] = None
    archive: ClassVar[Callable[..., int] | None] = None
    importing: ClassVar[type | None] = None
    stored_sums: ClassVar[StoredSums | None] = None

    def __init__(self, version: str = V2_0) -> None:
        self.version = version

    def visible_to(self, caller: object) -> models.QuerySet:
        """The records this caller may see. Every resource overrides it: nothing is visible by default."""
        raise NotImplementedError(f"{type(self).__name__} does not override visible_to")


class UnrestrictedResource(Resource):
    """Records that every caller may see."""

    def visible_to(self, caller: object) -> models.QuerySet:
        assert self.model is not None
        return self.model._default_manager.all()


_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """``PartnerFirstName`` -> ``partner_first_name``; ``Phone1`` -> ``phone1``."""
    return _WORD_START.sub("_", name).lower()
