"""Trees of $filter and $orderby become ORM expressions that reach declared names only.

Truth has three values (OData 4.01, URL Conventions 5.1.1.1): ``eq`` and ``ne`` are never unknown, the order
comparisons are false when a side is null, and functions of null are null. SQL knows the same three values
but says "unknown" where OData says "false". That is the same to a WHERE, so plain comparisons stay plain
SQL that an index can answer; only where a ``not`` or another operator looks at the difference is it made
exact.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.expressions import OrderBy
from django.utils import timezone

from apps.odata import clock
from apps.odata.declaration.edm import edm_type
from apps.odata.declaration.resource import Nesting
from apps.odata.declaration.schema import NavigationProperty, StructuralProperty, StructuredType
from apps.odata.errors import BadQuery
from apps.odata.query import functions as sql
from apps.odata.query.ast import (
    Alias,
    Binary,
    Call,
    Count,
    EnumLiteral,
    Expression,
    In,
    Junction,
    Lambda,
    Literal,
    Negate,
    Not,
    Path,
    SortTerm,
    ValueKind,
)
from apps.odata.query.functions import Constant

#: Terms of one $orderby; each costs the condition of the next page a comparison.
MAX_SORT_TERMS = 16

_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL)
_TEXTS = (ValueKind.STRING, ValueKind.ENUM)
_MIRRORED = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
_KIND_OF_EDM = {
    "Edm.Guid": ValueKind.GUID,
    "Edm.Boolean": ValueKind.BOOLEAN,
    "Edm.Date": ValueKind.DATE,
    "Edm.DateTimeOffset": ValueKind.DATETIME,
    "Edm.Int16": ValueKind.INTEGER,
    "Edm.Int32": ValueKind.INTEGER,
    "Edm.Int64": ValueKind.INTEGER,
    "Edm.Decimal": ValueKind.DECIMAL,
    "Edm.String": ValueKind.STRING,
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in SQL: ``told`` is how an error calls it, ``enum`` the property whose choices it has."""

    kind: ValueKind
    sql: Any
    nullable: bool
    told: str
    enum: StructuralProperty | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A value known before the database is asked: a literal, an alias, ``now()`` or a part of it."""

    kind: ValueKind
    value: Any

    @property
    def told(self) -> str:
        match self.value:
            case None:
                return "null"
            case EnumLiteral(type=type_, name=name):
                return f"{type_}'{name}'"
            case str():
                return repr(self.value[:60])
        return str(self.value)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a total order.

    ``value`` is what a row has in it, ``ordered`` the same as it is compared (text by code point); ``name``
    tells two orders apart.
    """

    name: str
    kind: ValueKind
    value: Any
    descending: bool
    nullable: bool

    @property
    def ordered(self) -> Any:
        return sql.BY_CODE_POINT(self.value) if self.kind in _TEXTS else self.value

    @property
    def order_by(self) -> OrderBy:
        """Null comes before every value (OData 4.01, 11.2.6.2); a key without nulls says nothing of them."""
        if not self.nullable:
            return OrderBy(self.ordered, descending=self.descending)
        if self.descending:
            return OrderBy(self.ordered, descending=True, nulls_last=True)
        return OrderBy(self.ordered, nulls_first=True)


def bind_filter(
    tree: Expression,
    type_: StructuredType,
    aliases: Mapping[str, Literal] | None = None,
    target: str = "$filter",
) -> Any:
    """A condition for ``.filter()`` of a queryset over ``type_``'s model.

    ``BadQuery`` for names that are not declared and for operands that do not fit; ``target`` names the
    option in errors.
    """
    return _Binder(type_, aliases or {}, target).condition(tree, exact=False)


def sort_keys(
    type_: StructuredType,
    terms: Sequence[SortTerm] = (),
    aliases: Mapping[str, Literal] | None = None,
    target: str = "$orderby",
) -> tuple[SortKey, ...]:
    """The keys of a total order that ends on the record's key; without terms the declared order."""
    if not terms:
        return tuple(declared_key(type_, term) for term in type_.order)
    if len(terms) > MAX_SORT_TERMS:
        raise BadQuery(
            f"{target} takes at most {MAX_SORT_TERMS} terms.", target=target, code="InvalidOrderby"
        )
    binder = _Binder(type_, aliases or {}, target)
    keys: dict[str, SortKey] = {}
    for key in map(binder.sort_key, terms):
        if key is not None:
            keys.setdefault(key.name, key)
    given = tuple(keys.values())
    falling = bool(given) and given[0].descending
    last = declared_key(type_, ("-" if falling else "") + type_.model._meta.pk.name)
    return given if any(key.value == last.value for key in given) else (*given, last)


def declared_key(type_: StructuredType, term: str) -> SortKey:
    """The sort key of an ORM order term of a declaration (``-creation_date``)."""
    path = term.lstrip("-")
    model: Any = type_.model
    steps = []
    for name in path.split("__"):
        steps.append(model._meta.pk if name == "pk" else model._meta.get_field(name))
        model = steps[-1].related_model
    field = steps[-1]
    while field.is_relation:
        field = field.target_field
    kind = _KIND_OF_EDM[edm_type(field).name]
    return SortKey(path, kind, F(path), term.startswith("-"), any(step.null for step in steps))


# --- names --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up: the filtered record itself, or the range variable of an any or all.

    ``prefix`` leads from the rows of the queryset to the type's model, ``level`` counts the subqueries
    around it.
    """

    variable: str
    type: StructuredType
    prefix: str
    level: int


@dataclass(frozen=True, slots=True)
class Place:
    """How far a path has been followed: ``prefix`` is the ORM path so far, ``part`` the last part passed."""

    scope: Scope
    type: StructuredType
    prefix: str
    nullable: bool = False
    part: NavigationProperty | None = None


class _Binder:
    """Binds one option of one request."""

    def __init__(self, type_: StructuredType, aliases: Mapping[str, Literal], target: str) -> None:
        self.root = type_
        self.aliases = aliases
        self.target = target
        self.code = "Invalid" + target.rpartition("$")[2].capitalize()
        self.scopes = [Scope("$it", type_, "", 0)]
        self.zone = timezone.get_current_timezone()

    def fail(self, message: str, code: str = "") -> NoReturn:
        raise BadQuery(f"{self.target}: {message}", target=self.target, code=code or self.code)

    # --- conditions -----------------------------------------------------------------------------------

    def condition(self, node: Expression, exact: bool) -> Any:
        """A boolean in SQL; ``exact`` asks that its unknown be OData's null, not a false comparison."""
        match node:
            case Junction():
                word = node.operator.upper()
                parts = [self.condition(operand, exact) for operand in node.operands]
                return sql.joined(word, len(parts))(*parts)
            case Not():
                return sql.NOT(self.condition(node.operand, exact=True))
            case Binary(operator="has"):
                return self.flagged(node)
            case Binary() if node.operator in _MIRRORED:
                return self.comparison(node, exact)
            case In():
                return self.membership(node, exact)
            case Lambda():
                return self.quantified(node)
        operand = self.operand(node)
        if operand.kind is ValueKind.NULL:
            return sql.ITSELF(Constant(ValueKind.BOOLEAN, None))
        if operand.kind is not ValueKind.BOOLEAN:
            self.fail(
                f"a condition is expected where {operand.told} stands, which is {operand.kind.value};"
                " a comparison behind not needs parentheses."
            )
        return sql.ITSELF(self.as_sql(operand))

    def flagged(self, node: Binary) -> Any:
        """``has`` asks for a flag; our enumerations hold one member at a time, or null."""
        left, right = self.pair(node.left, node.right)
        if not isinstance(left, Operand) or left.enum is None or not isinstance(right, Known):
            self.fail("has stands between an enumeration and one of its members.")
        if right.kind is ValueKind.NULL:
            return sql.ITSELF(Constant(ValueKind.BOOLEAN, None))
        return sql.EQUAL(left.sql, self.fitted(right, left).sql)

    def comparison(self, node: Binary, exact: bool) -> Any:
        left, right = self.pair(node.left, node.right)
        operator = node.operator
        if isinstance(left, Known) and (isinstance(right, Operand) or left.kind is ValueKind.NULL):
            left, right, operator = right, left, _MIRRORED[operator]
        if isinstance(left, Known):
            left = self.constant(left)
        if isinstance(right, Known):
            if right.kind is ValueKind.NULL:
                return against_null(operator, left)
            right = self.fitted(right, left)
        self.check_comparable(operator, left, right)
        return compared(operator, left, right, exact)

    def pair(self, left: Expression, right: Expression) -> tuple[Operand | Known, Operand | Known]:
        """Both sides of a comparison; a bare word beside an enumeration is one of its members."""
        if self.is_undeclared_word(right):
            known = self.operand_or_part(left)
            return known, self.member_or_fail(right, known)
        if self.is_undeclared_word(left):
            known = self.operand_or_part(right)
            return self.member_or_fail(left, known), known
        return self.operand_or_part(left), self.operand_or_part(right)

    def is_undeclared_word(self, node: Expression) -> bool:
        if not isinstance(node, Path) or len(node.segments) > 1:
            return False
        name = node.segments[0]
        return all(name != scope.variable for scope in self.scopes) and self.root.member(name) is None

    def member_or_fail(self, node: Expression, beside: Operand | Known) -> Operand | Known:
        if isinstance(node, Path) and isinstance(beside, Operand) and beside.enum is not None:
            return Known(ValueKind.STRING, node.segments[0])
        return self.operand(node)

    def check_comparable(self, operator: str, left: Operand, right: Operand) -> None:
        if left.kind is ValueKind.OBJECT is right.kind:
            self.fail(f"{left.told} is an object; it can be compared with null only.")
        if operator in sql.ORDERED and (self.is_condition(left) or self.is_condition(right)):
            self.fail(f"{operator} cannot stand between conditions; eq and ne can.")
        if (
            left.kind is right.kind
            or {left.kind, right.kind} <= {*_NUMBERS}
            or {left.kind, right.kind} <= {*_TEXTS}
        ):
            return
        self.fail(
            f"{left.told} is {left.kind.value} and {right.told} is {right.kind.value};"
            " these cannot be compared."
        )

    def membership(self, node: In, exact: bool) -> Any:
        operand = self.operand(node.operand)
        if isinstance(operand, Known):
            operand = self.constant(operand)
        options = [self.option(option, operand) for option in node.options]
        values = [self.fitted(option, operand).sql for option in options if option.kind is not ValueKind.NULL]
        if not values:
            return sql.IS_NULL(operand.sql)
        found = sql.among(len(values))(operand.sql, *values)
        if len(values) < len(options):
            return sql.joined("OR", 2)(found, sql.IS_NULL(operand.sql))
        return sql.IS_TRUE(found) if exact and operand.nullable else found

    def option(self, node: Literal | Alias | Path, beside: Operand) -> Known:
        is_word = isinstance(node, Path) and len(node.segments) == 1
        found = self.member_or_fail(node, beside) if is_word else self.operand(node)
        if not isinstance(found, Known):
            self.fail(f"a list holds values only, {found.told} is none.")
        return found

    # --- lists ----------------------------------------------------------------------------------------

    def quantified(self, node: Lambda) -> Any:
        rows, scope = self.rows_of(node.path, node.variable or "")
        if node.body is None:
            return Exists(rows)
        self.scopes.append(scope)
        body = self.condition(node.body, exact=False)
        self.scopes.pop()
        if node.quantifier == "any":
            return Exists(rows.filter(body))
        return sql.NOT(Exists(rows.filter(sql.IS_NOT_TRUE(body))))

    def count(self, node: Count) -> Operand:
        rows, scope = self.rows_of(node.path, "$it")
        if node.condition is not None:
            # Inside the parentheses names are those of the counted items.
            inner = _Binder(scope.type, self.aliases, self.target)
            inner.scopes = [scope]
            rows = rows.filter(inner.condition(node.condition, exact=False))
        number = Subquery(
            rows.order_by().annotate(odata_number=sql.COUNT()).values("odata_number"),
            output_field=sql.FIELDS[ValueKind.INTEGER],
        )
        return Operand(ValueKind.INTEGER, number, False, "/".join((*node.path.segments, "$count")))

    def rows_of(self, path: Path, variable: str) -> tuple[QuerySet[Any], Scope]:
        """The rows of a list part of the record at hand, and the scope its items are named in."""
        place = self.place(path)
        part = place.part
        if part is None or not part.many:
            self.fail(f"{'/'.join(path.segments)} is no list.")
        relation, level = part.relation, self.scopes[-1].level + 1
        owner = place.prefix.removesuffix(part.path + "__") + "__".join(step.name for step in part.steps[:-1])
        if owner and not owner.endswith("__"):
            owner += "__"
        if not relation.many_to_many:
            back = relation.field
            link = self.outer(f"{owner}{back.target_field.name}", place.scope, level)
            rows = back.model._base_manager.filter(**{back.attname: link})
            return rows, Scope(variable, part.type, "", level)
        forward = relation.field if relation.auto_created else relation
        ours, theirs = forward.m2m_field_name(), forward.m2m_reverse_field_name()
        if relation.auto_created:
            ours, theirs = theirs, ours
        through = forward.remote_field.through
        key = through._meta.get_field(ours).target_field.name
        rows = through._base_manager.filter(**{ours: self.outer(f"{owner}{key}", place.scope, level)})
        return rows, Scope(variable, part.type, f"{theirs}__", level)

    def outer(self, path: str, scope: Scope, level: int) -> Any:
        """The column of a scope as seen from inside ``level`` subqueries."""
        reference: Any = path
        for _ in range(level - scope.level):
            reference = OuterRef(reference)
        return F(path) if isinstance(reference, str) else reference

    def column(self, path: str, scope: Scope) -> Any:
        return self.outer(path, scope, self.scopes[-1].level)

    # --- names ----------------------------------------------------------------------------------------

    def place(self, path: Path) -> Place:
        """Follow a path whose every segment is a part."""
        place, segments = self.start(path)
        for segment in segments:
            place = self.into(place, segment)
        return place

    def start(self, path: Path) -> tuple[Place, tuple[str, ...]]:
        """The scope a path begins in, and the segments that are left."""
        for scope in reversed(self.scopes):
            if scope.variable == path.segments[0]:
                return Place(scope, scope.type, scope.prefix), path.segments[1:]
        scope = self.scopes[0]
        return Place(scope, scope.type, scope.prefix), path.segments

    def into(self, place: Place, name: str) -> Place:
        if place.part is not None and place.part.many:
            told = place.part.name
            self.fail(f"{told} is a list; {told}/any(item:item/{name} …) looks into it.")
        part = place.type.navigations.get(name)
        if part is None:
            if self.property_of(place.type, name) is not None:
                self.fail(f"{name} has no members.")
            self.unknown(name, place.type)
        if part.item_only:
            self.fail(f"{name} shows on a single {self.root.name} only; it cannot be asked for in a list.")
        prefix = place.prefix if part.nesting is Nesting.EMBEDDED else f"{place.prefix}{part.path}__"
        nullable = place.nullable or (not part.many and any(step.null for step in part.steps))
        return Place(place.scope, part.type, prefix, nullable, part)

    def property_of(self, type_: StructuredType, name: str) -> StructuralProperty | None:
        found = type_.properties.get(name)
        return None if found is None or found.declaration.write_only else found

    def unknown(self, name: str, type_: StructuredType) -> NoReturn:
        close = type_.closest(name)
        shown = close and (close in type_.navigations or self.property_of(type_, close) is not None)
        hint = f" Is {close} meant?" if shown else ""
        self.fail(f"{type_.name} has no member {name[:60]}.{hint}")

    def operand_or_part(self, node: Expression) -> Operand | Known:
        """As ``operand``, but a path may also end on an object, whose ``sql`` is then its absence."""
        if not isinstance(node, Path):
            return self.operand(node)
        place, segments = self.start(node)
        if not segments:
            return self.operand(node)
        for segment in segments[:-1]:
            place = self.into(place, segment)
        part = place.type.navigations.get(segments[-1])
        if part is None or part.many:
            return self.operand(node)
        return self.object(self.into(place, part.name), place, "/".join(node.segments))

    def object(self, inside: Place, around: Place, told: str) -> Operand:
        """An object that can only be compared with null: a reference by its key, columns by all of them."""
        part = inside.part
        if part is not None and part.nesting is not Nesting.EMBEDDED:
            column = self.column(around.prefix + part.path, around.scope)
            return Operand(ValueKind.OBJECT, column, True, told)
        columns = [
            self.column(inside.prefix + found.path, inside.scope) for found in inside.type.properties.values()
        ]
        return Operand(ValueKind.OBJECT, sql.any_given(len(columns))(*columns), True, told)

    def path(self, node: Path) -> Operand:
        place, segments = self.start(node)
        told = "/".join(node.segments)
        if not segments:
            self.fail(f"{told} is a whole record; name one of its members, {told}/….")
        for segment in segments[:-1]:
            place = self.into(place, segment)
        found = self.property_of(place.type, segments[-1])
        if found is None or (place.part is not None and place.part.many):
            inside = self.into(place, segments[-1])
            reason = "a list" if inside.part and inside.part.many else "an object"
            self.fail(f"{told} is {reason}; a value is expected here.")
        kind = _KIND_OF_EDM[found.edm.name]
        enum = found if kind is ValueKind.STRING and found.choices else None
        return Operand(
            kind if enum is None else ValueKind.ENUM,
            self.column(place.prefix + found.path, place.scope),
            place.nullable or found.nullable,
            told,
            enum,
        )

    # --- values ---------------------------------------------------------------------------------------

    def operand(self, node: Expression) -> Operand | Known:
        match node:
            case Literal():
                return Known(node.kind, node.value)
            case Alias():
                value = self.aliases.get(node.name)
                return Known(ValueKind.NULL, None) if value is None else Known(value.kind, value.value)
            case Path():
                return self.path(node)
            case Call():
                return self.call(node)
            case Count():
                return self.count(node)
            case Negate():
                return self.negated(node)
            case Binary() if node.operator in sql.ARITHMETIC:
                return self.arithmetic(node)
        return Operand(ValueKind.BOOLEAN, self.condition(node, exact=True), True, "a condition")

    def is_condition(self, operand: Operand) -> bool:
        return operand.kind is ValueKind.BOOLEAN and isinstance(operand.sql, sql.Sql | Exists)

    def as_sql(self, operand: Operand | Known) -> Any:
        return operand.sql if isinstance(operand, Operand) else self.constant(operand).sql

    def constant(self, known: Known) -> Operand:
        """A known value where nothing beside it says which type it is wanted in."""
        kind, value = known.kind, known.value
        if isinstance(value, EnumLiteral):
            kind, value = ValueKind.STRING, value.name
        if isinstance(value, dt.datetime):
            value = self.instant(value)
        return Operand(kind, Constant(kind, value), value is None, known.told)

    def of_kind(self, node: Expression, kinds: tuple[ValueKind, ...], function: str) -> Operand:
        """An argument that must be of one of ``kinds``; null is of every kind."""
        return self.checked(self.operand(node), kinds, function)

    def checked(self, found: Operand | Known, kinds: tuple[ValueKind, ...], function: str) -> Operand:
        if found.kind is ValueKind.NULL:
            return Operand(kinds[0], Constant(kinds[0], None), True, "null")
        if found.kind not in kinds:
            self.fail(f"{function} takes {kinds[0].value}, {found.told} is {found.kind.value}.")
        return found if isinstance(found, Operand) else self.constant(found)

    def arithmetic(self, node: Binary) -> Operand:
        left = self.of_kind(node.left, _NUMBERS, node.operator)
        right = self.of_kind(node.right, _NUMBERS, node.operator)
        whole = left.kind is right.kind is ValueKind.INTEGER and node.operator != "divby"
        kind = ValueKind.INTEGER if whole else ValueKind.DECIMAL
        # Whatever is divided by zero is null on both engines: one row must not refuse the whole list.
        nullable = left.nullable or right.nullable or node.operator in ("div", "divby", "mod")
        return Operand(
            kind, sql.ARITHMETIC[node.operator][kind](left.sql, right.sql), nullable, f"the {node.operator}"
        )

    def negated(self, node: Negate) -> Operand | Known:
        found = self.operand(node.operand)
        if isinstance(found, Known) and found.kind in _NUMBERS:
            return Known(found.kind, -found.value)
        inner = self.checked(found, _NUMBERS, "-")
        return Operand(inner.kind, sql.NEGATIVE[inner.kind](inner.sql), inner.nullable, f"-{inner.told}")

    # --- functions ------------------------------------------------------------------------------------

    def call(self, node: Call) -> Operand | Known:
        if node.function == "now":
            return Known(ValueKind.DATETIME, clock.now())
        if node.function in sql.PARTS_OF_DATETIME:
            return self.part_of_time(node)
        if node.function in sql.ROUNDING:
            number = self.of_kind(node.arguments[0], _NUMBERS, node.function)
            rounded = sql.ROUNDING[node.function](number.sql)
            return Operand(ValueKind.DECIMAL, rounded, number.nullable, node.function)
        if node.function == "substring":
            return self.substring(node)
        if node.function in _SEARCHES:
            return self.search(node)
        texts = [
            self.of_kind(argument, (ValueKind.STRING, ValueKind.ENUM), node.function)
            for argument in node.arguments
        ]
        template = _TEXT_FUNCTIONS[node.function]
        operands = [text.sql for text in texts]
        if node.function == "trim":
            operands.append(sql.WHITE_SPACE)
        return Operand(
            template.kind, template(*operands), any(text.nullable for text in texts), node.function
        )

    def search(self, node: Call) -> Operand:
        """contains and startswith: with a literal PostgreSQL gets a LIKE, which an index can answer."""
        text, sought = (self.of_kind(argument, _TEXTS, node.function) for argument in node.arguments)
        general, with_pattern, before = _SEARCHES[node.function]
        nullable = text.nullable or sought.nullable
        constant = sought.sql
        if isinstance(constant, Constant) and constant.value is not None:
            pattern = Constant(ValueKind.STRING, sql.like_pattern(constant.value, before))
            return Operand(
                ValueKind.BOOLEAN, with_pattern(text.sql, constant, pattern), nullable, node.function
            )
        return Operand(ValueKind.BOOLEAN, general(text.sql, constant), nullable, node.function)

    def substring(self, node: Call) -> Operand:
        text = self.of_kind(node.arguments[0], _TEXTS, node.function)
        # SQL counts characters from 1, OData from 0.
        places = [self.count_of_characters(node.arguments[1], 1)]
        places += [self.count_of_characters(argument, 0) for argument in node.arguments[2:]]
        template = sql.SUBSTRING if len(places) == 1 else sql.SUBSTRING_OF_LENGTH
        nullable = text.nullable or any(place.nullable for place in places)
        return Operand(
            ValueKind.STRING, template(text.sql, *(p.sql for p in places)), nullable, node.function
        )

    def count_of_characters(self, node: Expression, plus: int) -> Operand:
        found = self.of_kind(node, (ValueKind.INTEGER,), "substring")
        if isinstance(found.sql, Constant) and found.sql.value is not None:
            number = min(max(found.sql.value, 0), sql.LONGEST) + plus
            return self.constant(Known(ValueKind.INTEGER, number))
        safe = sql.AS_LENGTH(found.sql, Constant(ValueKind.INTEGER, plus))
        return Operand(ValueKind.INTEGER, safe, found.nullable, found.told)

    def part_of_time(self, node: Call) -> Operand | Known:
        found = self.operand(node.arguments[0])
        templates = _PARTS_OF.get(found.kind, {})
        if found.kind is ValueKind.NULL:
            return found
        if found.kind is ValueKind.DATE and node.function == "date":
            return found
        if found.kind is ValueKind.TIME and node.function == "time":
            return found
        if node.function not in templates:
            self.fail(f"{node.function} cannot be taken of {found.told}, which is {found.kind.value}.")
        kind = templates[node.function].kind
        if isinstance(found, Known):
            return Known(kind, self.known_part(node.function, found.value))
        zone = [Constant(ValueKind.STRING, str(self.zone))] if found.kind is ValueKind.DATETIME else []
        return Operand(kind, templates[node.function](found.sql, *zone), found.nullable, node.function)

    def known_part(self, function: str, value: Any) -> Any:
        if isinstance(value, dt.datetime):
            value = self.local(self.instant(value))
        part = getattr(value, function)
        return part() if callable(part) else part

    # --- literals beside something --------------------------------------------------------------------

    def fitted(self, known: Known, beside: Operand) -> Operand:
        """A literal in the type of what stands beside it; ``BadQuery`` when it has no such value."""
        if beside.enum is not None:
            return self.given(ValueKind.ENUM, self.member(known, beside.enum))
        kinds = (known.kind, beside.kind)
        value = known.value
        if beside.kind is ValueKind.GUID and known.kind is ValueKind.STRING:
            return self.given(ValueKind.GUID, self.guid(value, beside))
        if kinds == (ValueKind.DATE, ValueKind.DATETIME):
            return self.given(
                ValueKind.DATETIME, self.utc(dt.datetime.combine(value, dt.time.min), self.zone)
            )
        if kinds == (ValueKind.DATETIME, ValueKind.DATE):
            return self.given(ValueKind.DATE, self.local(self.instant(value)).date())
        if known.kind is beside.kind or {*kinds} <= {*_NUMBERS}:
            return self.constant(known)
        self.fail(f"{beside.told} is {beside.kind.value}; {known.told} is {known.kind.value}.")

    def given(self, kind: ValueKind, value: Any) -> Operand:
        return Operand(kind, Constant(kind, value), False, str(value))

    def guid(self, text: str, beside: Operand) -> UUID:
        try:
            return UUID(text)
        except ValueError:
            self.fail(f"{beside.told} is a guid; {text[:60]!r} is none.", code="InvalidGuid")

    def member(self, known: Known, enum: StructuralProperty) -> str:
        """The stored name of an enumeration's member that a literal names, by name or by number."""
        name, value = None, known.value
        if isinstance(value, EnumLiteral):
            type_ = value.type.rpartition(".")[2]
            if enum.enum is not None and type_ != enum.enum.__name__:
                self.fail(f"{enum.name} is of the type {enum.enum.__name__}, not {value.type[:60]}.")
            name = value.name
        elif isinstance(value, str):
            name = value
        if known.kind is ValueKind.INTEGER:
            name = enum.numbers.get(value)
        elif name is not None and name.isdecimal() and len(name) < 20:
            name = enum.numbers.get(int(name), name)
        if name not in enum.choices:
            self.fail(
                f"{known.told} is no value of {enum.name}; it has {', '.join(enum.choices)}.",
                code="NotAChoice",
            )
        return name

    def instant(self, value: dt.datetime) -> dt.datetime:
        """A literal as a moment; without an offset it is what the clocks of the subscriber show."""
        if value.tzinfo is not None:
            return self.utc(value, value.tzinfo)
        moment = self.utc(value, self.zone)
        if moment.year not in (1, 9999) and self.local(moment).replace(tzinfo=None) != value:
            self.fail(f"the clocks in {self.zone} never showed {value.isoformat()}.", code="InvalidDate")
        return moment

    def utc(self, value: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
        """The moment in UTC, kept inside the calendar."""
        try:
            return value.replace(tzinfo=zone).astimezone(dt.UTC)
        except OverflowError:
            return (dt.datetime.min if value.year == 1 else dt.datetime.max).replace(tzinfo=dt.UTC)

    def local(self, moment: dt.datetime) -> dt.datetime:
        try:
            return moment.astimezone(self.zone)
        except OverflowError:
            return (dt.datetime.min if moment.year == 1 else dt.datetime.max).replace(tzinfo=self.zone)

    # --- order ----------------------------------------------------------------------------------------

    def sort_key(self, term: SortTerm) -> SortKey | None:
        """None for a constant: it orders nothing, and PostgreSQL would take a number for a column's place."""
        found = self.operand(term.expression)
        if isinstance(found, Known):
            return None
        return SortKey(repr(term.expression), found.kind, found.sql, term.descending, found.nullable)


def against_null(operator: str, operand: Operand) -> Any:
    """A comparison with the literal null; only eq, ge and le can hold."""
    if operator in ("gt", "lt"):
        return sql.NEVER()
    return (sql.IS_NOT_NULL if operator == "ne" else sql.IS_NULL)(operand.sql)


def compared(operator: str, left: Operand, right: Operand, exact: bool) -> Any:
    """A comparison of two values of comparable kinds."""
    both, either = left.nullable and right.nullable, left.nullable or right.nullable
    if operator == "ne":
        return (sql.DISTINCT if either else sql.NOT_EQUAL)(left.sql, right.sql)
    if operator == "eq":
        return (sql.SAME if both or (exact and either) else sql.EQUAL)(left.sql, right.sql)
    one = sql.BY_CODE_POINT(left.sql) if left.kind in _TEXTS else left.sql
    found = sql.ORDERED[operator](one, right.sql)
    if exact and either:
        found = sql.IS_TRUE(found)
    if both and operator in ("ge", "le"):
        return sql.joined("OR", 2)(found, sql.BOTH_NULL(left.sql, right.sql))
    return found


_SEARCHES = {
    "contains": (sql.CONTAINS, sql.CONTAINS_LITERAL, "%"),
    "startswith": (sql.STARTS_WITH, sql.STARTS_WITH_LITERAL, ""),
}
_TEXT_FUNCTIONS = {
    "endswith": sql.ENDS_WITH,
    "length": sql.LENGTH,
    "indexof": sql.INDEX_OF,
    "tolower": sql.TO_LOWER,
    "toupper": sql.TO_UPPER,
    "trim": sql.TRIM,
    "concat": sql.CONCAT,
}
_PARTS_OF: dict[ValueKind, dict[str, sql.Template]] = {
    ValueKind.DATE: sql.PARTS_OF_DATE,
    ValueKind.TIME: sql.PARTS_OF_TIME,
    ValueKind.DATETIME: sql.PARTS_OF_DATETIME,
}
