"""Drafts of records, and the issues that rules find in them.

The API, the back office and imports hand drafts to the same services, which apply the same lists of rules.
In a response of the API the field ``country`` of an issue is the target ``value[0]/Address/Country``.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models

from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuredType


@dataclass(frozen=True, slots=True)
class Issue:
    """What a rule found: a stable code, the field in Python names, a sentence.

    ``field`` is an attribute of the draft (``"birthday"``) or a path into a list of it
    (``("line_items", 1, "quantity")``, ``("teams", 0)``); empty for the whole record. The API spells it in
    wire names, the back office puts it on the form field, an import on the column. ``severity`` is
    ``"error"`` or ``"warning"``. ``lost_race``: the request found nothing wrong at first; another writer
    was faster.
    """

    code: str
    field: str | tuple[str | int, ...]
    message: str
    severity: str = "error"
    lost_race: bool = False


class InvalidValue(Exception):
    """A rule read a member that is invalid itself: the rule does not apply to this draft."""


class Draft:
    """A record before it is saved: an attribute for every writable member, by its Python name.

    Members left out are ``None`` or the model's default; ``given`` holds the names of those that were given.
    References are the referred records, lists of references lists of them, contained lists are lists of
    drafts. ``key`` is set when the draft changes an existing record. ``left_out`` are the members that were
    given no value in a draft that replaces a record, and get their defaults; ``expected_change`` is the
    modify stamp that the record must still have. Reading an invalid member raises ``InvalidValue``.

    A domain declares what its services work out (a price, a booking) on a subclass, as annotated attributes
    with defaults, and names the class as ``draft_class`` of its resource or nested type. To set any other
    attribute is an error.
    """

    given: frozenset[str]
    invalid: frozenset[str]
    key: Any
    left_out: frozenset[str] = frozenset()
    expected_change: dt.datetime | None = None

    declared_attributes: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls.declared_attributes |= cls.__annotations__.keys()

    def __init__(
        self,
        values: dict[str, Any],
        given: Iterable[str] = (),
        invalid: Iterable[str] = (),
        key: Any = None,
    ) -> None:
        self.__dict__.update(values, given=frozenset(given), invalid=frozenset(invalid), key=key)

    def __getattr__(self, name: str) -> Any:
        # Only reached for names that are not there: an invalid member, or a rule's own mistake.
        if name != "invalid" and name in self.invalid:
            raise InvalidValue(name)
        raise AttributeError(f"drafts of this record have no member {name!r}")

    if not TYPE_CHECKING:  # mypy refuses undeclared attributes itself, unless it sees this method

        def __setattr__(self, name: str, value: Any) -> None:
            if not self.has(name) and name not in self.declared_attributes:
                raise AttributeError(f"{type(self).__name__} declares no attribute {name!r}")
            self.fill(name, value)

    # The members are the instance's dictionary: rules read them as plain attributes, and services, for every
    # member of every draft of an import, by the methods of that dictionary.

    #: ``has(name)``: whether the draft has such a member, and it is not invalid.
    has = property(attrgetter("__dict__.__contains__"))
    #: ``get(name)``: the value of a member; ``None`` when it is invalid, left out or not set yet.
    get = property(attrgetter("__dict__.get"))
    #: ``fill(name, value)``: give a member that was left out, or another column, the value of the domain. Any
    #: name is taken: to look it up would double the time of a call that imports make for every member.
    fill = property(attrgetter("__dict__.__setitem__"))
    #: ``fill_all(values)``: fill several members.
    fill_all = property(attrgetter("__dict__.update"))
    #: ``member_names()``: the names of all members that are not invalid.
    member_names = property(attrgetter("__dict__.keys"))

    def key_of(self, name: str) -> Any:
        """The key of the record that a member refers to; bodies hold keys until references are attached."""
        value = self.get(name)
        return value.pk if isinstance(value, models.Model) else value

    def gets_default(self, name: str) -> bool:
        """Whether a member has the default that a new record would have."""
        is_given = name in self.given | self.invalid
        return name in self.left_out or (self.key is None and not is_given)

    def give_all(self, names: Iterable[str]) -> None:
        """Give all of these members: those that were left out become null or their default."""
        self.fill("left_out", frozenset(names) - self.given - self.invalid)
        self.given |= self.left_out

    def mark_invalid(self, *names: str) -> None:
        """Remove the values of invalid members, or note invalid items of a list: ``line_items[1]``."""
        self.fill("invalid", self.invalid.union(names))
        for name in names:
            if self.has(name):
                delattr(self, name)


def keys_of(drafts: Iterable[Draft], name: str) -> set[Any]:
    """The keys of the records that a member of drafts refers to."""
    return {draft.key_of(name) for draft in drafts} - {None}


#: ``rule(draft)``, or ``rule(draft, context)`` where the service loads a context for each draft.
Rule = Callable[..., Iterator[Issue]]

#: (number of the draft, issue) pairs.
Issues = Iterable[tuple[int, Issue]]


class ValidationFailed(Exception):
    """What a service raises when drafts cannot be saved: their issues, in the order of the drafts.

    There may be none: the drafts were invalid before the service saw them.
    """

    def __init__(self, issues: Issues) -> None:
        self.issues = sorted(issues, key=lambda numbered: numbered[0])
        super().__init__("; ".join(f"{number}: {issue.message}" for number, issue in self.issues))


class WarningsPresent(ValidationFailed):
    """What a service raises when drafts can be saved, but may not be meant."""

    def __init__(self, issues: Issues) -> None:
        super().__init__((number, replace(issue, severity="warning")) for number, issue in issues)


def apply_rules(
    drafts: Iterable[Any], rules: Sequence[Rule], contexts: Iterable[Any] | None = None
) -> Iterator[tuple[int, Issue]]:
    """Check every draft against every rule, which is passed the draft's context as well if there are any."""
    subjects = zip(drafts, strict=True) if contexts is None else zip(drafts, contexts, strict=True)
    for number, subject in enumerate(subjects):
        for rule in rules:
            try:
                for issue in rule(*subject):
                    yield number, issue
            except InvalidValue:
                continue


def raise_if_invalid(drafts: Iterable[Draft], issues: Issues) -> None:
    """Raise ``ValidationFailed`` when there are issues, or when a draft has invalid members."""
    found = list(issues)
    if found or any(draft.invalid for draft in drafts):
        raise ValidationFailed(found)


# --- targets --------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def wire_members(type_: StructuredType) -> Mapping[str, tuple[str, NavigationProperty | None]]:
    """The wire path of each attribute of drafts, and its member when that is a reference or a list."""
    members: dict[str, tuple[str, NavigationProperty | None]] = {
        prop.attribute: (prop.name, None) for prop in type_.writable_properties
    }
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.EMBEDDED:
            for attribute, (inner, _) in wire_members(navigation.type).items():
                members[attribute] = f"{navigation.name}/{inner}", None
        else:
            members[navigation.attribute] = navigation.name, navigation
    return members


def wire_target(type_: StructuredType, field: str | tuple[str | int, ...], code: str = "") -> str:
    """The field of an issue in wire names: ``("line_items", 1, "quantity")`` -> ``LineItems[1]/Quantity``.

    An invalid reference is reported on its key (``PrimaryRole/RoleGuid``), a missing one on the member.
    The result is empty for the whole record, and for attributes that bodies have no name for.
    """
    attribute, *rest = (field,) if isinstance(field, str) else field
    name, navigation = wire_members(type_).get(str(attribute), ("", None))
    if navigation is None:
        return name
    if rest and isinstance(rest[0], int):
        name, rest = f"{name}[{rest[0]}]", rest[1:]
    elif navigation.many:
        return name
    if navigation.nesting is Nesting.REFERENCE:
        assert navigation.type.key is not None
        return name if code == "Required" else f"{name}/{navigation.type.key.name}"
    inner = wire_target(navigation.type, tuple(rest), code) if rest else ""
    return f"{name}/{inner}" if inner else name


def record_target(number: int, bare: bool) -> str:
    """The target of a record: ``value[3]``; empty for a bare record, which is the body itself."""
    return "" if bare else f"value[{number}]"


def join_targets(outer: str, inner: str) -> str:
    """The target ``inner`` within another; either may be empty."""
    return f"{outer}/{inner}" if outer and inner else outer or inner
