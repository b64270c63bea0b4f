"""The words in which a resource is declared once, as interface.md lists it.

A declaration is a form to fill in; nothing here touches the database.
``apps.odata.declaration.schema`` turns it into types once the models are known, and everything the
API does is derived from those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from django.db import models


class Access(Enum):
    """What a body may do with a property."""

    KEY = "key"
    REQUIRED = "required"
    OPTIONAL = "optional"
    READ_ONLY = "read only"


class Numbered:
    """Mixed into ``TextChoices`` whose members bodies may also name by number.

    >>> class SendPaymentTo(Numbered, models.TextChoices):
    ...     PROVIDER = "Provider"
    ...     __numbers__ = {0: "Provider"}
    """

    __numbers__: ClassVar[dict[int, str]]


@dataclass(frozen=True, kw_only=True)
class Property:
    """A value of a record: its name on the wire and where it comes from.

    ``source`` is the path from the model in Django's spelling (``contact__client``); the name in snake
    case when left out. A source that is a foreign key has the referred record's key as its value.
    ``aliases`` are further spellings bodies may use. ``hidden`` members are written but never shown.
    ``body_source`` is what bodies set where that is not what is shown: a moment that is shown as its day.
    ``needs`` names further columns of a referred record that the rules of its verb read.
    """

    name: str
    source: str
    access: Access
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    body_source: str = ""
    needs: tuple[str, ...] = ()
    description: str = ""


def Key(name: str, source: str = "guid", **words: Any) -> Property:
    """The identifier of a record; never read from a body."""
    return Property(name=name, source=source, access=Access.KEY, **words)


def Required(name: str, source: str = "", **words: Any) -> Property:
    """Bodies must give it."""
    return Property(name=name, source=source or snake_case(name), access=Access.REQUIRED, **words)


def Optional(name: str, source: str = "", **words: Any) -> Property:
    """Bodies may give it; left out it is the model's default or null."""
    return Property(name=name, source=source or snake_case(name), access=Access.OPTIONAL, **words)


def ReadOnly(name: str, source: str = "", **words: Any) -> Property:
    """Shown, never read from a body."""
    return Property(name=name, source=source or snake_case(name), access=Access.READ_ONLY, **words)


class Kind(Enum):
    """How a part belongs to its record."""

    EMBEDDED = "columns of the record itself"
    REFERENCE = "records that stand on their own"
    CONTAINED = "rows that live and die with the record"


@dataclass(frozen=True, kw_only=True)
class Navigation:
    """A nested object, or a list of them: hidden until expanded.

    ``prefix`` (embedded parts) stands before the source of each of the shape's properties. ``order``
    (lists) are ORM order terms; the key is always added. ``item_only`` parts show on a single record
    only. ``needs`` names further columns of a referred record that the rules of its verb read.
    """

    name: str
    shape: type[NestedType]
    kind: Kind
    source: str = ""
    prefix: str = ""
    many: bool = False
    required: bool = False
    read_only: bool = False
    item_only: bool = False
    order: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    description: str = ""


def Embedded(name: str, shape: type[NestedType], prefix: str = "", **words: Any) -> Navigation:
    """An object made of columns of the record's own row; null when all of them are."""
    return Navigation(name=name, shape=shape, kind=Kind.EMBEDDED, prefix=prefix, **words)


def RefersTo(name: str, shape: type[NestedType], source: str = "", **words: Any) -> Navigation:
    """A record (or with ``many`` a list of records) that stands on its own; bodies name it by its key."""
    return Navigation(name=name, shape=shape, kind=Kind.REFERENCE, source=source or snake_case(name), **words)


def Contains(name: str, shape: type[NestedType], source: str = "", **words: Any) -> Navigation:
    """A list of rows that are written with the record."""
    return Navigation(
        name=name, shape=shape, kind=Kind.CONTAINED, source=source or snake_case(name), many=True, **words
    )


class NestedType:
    """The form of an object on the wire: its properties and parts, in the order they are shown.

    ``model`` is left out for embedded shapes (an address), which take the model they stand in.
    ``draft_class`` is what bodies and imports are read into: a subclass of
    ``apps.odata.write.drafts.Draft`` that declares what the services work out.
    """

    model: ClassVar[type[models.Model] | None] = None
    fields: ClassVar[Sequence[Property | Navigation]] = ()
    draft_class: ClassVar[type | None] = None


class Verb(Enum):
    """The methods a resource can offer."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"


GET, POST, PUT = Verb.GET, Verb.POST, Verb.PUT


class Resource(NestedType):
    """An entity set: a shape with an address, an order and its verbs.

    ``path`` is the URL segment, ``name`` the entity set's name (``path`` with a capital unless given),
    ``methods`` what is offered. ``order`` is the order without ``$orderby`` (ORM terms; the key is always
    added). ``stamp`` names the source of the modify stamp an ETag is made of. ``line_limit`` style limits
    are settings, not declarations.

    ``visible_to(caller)`` must be given: a queryset of what that caller may see. ``create`` and
    ``replace`` are the domain's verbs (see ``apps.odata.write.dispatch``). ``importing`` says how files
    of such records are imported; without it they are not.
    """

    path: ClassVar[str]
    name: ClassVar[str] = ""
    methods: ClassVar[Sequence[Verb]] = (GET,)
    order: ClassVar[Sequence[str]] = ("-creation_date",)
    stamp: ClassVar[str | None] = "modify_date"
    search: ClassVar[Sequence[str]] = ()
    warns: ClassVar[bool] = False
    create: ClassVar[Callable[..., Any] | None] = None
    replace: ClassVar[Callable[..., Any] | None] = None
    importing: ClassVar[type | None] = None

    def visible_to(self, caller: Any) -> models.QuerySet:
        """The records this caller may see."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is visible to whom")


_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """``PartnerFirstName`` -> ``partner_first_name``; ``Phone1`` -> ``phone1``."""
    return _WORD_START.sub("_", name).lower()
