"""Drafts of records: the issues that rules find in them, and the records that they refer to.

The API, the back office and imports hand drafts to the same services, which apply the same lists of rules.
In a response of the API the field ``country`` of an issue is the target ``value[0]/Address/Country``.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Concatenate, TypeVar, get_type_hints

from django.db import models

from apps.base.batched_queries import AnyOf, PreparedQuery, Rows, SqlStatement, fetch_all, prepared_query
from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import NavigationProperty, StructuredType


@dataclass(frozen=True, slots=True)
class Issue:
    """A finding of a rule: a stable code, the field in Python names, a sentence.

    ``field`` is an attribute of the draft (``"birthday"``) or a path into a list of it
    (``("line_items", 1, "quantity")``, ``("teams", 0)``); empty for the whole record. The API spells it in
    wire names, the back office puts it on the form field, an import on the column. ``severity`` is
    ``"error"`` or ``"warning"``. ``lost_race``: the request found nothing wrong at first; another writer
    was faster. ``is_state``: the state that the record is in forbids any change like this. ``other``: the
    model and key of another record that stands against it, which pages name to those who may view it;
    ``unnamed``: the sentence for all others, where ``message`` names it.
    """

    code: str
    field: str | tuple[str | int, ...]
    message: str
    severity: str = "error"
    lost_race: bool = False
    is_state: bool = False
    other: tuple[Any, Any] | None = None
    unnamed: str = ""

    def without_other(self) -> "Issue":
        return replace(self, message=self.unnamed or self.message, other=None)


class InvalidValue(Exception):
    """A rule read a member that is invalid itself: the rule does not apply to this draft."""


T = TypeVar("T")
_EXTRA = object()

#: ``total: Extra[Decimal]`` in a draft class: no member of the declaration. A service works it out, or a form
#: adds it.
Extra = Annotated[T, _EXTRA]


class Draft:
    """A record before it is saved: an attribute for every writable member, by its Python name.

    Members left out are ``None`` or the model's default; ``given`` holds the names of those that were given.
    References are the referred records, lists of references lists of them, contained lists are lists of
    drafts. ``key`` is set when the draft changes an existing record. ``left_out`` are the members that were
    given no value in a draft that replaces a record, and get their defaults; ``expected_change`` is the
    modify stamp that the record must still have; ``label`` is what messages about others call it, such as the
    row of a file, in place of its number in the request. Reading an invalid member raises ``InvalidValue``.

    A domain declares a subclass with the members that its rules and services read, as annotations with their
    types, and names it as ``draft_class`` of its resource or nested type; a system check compares them with
    the declaration (``apps.base.draft_checks``). What services work out besides (a price, a booking) is
    declared there as ``Extra``, with a default where rules read it before. To set any other attribute is an
    error.
    """

    given: frozenset[str]
    invalid: frozenset[str]
    key: Any
    left_out: frozenset[str] = frozenset()
    expected_change: dt.datetime | None = None
    label: str | None = None

    extra_attributes: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls, include_extras=True).items()
        cls.extra_attributes = frozenset(
            name for name, hint in hints if _EXTRA in getattr(hint, "__metadata__", ())
        )

    def __init__(
        self,
        values: dict[str, Any],
        given: Iterable[str] = (),
        invalid: Iterable[str] = (),
        key: object = None,
    ) -> None:
        self.__dict__.update(values, given=frozenset(given), invalid=frozenset(invalid), key=key)

    if not TYPE_CHECKING:  # mypy refuses undeclared attributes itself, unless it sees these methods

        def __getattr__(self, name: str) -> Any:
            # Only reached for names that are not there: an invalid member, or a rule's own mistake.
            if name != "invalid" and name in self.invalid:
                raise InvalidValue(name)
            raise AttributeError(f"drafts of this record have no member {name!r}")

        def __setattr__(self, name: str, value: object) -> None:
            if name not in self.__dict__ and name not in self.extra_attributes:
                raise AttributeError(f"{type(self).__name__} declares no extra attribute {name!r}")
            self.__dict__[name] = value

    # The members are the dictionary of the draft. Where every member of many drafts is read or set, that is
    # ``vars(draft)`` itself; elsewhere these say what is meant.

    def has(self, name: str) -> bool:
        """True when the draft has such a member, and it is not invalid."""
        return name in self.__dict__

    def get(self, name: str) -> Any:
        """The value of a member; ``None`` when it is invalid, left out or not set yet."""
        return self.__dict__.get(name)

    def fill(self, name: str, value: object) -> None:
        """Give a member that was left out, or another column, the value of the domain.

        Any name is taken: to look it up would double the time of a call that imports make for every member.
        """
        self.__dict__[name] = value

    def key_of(self, name: str) -> Any:
        """The key of the record that a member refers to; bodies hold keys until references are attached."""
        value = self.__dict__.get(name)
        return value.pk if isinstance(value, models.Model) else value

    def gets_default(self, name: str) -> bool:
        """True when a member has the default that a new record would have."""
        is_given = name in self.given or name in self.invalid
        return name in self.left_out or (self.key is None and not is_given)

    def give_all(self, names: Iterable[str]) -> None:
        """Give all of these members: those that were left out become null or their default."""
        self.__dict__["left_out"] = frozenset(names) - self.given - self.invalid
        self.given |= self.left_out

    def mark_invalid(self, *names: str) -> None:
        """Remove the values of invalid members, or note invalid items of a list: ``line_items[1]``."""
        self.__dict__["invalid"] = self.invalid.union(names)
        for name in names:
            self.__dict__.pop(name, None)


def label_of(draft: Draft, number: int) -> str:
    """The name of a draft, the ``number``-th of the call, in messages about another one."""
    return draft.label or f"record {number + 1} of this request"


def keys_of(drafts: Iterable[Draft], name: str) -> set[Any]:
    """The keys of the records that a member of drafts refers to."""
    return {draft.key_of(name) for draft in drafts} - {None}


D = TypeVar("D", bound=Draft)

#: ``rule(draft)``, or ``rule(draft, context)`` where the service loads a context for each draft.
#: ``Rule[ContactDraft]`` is one that reads drafts of contacts.
Rule = Callable[Concatenate[D, ...], Iterator[Issue]]


def is_refused_when(name: str, code: str, message: str, condition: Callable[[D], object]) -> Rule[D]:
    """The rule that gives a member an issue of this code and sentence where ``condition`` is true."""

    def rule(draft: D) -> Iterator[Issue]:
        if condition(draft):
            yield Issue(code, name, message)

    return rule


def is_required(name: str, message: str, is_missing: Callable[[D], object]) -> Rule[D]:
    """The rule that a member is given: ``Required`` with this sentence where ``is_missing`` is true."""
    return is_refused_when(name, "Required", message, is_missing)


def is_allowed_when(name: str, message: str, condition: Callable[[D], bool]) -> Rule[D]:
    """The rule that a member is given only where ``condition`` is true; of a list, each item is refused."""

    def rule(draft: D) -> Iterator[Issue]:
        value = getattr(draft, name)
        if not value or condition(draft):
            return
        items = [(name, number) for number in range(len(value))] if isinstance(value, list) else [name]
        for field in items:
            yield Issue("NotAllowed", field, message)

    return rule


#: (number of the draft, issue) pairs.
Issues = Iterable[tuple[int, Issue]]


class ValidationFailed(Exception):
    """Raised by services for drafts that cannot be saved: their issues, in the order of the drafts.

    There may be none: the drafts were invalid before the service saw them.
    """

    def __init__(self, issues: Issues) -> None:
        self.issues = sorted(issues, key=lambda numbered: numbered[0])
        super().__init__("; ".join(f"{number}: {issue.message}" for number, issue in self.issues))


class WarningsPresent(ValidationFailed):
    """Raised by services for drafts that can be saved, but may not be meant."""

    def __init__(self, issues: Issues) -> None:
        super().__init__((number, replace(issue, severity="warning")) for number, issue in issues)


def apply_rules(
    drafts: Iterable[D], rules: Sequence[Rule[D]], contexts: Iterable[Any] | None = None
) -> list[tuple[int, Issue]]:
    """Check every draft against every rule, which is passed the draft's context as well if there are any."""
    subjects = zip(drafts, strict=True) if contexts is None else zip(drafts, contexts, strict=True)
    found: list[tuple[int, Issue]] = []
    for number, subject in enumerate(subjects):
        for rule in rules:
            try:
                for issue in rule(*subject):
                    found.append((number, issue))
            except InvalidValue:
                continue
    return found


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
        prop.attribute: (prop.body_names[0], None) for prop in type_.writable_properties
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


# --- references: one query for each model, however many drafts there are ----------------------------------

#: Where a row of a contained list stands in its draft: ``("line_items", 1)``; empty for the draft itself.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A member that names records by their key: ``columns`` are what is loaded of them."""

    attribute: str
    model: type[models.Model]
    many: bool
    columns: frozenset[str]


def attach_references(
    type_: StructuredType, drafts: Sequence[Draft], current: Mapping[Any, models.Model] = MappingProxyType({})
) -> list[tuple[int, Issue]]:
    """Put the records where the drafts hold keys; the issues of those that cannot be referred to."""
    references = References(type_, drafts, current)
    return references.attach(fetch_all(references.queries))


#: The sentence of a refusal of a new record.
UNSEEN = "It would belong to nobody whose records you may see."


class References:
    """The references of drafts: send ``queries`` in a trip of your own, and give their rows to ``attach``.

    Unknown keys are ``NotFound``. Archived records of short lists (models with ``is_lookup``) are
    ``Archived``, unless the record that a draft changes, of those in ``current`` by their keys, has them
    already; people and organisations may be referred to after they were archived, since documents about them
    still come in. The key of one that was merged into another is that other one's. A list that names a record
    twice holds it once. Members that hold records already stay as they are. Records of the model ``apart``
    are loaded by the caller, who gives them to ``attach`` by key.
    """

    def __init__(
        self,
        type_: StructuredType,
        drafts: Sequence[Draft],
        current: Mapping[Any, models.Model] = MappingProxyType({}),
        apart: type[models.Model] | None = None,
    ) -> None:
        self.drafts, self.current, self.apart = drafts, current, apart
        self.named: list[tuple[int, Path, Draft, Reference]] = []
        keys: dict[Any, set[Any]] = defaultdict(set)
        columns: dict[type[models.Model], set[str]] = defaultdict(set)
        for number, path, row_type, draft in with_contained_rows(type_, drafts):
            for reference in references_of(row_type):
                value: Any = vars(draft).get(reference.attribute)
                first = value[0] if value and reference.many else value
                if first is None or isinstance(first, list | models.Model):
                    continue
                self.named.append((number, path, draft, reference))
                keys[reference.model].update(value if reference.many else (value,))
                columns[reference.model] |= reference.columns
        keys.pop(apart, None)
        self.columns = {model: selected_columns(model, frozenset(columns[model])) for model in keys}
        self.queries: list[SqlStatement] = [
            query_by_key(model, *self.columns[model])(named) for model, named in keys.items()
        ]

    def attach(
        self, rows: Sequence[Rows], of_apart: Mapping[Any, models.Model] = MappingProxyType({})
    ) -> list[tuple[int, Issue]]:
        """Put the records where the drafts hold keys; the issues of those that cannot be referred to."""
        records: dict[Any, Any] = {
            model: self.build(model, model_rows) for model, model_rows in zip(self.columns, rows, strict=True)
        }
        for model, named in records.items():
            self.follow_merges(model, named)
        records[self.apart] = of_apart
        issues: list[tuple[int, Issue]] = []
        for number, path, draft, reference in self.named:
            found = list(self.attach_one(draft, path, reference, records[reference.model]))
            issues += [(number, issue) for issue in found]
            if found:
                draft.mark_invalid(reference.attribute)
            if found and path:
                self.drafts[number].mark_invalid(f"{path[0]}[{path[1]}]")
        return issues

    def build(self, model: type[models.Model], rows: Rows) -> dict[Any, Any]:
        """The records of the rows that a query of the model gave, by key."""
        columns, joined = self.columns[model]
        loaded = [model.from_db("default", columns, row[: len(columns)]) for row in rows]
        for record, row in zip(loaded, rows, strict=True) if joined else ():
            for column, value in zip(joined, row[len(columns) :], strict=True):
                set_joined_column(record, column, value)
        return {record.pk: record for record in loaded}

    def follow_merges(self, model: type[models.Model], named: dict[Any, Any]) -> None:
        """Put those in the place of merged records that they were merged into."""
        merged = {key: record.merged_into_id for key, record in named.items() if is_merged(record)}
        if merged:
            (rows,) = fetch_all([query_by_key(model, *self.columns[model])(merged.values())])
            others = self.build(model, rows)
            named.update((key, others[other]) for key, other in merged.items())

    def attach_one(
        self, draft: Draft, path: Path, reference: Reference, records: Mapping[Any, Any]
    ) -> Iterator[Issue]:
        """Attach the records of one member of the draft at ``path``; its issues."""
        name, noun = reference.attribute, reference.model._meta.verbose_name
        is_lookup = getattr(reference.model, "is_lookup", False)
        value: Any = vars(draft).get(name)
        keys = value if reference.many else [value]
        found = [records.get(key) for key in keys]
        for at, (key, record) in enumerate(zip(keys, found, strict=True)):
            field = (*path, name, at) if reference.many else (*path, name)
            if record is None:
                yield Issue("NotFound", field, f"There is no {noun} {key}.")
            elif is_lookup and record.archive_date and key not in self.current_keys(draft, reference):
                yield Issue("Archived", field, f"The {noun} {key} is archived.")
        vars(draft)[name] = list(dict.fromkeys(found)) if reference.many else found[0]

    def current_keys(self, draft: Draft, reference: Reference) -> frozenset[Any]:
        """The keys that the record of a draft refers to; one query for the lists of all records."""
        record: Any = self.current.get(draft.key)
        if record is None:
            return frozenset()
        if not reference.many:
            return frozenset([getattr(record, record._meta.get_field(reference.attribute).attname)])
        models.prefetch_related_objects([*self.current.values()], reference.attribute)
        return frozenset(one.pk for one in getattr(record, reference.attribute).all())


def with_contained_rows(
    type_: StructuredType, drafts: Iterable[Draft]
) -> Iterator[tuple[int, Path, StructuredType, Draft]]:
    """(number, path, type, draft) of every draft, and of the rows of its contained lists after it."""
    contained = contained_lists(type_)
    for number, draft in enumerate(drafts):
        yield number, (), type_, draft
        for navigation in contained:
            for at, row in enumerate(vars(draft).get(navigation.attribute) or ()):
                yield number, (navigation.attribute, at), navigation.type, row


@lru_cache(maxsize=256)
def contained_lists(type_: StructuredType) -> tuple[NavigationProperty, ...]:
    """Each once, though several members may show one attribute."""
    lists = {n.attribute: n for n in type_.writable_navigations if n.nesting is Nesting.CONTAINED}
    return tuple(lists.values())


@lru_cache(maxsize=256)
def references_of(type_: StructuredType) -> tuple[Reference, ...]:
    """The attributes of an object, embedded objects included, that name records; each once."""
    found: dict[str, Reference] = {}
    for prop in type_.writable_properties:
        if prop.related_model is not None:
            columns = always_selected(prop.related_model) | set(prop.declaration.rule_columns)
            found[prop.attribute] = Reference(prop.attribute, prop.related_model, False, columns)
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.REFERENCE:
            model = navigation.type.model
            shown = {prop.path for prop in navigation.type.properties.values() if len(prop.steps) == 1}
            columns = always_selected(model) | shown | set(navigation.declaration.rule_columns)
            name = navigation.attribute
            found[name] = Reference(name, model, navigation.many, columns)
        elif navigation.nesting is Nesting.EMBEDDED:
            found |= {each.attribute: each for each in references_of(navigation.type)}
    return tuple(found.values())


def always_selected(model: type[models.Model]) -> frozenset[str]:
    columns = ("archive_date", "merged_into")
    return frozenset(f.name for f in model._meta.concrete_fields if f.primary_key or f.name in columns)


def is_merged(record: Any) -> bool:
    """True for a duplicate that was merged into another record, and is not in use again."""
    return getattr(record, "merged_into_id", None) is not None and record.archive_date is not None


@lru_cache(maxsize=256)
def selected_columns(
    model: type[models.Model], columns: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The model's own columns in its order, and the paths into records it refers to (``role__name``)."""
    joined = tuple(sorted(column for column in columns if "__" in column))
    own = {column.partition("__")[0] for column in columns}
    return tuple(f.attname for f in model._meta.concrete_fields if f.name in own), joined


@lru_cache(maxsize=256)
def query_by_key(
    model: type[models.Model], columns: tuple[str, ...], joined: tuple[str, ...]
) -> PreparedQuery:
    @prepared_query
    def rows(keys: Any) -> models.QuerySet[Any, Any]:
        return model._base_manager.filter(AnyOf("pk", keys)).order_by().values_list(*columns, *joined)

    return rows


def set_joined_column(record: models.Model, path: str, value: object) -> None:
    """Set a column of the record that this record refers to, which is made of its key."""
    name, _, column = path.partition("__")
    field: Any = record._meta.get_field(name)
    key = getattr(record, field.attname)
    if key is None:
        return
    if not field.is_cached(record):
        related = field.related_model
        setattr(record, name, related.from_db("default", [related._meta.pk.attname], [key]))
    setattr(getattr(record, name), column, value)
