"""Transformations of $apply and $compute (OData 4.0, Data Aggregation 3), parsed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, product
from math import prod
from typing import NoReturn, TypeAlias, TypeVar

from apps.odata.errors import BadQuery
from apps.odata.query import ast
from apps.odata.query.lexer import IN_ADDRESS, QueryLimits
from apps.odata.query.parser import MAX_LEVELS, MAX_NODES, Parser
from apps.odata.query.substitution import substitute

#: Transformations of one $apply, nested ones included, and the items of one groupby, aggregate or compute.
MAX_TRANSFORMATIONS = 16
MAX_ITEMS = 32

#: The transformations that are offered.
TRANSFORMATIONS = (
    *("aggregate", "bottomcount", "bottompercent", "bottomsum", "compute", "concat", "filter", "groupby"),
    *("identity", "join", "orderby", "outerjoin", "search", "skip", "top", "topcount", "toppercent"),
    "topsum",
)
METHODS = ("sum", "min", "max", "average", "countdistinct")


@dataclass(frozen=True, slots=True)
class Filter:
    condition: ast.Expression


@dataclass(frozen=True, slots=True)
class Search:
    text: str


@dataclass(frozen=True, slots=True)
class ComputedValue:
    """``Quantity mul Price as Amount``; ``at`` is the position of the name."""

    expression: ast.Expression
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Compute:
    values: tuple[ComputedValue, ...]


@dataclass(frozen=True, slots=True)
class AggregatedValue:
    """``Total with sum as Amount``, ``LineItems/$count as Number``, or ``$count as Number`` without one."""

    expression: ast.Expression | None
    method: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class GroupBy:
    """The groups of equal ``paths``, each with its aggregated values; without paths one row of all.

    ``prepared`` are the filters, searches and computed values before the aggregation of each group.
    """

    paths: tuple[ast.Path, ...]
    values: tuple[AggregatedValue, ...] = ()
    prepared: tuple[Filter | Search | Compute, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """``join(LineItems as Item,filter(Total gt 5))``: each record beside each item that the filters leave.

    ``is_outer``: a record without one stands beside null.
    """

    list: ast.Path
    name: str
    at: int
    filters: tuple[Filter, ...] = ()
    is_outer: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy:
    """Rows in the order of ``terms``, from ``skip`` on, at most ``top`` of them."""

    terms: tuple[ast.SortTerm, ...] = ()
    skip: int = 0
    top: int | None = None


SKIP_NOTHING = OrderBy()


@dataclass(frozen=True, slots=True)
class SumLimit:
    """The first rows in the order of ``term`` whose sum reaches ``limit``, or that percentage of all."""

    term: ast.SortTerm
    limit: Decimal
    is_percentage: bool


@dataclass(frozen=True, slots=True)
class Concat:
    """The rows of several pipelines of transformations, one after the other."""

    pipelines: tuple[Pipeline, ...]


Transformation: TypeAlias = Filter | Search | Compute | GroupBy | Join | OrderBy | SumLimit | Concat
Pipeline: TypeAlias = tuple[Transformation, ...]

Item = TypeVar("Item")


def parse_apply(text: str, target: str = "$apply", limits: QueryLimits = IN_ADDRESS) -> Pipeline:
    """The transformations of an $apply; ``BadQuery`` names the position and what may stand there."""
    parser = TransformationParser(text, target, limits)
    transformations = parser.pipeline()
    parser.finish(*parser.expressions)
    return transformations


def parse_compute(text: str, target: str = "$compute") -> tuple[ComputedValue, ...]:
    parser = TransformationParser(text, target)
    values = parser.items(parser.computed_value)
    parser.finish(*parser.expressions)
    return values


def expressions_of(
    computed: Iterable[ComputedValue],
    before: Mapping[str, ast.Expression] | None = None,
    target: str = "$compute",
) -> dict[str, ast.Expression]:
    """The expressions of computed values, each with those that it names in place of their names.

    ``BadQuery`` for one that grows beyond the limits of an expression.
    """
    values = dict(before or {})
    for value in computed:
        tree = substitute(value.expression, values)
        for nodes, (_, level) in enumerate(ast.walk(tree)):
            if nodes > MAX_NODES or level > MAX_LEVELS:
                raise BadQuery(
                    f"{target}: {value.name}, at position {value.at + 1}, is computed of more than"
                    f" {MAX_NODES} values.",
                    target=target,
                    code="Invalid" + target.rpartition("$")[2].capitalize(),
                )
        values[value.name] = tree
    return values


class TransformationParser(Parser):
    """Transformations stand between slashes; what they compute are expressions as in $filter."""

    def __init__(self, text: str, target: str, limits: QueryLimits = IN_ADDRESS) -> None:
        self.number = 0
        self.expressions: list[ast.Expression] = []
        super().__init__(text, target, limits)

    def pipeline(self) -> Pipeline:
        transformations = [*self.transformation()]
        while self.accept("/"):
            transformations += self.transformation()
        return tuple(transformations)

    def transformation(self) -> Pipeline:
        """One transformation; none for ``identity`` and ``skip(0)``."""
        self.count_transformations(1)
        token = self.advance()
        name = token.text.lower() if token.kind == "name" else ""
        if name == "identity":
            return ()
        read = self.readers().get(name)
        if read is None:
            self.fail_unknown_transformation(token.text, token.at)
        if name == "search":
            return (self.search(),)
        self.expect("(")
        transformation = read()
        self.expect(")")
        return () if transformation == SKIP_NOTHING else (transformation,)

    def count_transformations(self, number: int) -> None:
        self.number += number
        if self.number > MAX_TRANSFORMATIONS:
            self.fail(f"it has more than {MAX_TRANSFORMATIONS} transformations")

    def readers(self) -> dict[str, Callable[[], Transformation]]:
        """The functions that read what stands in the parentheses."""
        return {
            "aggregate": lambda: GroupBy((), self.items(self.aggregated_value)),
            "bottomcount": lambda: self.counted(descending=False),
            "bottompercent": lambda: self.sum_limit(descending=False, is_percentage=True),
            "bottomsum": lambda: self.sum_limit(descending=False),
            "compute": lambda: Compute(self.items(self.computed_value)),
            "concat": self.concat,
            "filter": lambda: Filter(self.any_expression()),
            "groupby": self.groupby,
            "join": self.join,
            "orderby": lambda: OrderBy(self.items(self.any_sort_term)),
            "outerjoin": lambda: self.join(is_outer=True),
            "search": self.search,
            "skip": lambda: OrderBy(skip=self.whole_number()),
            "top": lambda: OrderBy(top=self.whole_number()),
            "topcount": lambda: self.counted(descending=True),
            "toppercent": lambda: self.sum_limit(descending=True, is_percentage=True),
            "topsum": lambda: self.sum_limit(descending=True),
        }

    def fail_unknown_transformation(self, name: str, at: int) -> NoReturn:
        close = difflib.get_close_matches(name.lower(), TRANSFORMATIONS, n=1)
        hint = f" (is {close[0]} meant?)" if close else ""
        offered = ", ".join(TRANSFORMATIONS)
        self.fail(f"there is no transformation {name[:40]!r}{hint}; {offered} are offered", at)

    # --- transformations ------------------------------------------------------------------------------

    def search(self) -> Search:
        """The text up to the closing parenthesis: words of a search are no tokens of an expression."""
        if self.token.text != "(":
            self.expect("(")
        depth, is_quoted, start = 1, False, self.position
        for at in range(start, len(self.text)):
            mark = self.text[at]
            if mark == '"':
                is_quoted = not is_quoted
            elif not is_quoted:
                depth += (mark == "(") - (mark == ")")
            if not depth:
                self.position = at + 1
                self.advance()
                return Search(self.text[start:at])
        self.fail("a '(' is not closed")

    def groupby(self) -> GroupBy | Concat:
        """The groups; of rollup those of each level, the finest first."""
        self.expect("(")
        start = self.token.at
        items = self.items(self.grouping_levels)
        self.count_transformations(prod(map(len, items)) - 1)
        levels = [tuple(chain(*paths)) for paths in product(*items)]
        self.expect(")")
        values: tuple[AggregatedValue, ...] = ()
        prepared: list[Filter | Search | Compute] = []
        if self.accept(","):
            at = self.token.at
            *transformations, last = self.pipeline() or (None,)
            if not isinstance(last, GroupBy) or last.paths:
                self.fail("inside groupby the last transformation is aggregate(...)", at)
            values = last.values
            for transformation in transformations:
                if not isinstance(transformation, Filter | Search | Compute):
                    self.fail("inside groupby only filter, search and compute stand before aggregate", at)
                prepared.append(transformation)
        if () in levels and not values:
            self.fail("the $all of rollup needs aggregate(...)", start)
        groups = [GroupBy(paths, values, tuple(prepared)) for paths in levels]
        return groups[0] if len(groups) == 1 else Concat(tuple((group,) for group in groups))

    def grouping_levels(self) -> list[tuple[ast.Path, ...]]:
        """A member, or the levels of ``rollup(State,Suburb)``: both, then the first, with $all none."""
        at = self.token.at
        if not self.accept_word("rollup"):
            return [(self.grouping_path(),)]
        self.expect("(")
        has_total = self.token.text.lower() == "$all"
        if has_total:
            self.advance()
            self.expect(",")
        paths = self.items(self.grouping_path)
        self.expect(")")
        if len(paths) + has_total < 2:
            self.fail("rollup takes two or more members, or $all and one", at)
        return [paths[:length] for length in range(len(paths), -1 if has_total else 0, -1)]

    def grouping_path(self) -> ast.Path:
        return self.member_path(
            "groupby takes names of members; compute(year(StartDate) as Year)/ before it names a value"
        )

    def member_path(self, reason: str) -> ast.Path:
        """A name or a path; ``reason`` is the error of anything else."""
        at = self.token.at
        path = self.primary()
        if not isinstance(path, ast.Path):
            self.fail(reason, at)
        self.expressions.append(path)
        return path

    def join(self, is_outer: bool = False) -> Join:
        path = self.member_path("join takes the name of a list")
        name, at = self.alias()
        filters: list[Filter] = []
        if self.accept(","):
            start = self.token.at
            for transformation in self.pipeline():
                if not isinstance(transformation, Filter):
                    self.fail("inside join only filter stands", start)
                filters.append(transformation)
        return Join(path, name, at, tuple(filters), is_outer)

    def aggregated_value(self) -> AggregatedValue:
        if self.token.kind == "dollar" and self.token.text.lower() == "$count":
            self.advance()
            return AggregatedValue(None, "count", *self.alias())
        expression = self.any_expression()
        is_word = self.token.kind == "name" and self.token.text.lower() == "as"
        if is_word and isinstance(expression, ast.Count) and expression.condition is None:
            return AggregatedValue(expression.path, "count", *self.alias())
        if not self.accept_word("with"):
            self.fail(f"with and one of {', '.join(METHODS)} is expected before {self.token_name()}")
        token = self.advance()
        if token.text.lower() not in METHODS:
            self.fail(f"there is no method {token.text[:40]!r}; {', '.join(METHODS)} are offered", token.at)
        return AggregatedValue(expression, token.text.lower(), *self.alias())

    def computed_value(self) -> ComputedValue:
        return ComputedValue(self.any_expression(), *self.alias())

    def counted(self, descending: bool) -> OrderBy:
        number = self.whole_number()
        self.expect(",")
        return OrderBy((ast.SortTerm(self.any_expression(), descending),), top=number)

    def sum_limit(self, descending: bool, is_percentage: bool = False) -> SumLimit:
        at, number = self.token.at, self.primary()
        limit = number.value if isinstance(number, ast.Literal) and number.kind in ast.NUMBERS else None
        if not isinstance(limit, int | Decimal) or limit <= 0 or (is_percentage and limit > 100):
            self.fail(f"a number above 0{' and up to 100' if is_percentage else ''} is expected", at)
        self.expect(",")
        return SumLimit(ast.SortTerm(self.any_expression(), descending), Decimal(limit), is_percentage)

    def concat(self) -> Concat:
        pipelines = self.items(self.pipeline)
        if len(pipelines) < 2:
            self.fail("concat takes two or more pipelines of transformations")
        return Concat(pipelines)

    # --- parts ----------------------------------------------------------------------------------------

    def items(self, read: Callable[[], Item]) -> tuple[Item, ...]:
        items = [read()]
        while self.accept(","):
            items.append(read())
            if len(items) > MAX_ITEMS:
                self.fail(f"at most {MAX_ITEMS} items stand here")
        return tuple(items)

    def any_expression(self) -> ast.Expression:
        expression = self.expression()
        self.expressions.append(expression)
        return expression

    def any_sort_term(self) -> ast.SortTerm:
        term = self.sort_term()
        self.expressions.append(term.expression)
        return term

    def whole_number(self) -> int:
        token = self.advance()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 9:
            self.fail("a whole number of rows is expected", token.at)
        return int(token.text)

    def alias(self) -> tuple[str, int]:
        """``as Name``: the name and its position."""
        if not self.accept_word("as"):
            self.fail(f"as and a name are expected before {self.token_name()}")
        token = self.advance()
        if token.kind != "name" or "." in token.text:
            self.fail("a name is expected after 'as'", token.at)
        return token.text, token.at

    def accept_word(self, word: str) -> bool:
        if self.token.kind != "name" or self.token.text.lower() != word:
            return False
        self.advance()
        return True
