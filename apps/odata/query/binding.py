"""Expressions of $filter and $orderby as ORM expressions that reach declared names only.

Truth has three values (OData 4.01, URL Conventions 5.1.1.1): ``eq`` and ``ne`` are never unknown, the order
comparisons are false when a side is null, and functions of null are null. SQL has the same three values but
is "unknown" where OData is "false". That makes no difference to WHERE, so plain comparisons stay plain SQL
that an index can answer; only below a ``not`` or another operator the comparison is made exact.
"""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

from django.db.models import Exists, Subquery
from django.db.models.expressions import Combinable

from apps.base import clock
from apps.base.declaration.schema import StructuredType
from apps.base.declaration.service import get_service
from apps.odata.query import ast
from apps.odata.query import functions as sql
from apps.odata.query.ast import Expression, ValueKind
from apps.odata.query.durations import TIMES, DurationBinder
from apps.odata.query.functions import Constant
from apps.odata.query.operands import NO_CONTEXT, KnownValue, Operand, RequestContext
from apps.odata.query.sqlite_functions import offset_minutes

_ORDERED_VALUES = {"gt": gt, "ge": ge, "lt": lt, "le": le}
#: The comparison with its sides exchanged.
_MIRRORED = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def bind_filter(
    tree: Expression,
    type_: StructuredType,
    request: RequestContext = NO_CONTEXT,
    target: str = "$filter",
) -> Combinable:
    """A condition for ``.filter()`` of a queryset of the model of ``type_``.

    ``BadQuery`` for undeclared names and for operands of different types, ``Forbidden`` for paths into an
    entity set that the caller may not read; ``target`` names the option in errors.
    """
    return Binder(type_, request, target).condition(tree, exact=False)


class Binder(DurationBinder):
    """Binds the expressions of one option of a request."""

    # --- conditions -----------------------------------------------------------------------------------

    def condition(self, node: Expression, exact: bool) -> Combinable:
        """A boolean in SQL; with ``exact`` it is unknown only where OData says null."""
        self.at = node.at
        match node:
            case ast.Junction():
                conditions = [self.condition(operand, exact) for operand in node.operands]
                return sql.join_conditions(node.operator.upper(), len(conditions))(*conditions)
            case ast.Not():
                return sql.NOT(self.condition(node.operand, exact=True))
            case ast.Binary(operator="has"):
                return self.has_flag(node)
            case ast.Binary() if node.operator in _MIRRORED:
                return self.comparison(node, exact)
            case ast.In():
                return self.membership(node, exact)
            case ast.Lambda():
                return self.quantified(node)
        operand = self.operand(node)
        if operand.kind is ValueKind.NULL:
            return sql.CONDITION(Constant(ValueKind.BOOLEAN, None))
        if operand.kind is not ValueKind.BOOLEAN:
            self.fail(
                f"a condition is expected where {operand.name} stands, which is {operand.kind.value};"
                " a comparison behind not needs parentheses."
            )
        return sql.CONDITION((self.constant(operand) if isinstance(operand, KnownValue) else operand).sql)

    def has_flag(self, node: ast.Binary) -> Combinable:
        """``has`` tests a flag; enumerations here have one member at a time, or null."""
        left, right = self.pair(node.left, node.right)
        if not isinstance(left, Operand) or left.enum is None or not isinstance(right, KnownValue):
            self.fail("has stands between an enumeration and one of its members.")
        if right.kind is ValueKind.NULL:
            return sql.CONDITION(Constant(ValueKind.BOOLEAN, None))
        return sql.EQUAL(left.sql, self.convert(right, left).sql)

    def comparison(self, node: ast.Binary, exact: bool) -> Combinable:
        left, right = self.pair(node.left, node.right)
        operator = node.operator
        if isinstance(left, KnownValue) and (isinstance(right, Operand) or left.kind is ValueKind.NULL):
            left, right, operator = right, left, _MIRRORED[operator]
        if isinstance(left, KnownValue):
            left = self.constant(left)
        if isinstance(right, KnownValue):
            if right.kind is ValueKind.NULL:
                return compare_with_null(operator, left)
            if left.enum is not None and left.enum.member_values and operator in sql.ORDERED:
                return self.enum_comparison(operator, left, right, exact)
            right = self.convert(right, left)
        self.check_comparable(operator, left, right)
        return compare(operator, left, right, exact)

    def enum_comparison(self, operator: str, left: Operand, right: KnownValue, exact: bool) -> Combinable:
        """An order comparison of an enumeration: by the values that its members have in $metadata."""
        assert left.enum is not None
        values = left.enum.member_values
        least = values[self.enum_member(right, left.enum)]
        names = [name for name, value in values.items() if _ORDERED_VALUES[operator](value, least)]
        if not names:
            return sql.NEVER()
        condition = sql.IsOneOf(left.sql, [Constant(ValueKind.ENUM, name) for name in names])
        return sql.IS_TRUE(condition) if exact and left.nullable else condition

    def pair(self, left: Expression, right: Expression) -> tuple[Operand | KnownValue, Operand | KnownValue]:
        """Both sides of a comparison; an undeclared word beside an enumeration is one of its members."""
        if self.is_undeclared_word(right):
            operand = self.operand(left, allow_object=True)
            return operand, self.word(right, operand)
        if self.is_undeclared_word(left):
            operand = self.operand(right, allow_object=True)
            return self.word(left, operand), operand
        return self.operand(left, allow_object=True), self.operand(right, allow_object=True)

    def is_undeclared_word(self, node: Expression) -> bool:
        if not isinstance(node, ast.Path) or len(node.segments) > 1:
            return False
        name = node.segments[0]
        return name not in self.root.members and all(scope.variable != name for scope in self.scopes)

    def word(self, node: Expression, other: Operand | KnownValue) -> Operand | KnownValue:
        """A word as a member of the enumeration ``other``; else as any operand."""
        self.at = node.at
        if isinstance(node, ast.Path) and isinstance(other, Operand) and other.enum is not None:
            return KnownValue(ValueKind.STRING, node.segments[0])
        return self.operand(node)

    def check_comparable(self, operator: str, left: Operand, right: Operand) -> None:
        if left.kind is ValueKind.OBJECT is right.kind:
            self.fail(f"{left.name} is an object; it can be compared with null only.")
        if operator in sql.ORDERED and any(
            operand.kind is ValueKind.BOOLEAN and isinstance(operand.sql, sql.Sql | Exists)
            for operand in (left, right)
        ):
            self.fail(f"{operator} cannot stand between conditions; eq and ne can.")
        kinds = {left.kind, right.kind}
        if len(kinds) > 1 and not (kinds <= {*ast.NUMBERS} or kinds <= {*ast.TEXTS}):
            self.fail(
                f"{left.name} is {left.kind.value} and {right.name} is {right.kind.value};"
                " these cannot be compared."
            )

    def membership(self, node: ast.In, exact: bool) -> Combinable:
        operand = self.operand(node.operand)
        if isinstance(operand, KnownValue):
            operand = self.constant(operand)
        if not node.options:
            return sql.NEVER()
        options = [self.option(option, operand) for option in node.options]
        if operand.kind is ValueKind.NULL:  # of no type: it equals null, and differs from any other value
            has_null = any(option.kind is ValueKind.NULL for option in options)
            return sql.IS_NULL(operand.sql) if has_null else sql.NEVER()
        values = []
        for option_node, option in zip(node.options, options, strict=True):
            self.at = option_node.at
            if option.kind is not ValueKind.NULL:
                values.append(self.convert(option, operand).sql)
        if not values:
            return sql.IS_NULL(operand.sql)
        condition: Combinable = sql.IsOneOf(operand.sql, values)
        if len(values) < len(options):
            return sql.join_conditions("OR", 2)(condition, sql.IS_NULL(operand.sql))
        return sql.IS_TRUE(condition) if exact and operand.nullable else condition

    def option(self, node: ast.Literal | ast.Alias | ast.Path, other: Operand) -> KnownValue:
        """A value of an ``in`` list."""
        is_word = isinstance(node, ast.Path) and len(node.segments) == 1
        value = self.word(node, other) if is_word else self.operand(node)
        if not isinstance(value, KnownValue):
            self.fail(f"a list holds values only, {value.name} is none.")
        return value

    # --- lists ----------------------------------------------------------------------------------------

    def quantified(self, node: ast.Lambda) -> Combinable:
        rows, scope = self.rows_of(node.path, node.variable or "")
        if node.body is None:
            return Exists(rows)
        self.scopes.append(scope)
        body = self.condition(node.body, exact=False)
        self.scopes.pop()
        if node.quantifier == "any":
            return Exists(rows.filter(body))
        return sql.NOT(Exists(rows.filter(sql.IS_NOT_TRUE(body))))

    def count(self, node: ast.Count) -> Operand:
        rows, scope = self.rows_of(node.path, "$this")
        if node.condition is not None:
            # Inside the parentheses names are members of the counted items.
            items = Binder(scope.type, self.request, self.target)
            items.record, items.scopes = scope, [self.scopes[0], scope]
            rows = rows.filter(items.condition(node.condition, exact=False))
        number = Subquery(
            rows.order_by().annotate(odata_number=sql.COUNT()).values("odata_number"),
            output_field=sql.FIELDS[ValueKind.INTEGER],
        )
        return Operand(ValueKind.INTEGER, number, False, "/".join((*node.path.segments, "$count")))

    # --- values ---------------------------------------------------------------------------------------

    def operand(self, node: Expression, allow_object: bool = False) -> Operand | KnownValue:
        """A value; with ``allow_object`` a path may lead to an object, whose ``sql`` is null like it."""
        self.at = node.at
        match node:
            case ast.Literal():
                return KnownValue(node.kind, node.value)
            case ast.Alias():
                literal = self.request.aliases.get(node.name)
                return (
                    KnownValue(ValueKind.NULL, None)
                    if literal is None
                    else KnownValue(literal.kind, literal.value)
                )
            case ast.Path():
                return self.path(node, allow_object)
            case ast.Call():
                return self.call(node)
            case ast.Count():
                return self.count(node)
            case ast.Negate():
                return self.negated(node)
            case ast.Binary() if node.operator in sql.ARITHMETIC:
                return self.arithmetic(node)
        return Operand(ValueKind.BOOLEAN, self.condition(node, exact=True), True, "a condition")

    def computed_value(self, name: str, node: Expression) -> Operand:
        """A value that is shown by a name."""
        value = self.operand(node)
        if value.kind is ValueKind.DURATION:
            self.fail(f"{name} is a duration, which no member is; totalseconds(…) is its number of seconds.")
        return self.constant(value) if isinstance(value, KnownValue) else value

    def argument(self, node: Expression, kinds: tuple[ValueKind, ...], function: str) -> Operand:
        """An argument of one of ``kinds``; null is of every kind."""
        return self.check_kind(self.operand(node), kinds, function)

    def check_kind(
        self, operand: Operand | KnownValue, kinds: tuple[ValueKind, ...], function: str
    ) -> Operand:
        if operand.kind is ValueKind.NULL:
            return Operand(kinds[0], Constant(kinds[0], None), True, "null")
        if operand.kind not in kinds:
            self.fail(f"{function} takes {kinds[0].value}, {operand.name} is {operand.kind.value}.")
        return operand if isinstance(operand, Operand) else self.constant(operand)

    def arithmetic(self, node: ast.Binary) -> Operand | KnownValue:
        first, second = self.operand(node.left), self.operand(node.right)
        if first.kind in TIMES or second.kind in TIMES:
            self.at = node.at
            return self.time_arithmetic(node.operator, first, second)
        self.at = node.left.at
        left = self.check_kind(first, ast.NUMBERS, node.operator)
        self.at = node.right.at
        right = self.check_kind(second, ast.NUMBERS, node.operator)
        is_integer = left.kind is right.kind is ValueKind.INTEGER and node.operator != "divby"
        kind = ValueKind.INTEGER if is_integer else ValueKind.DECIMAL
        # A division by zero is null on both engines: one row must not refuse the whole list.
        nullable = left.nullable or right.nullable or node.operator in ("div", "divby", "mod")
        value = sql.ARITHMETIC[node.operator][kind](left.sql, right.sql)
        return Operand(kind, value, nullable, f"the {node.operator}")

    def negated(self, node: ast.Negate) -> Operand | KnownValue:
        operand = self.operand(node.operand)
        kinds = (*ast.NUMBERS, ValueKind.DURATION)
        if isinstance(operand, KnownValue) and operand.kind in kinds:
            return KnownValue(operand.kind, -operand.value)
        number = self.check_kind(operand, kinds, "-")
        template = sql.NEGATIVE.get(number.kind, sql.NEGATIVE[ValueKind.DECIMAL])
        return Operand(number.kind, template(number.sql), number.nullable, f"-{number.name}")

    # --- functions ------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Operand | KnownValue:
        if node.function in ("now", "mindatetime", "maxdatetime"):
            least, most = clock.ends_of_time(self.zone)
            moments = {"now": clock.now(), "mindatetime": least, "maxdatetime": most}
            return KnownValue(ValueKind.DATETIME, moments[node.function])
        if node.function == "case":
            return self.case(node)
        if node.function == "totalseconds":
            seconds = self.argument(node.arguments[0], (ValueKind.DURATION,), node.function)
            return replace(seconds, kind=ValueKind.DECIMAL, name=node.function)
        if node.function in sql.PARTS_OF_DATETIME:
            return self.date_part(node)
        if node.function in sql.ROUNDING:
            number = self.argument(node.arguments[0], ast.NUMBERS, node.function)
            rounded = sql.ROUNDING[node.function](number.sql)
            return Operand(ValueKind.DECIMAL, rounded, number.nullable, node.function)
        if node.function == "substring":
            return self.substring(node)
        if node.function in _SEARCHES:
            return self.search(node)
        texts = [self.argument(argument, ast.TEXTS, node.function) for argument in node.arguments]
        template = _TEXT_FUNCTIONS[node.function]
        operands = [text.sql for text in texts]
        if node.function == "trim":
            operands.append(sql.WHITE_SPACE)
        nullable = any(text.nullable for text in texts)
        return Operand(template.kind, template(*operands), nullable, node.function)

    def search(self, node: ast.Call) -> Operand:
        """contains and startswith: with a literal PostgreSQL gets a LIKE, which an index can answer."""
        text, term = (self.argument(argument, ast.TEXTS, node.function) for argument in node.arguments)
        template, literal_template, indexed_template, before = _SEARCHES[node.function]
        nullable = text.nullable or term.nullable
        if isinstance(term.sql, Constant) and term.sql.value is not None:
            pattern = Constant(ValueKind.STRING, sql.like_pattern(term.sql.value, before))
            chosen = indexed_template if is_indexed_in_any_case(text, term) else literal_template
            condition = chosen(text.sql, term.sql, pattern)
        else:
            condition = template(text.sql, term.sql)
        return Operand(ValueKind.BOOLEAN, condition, nullable, node.function)

    def case(self, node: ast.Call) -> Operand | KnownValue:
        """The value behind the first condition that is true; null when none is."""
        conditions = [self.condition(each, exact=False) for each in node.arguments[::2]]
        operands = [self.operand(each) for each in node.arguments[1::2]]
        values = [self.constant(each) if isinstance(each, KnownValue) else each for each in operands]
        kinds = {ValueKind.STRING if each.kind in ast.TEXTS else each.kind for each in values}
        kinds.discard(ValueKind.NULL)
        if not kinds:
            return KnownValue(ValueKind.NULL, None)
        self.at = node.at
        if len(kinds) > 1 and not kinds <= {*ast.NUMBERS}:
            types = " and ".join(sorted(each.value for each in kinds))
            self.fail(f"the values of case are of one type, not {types}.")
        kind = ValueKind.DECIMAL if len(kinds) > 1 else kinds.pop()
        null = Constant(kind, None)
        results = [null if each.kind is ValueKind.NULL else each.sql for each in values]
        branches = [part for branch in zip(conditions, results, strict=True) for part in branch]
        return Operand(kind, sql.first_true(len(conditions), kind)(*branches), True, "case")

    def substring(self, node: ast.Call) -> Operand:
        text = self.argument(node.arguments[0], ast.TEXTS, node.function)
        # SQL counts characters from 1, OData from 0.
        numbers = [self.character_count(node.arguments[1], 1)]
        numbers += [self.character_count(argument, 0) for argument in node.arguments[2:]]
        template = sql.SUBSTRING if len(numbers) == 1 else sql.SUBSTRING_OF_LENGTH
        value = template(text.sql, *(number.sql for number in numbers))
        nullable = text.nullable or any(number.nullable for number in numbers)
        return Operand(ValueKind.STRING, value, nullable, node.function)

    def character_count(self, node: Expression, offset: int) -> Operand:
        number = self.argument(node, (ValueKind.INTEGER,), "substring")
        if isinstance(number.sql, Constant) and number.sql.value is not None:
            limited = min(max(number.sql.value, 0), sql.MAX_TEXT_LENGTH) + offset
            return self.constant(KnownValue(ValueKind.INTEGER, limited))
        limited_sql = sql.LIMITED_LENGTH(number.sql, Constant(ValueKind.INTEGER, offset))
        return Operand(ValueKind.INTEGER, limited_sql, number.nullable, number.name)

    def date_part(self, node: ast.Call) -> Operand | KnownValue:
        value = self.operand(node.arguments[0])
        templates = _PARTS_OF.get(value.kind, {})
        if value.kind is ValueKind.NULL:
            return value
        if (value.kind, node.function) in ((ValueKind.DATE, "date"), (ValueKind.TIME, "time")):
            return value
        if node.function not in templates:
            self.fail(f"{node.function} cannot be taken of {value.name}, which is {value.kind.value}.")
        kind = templates[node.function].kind
        if isinstance(value, KnownValue):
            return KnownValue(kind, self.part_of_known_date(node.function, value.value))
        zone = [Constant(ValueKind.STRING, str(self.zone))] if value.kind is ValueKind.DATETIME else []
        return Operand(kind, templates[node.function](value.sql, *zone), value.nullable, node.function)

    def part_of_known_date(self, function: str, value: Any) -> object:
        if isinstance(value, dt.datetime):
            value = self.to_local(self.to_utc(value))
        if function == "fractionalseconds":
            return Decimal(value.microsecond).scaleb(-6)
        if function == "totaloffsetminutes":
            return offset_minutes(value)
        part = getattr(value, function)
        return part() if callable(part) else part


def compare_with_null(operator: str, operand: Operand) -> Combinable:
    """A comparison with the literal null; only eq, ge and le can be true."""
    if operator in ("gt", "lt"):
        return sql.NEVER()
    return (sql.IS_NOT_NULL if operator == "ne" else sql.IS_NULL)(operand.sql)


def compare(operator: str, left: Operand, right: Operand, exact: bool) -> Combinable:
    """A comparison of two values of comparable kinds."""
    both, either = left.nullable and right.nullable, left.nullable or right.nullable
    if operator == "ne":
        return (sql.DISTINCT if either else sql.NOT_EQUAL)(left.sql, right.sql)
    if operator == "eq":
        equal = sql.EQUAL_INDEXED if is_indexed_in_any_case(left, right) else sql.EQUAL
        return (sql.SAME if both or (exact and either) else equal)(left.sql, right.sql)
    ordered = sql.BY_CODE_POINT(left.sql) if left.kind in ast.TEXTS else left.sql
    condition = sql.ORDERED[operator](ordered, right.sql)
    if exact and either:
        condition = sql.IS_TRUE(condition)
    if both and operator in ("ge", "le"):
        return sql.join_conditions("OR", 2)(condition, sql.BOTH_NULL(left.sql, right.sql))
    return condition


def is_indexed_in_any_case(text: Operand, value: Operand) -> bool:
    """True when a column that ``$search`` looks into is compared with a known text.

    A letter has one small letter wherever it stands, but for the sigma: at the end of a word it has another.
    """
    if text.prop is None or text.kind is not ValueKind.STRING or not isinstance(value.sql, Constant):
        return False
    column = text.prop.source_field
    entity_set = get_service().by_model.get(column.model)
    is_searched = entity_set is not None and column.name in entity_set.resource.search
    return is_searched and isinstance(value.sql.value, str) and "Σ" not in value.sql.value


_SEARCHES = {
    "contains": (sql.CONTAINS, sql.CONTAINS_LITERAL, sql.CONTAINS_INDEXED, "%"),
    "startswith": (sql.STARTS_WITH, sql.STARTS_WITH_LITERAL, sql.STARTS_WITH_INDEXED, ""),
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
