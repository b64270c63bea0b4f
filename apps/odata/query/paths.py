"""Paths of $filter and $orderby (``Address/Suburb``), resolved to columns through declared names only."""

from dataclasses import dataclass
from typing import Any, NoReturn

from django.db.models import F, Model, OuterRef, QuerySet, Value

from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import NavigationProperty, SetNavigation, StructuredType
from apps.base.errors import Forbidden
from apps.odata.query import functions as sql
from apps.odata.query.ast import Path, ValueKind
from apps.odata.query.operands import KIND_OF_EDM, LiteralBinder, Operand, RequestContext


@dataclass(frozen=True, slots=True)
class Scope:
    """The record that names refer to: the filtered record, or the range variable of an any or all.

    ``prefix`` is the ORM path from the rows of the queryset to the record, ``level`` the number of subqueries
    around it. ``is_missing``: there is no such record, and its values are null.
    """

    variable: str
    type: StructuredType
    prefix: str
    level: int
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class PathPosition:
    """The object that the first segments of a path lead to.

    ``prefix`` is the ORM path to it, ``navigation`` the last navigation property on the path.
    """

    scope: Scope
    type: StructuredType
    prefix: str
    nullable: bool = False
    navigation: NavigationProperty | None = None


class PathBinder(LiteralBinder):
    """Resolves the paths of one option; the last of ``scopes`` is the innermost.

    ``$it`` is the record that the address names, ``$this`` the one that the option is about: inside $expand
    they differ.
    """

    def __init__(self, type_: StructuredType, request: RequestContext, target: str) -> None:
        super().__init__(request, target)
        self.root = type_
        level = len(request.outer_types)
        self.record = Scope("$this", type_, "", level)
        self.scopes = [Scope("$it", (*request.outer_types, type_)[0], "", 0), self.record]

    def path(self, node: Path, allow_object: bool = False) -> Operand:
        """The column of a path; with ``allow_object`` it may lead to an object too."""
        position, segments = self.start(node)
        name = "/".join(node.segments)
        if not segments:
            self.fail(f"{name} is a whole record; name one of its members, {name}/….")
        for segment in segments[:-1]:
            position = self.enter(position, segment)
        prop = position.type.readable_properties.get(segments[-1])
        if prop is None or (position.navigation is not None and position.navigation.many):
            target = self.enter(position, segments[-1])
            many = target.navigation is not None and target.navigation.many
            if allow_object and not many:
                return self.object(target, position, name)
            self.fail(f"{name} is {'a list' if many else 'an object'}; a value is expected here.")
        kind = KIND_OF_EDM[prop.edm.name]
        is_enum = kind is ValueKind.STRING and prop.choices
        if is_enum:
            kind = ValueKind.ENUM
        is_missing, scale = position.scope.is_missing, 0 if kind is ValueKind.INTEGER else prop.edm.scale
        value = self.column(position.prefix + prop.path, position.scope, self.scopes[-1].level)
        if is_missing:  # null of its type, which PostgreSQL's functions ask for
            value = sql.Constant(kind, None)
        nullable = position.nullable or prop.nullable or is_missing
        return Operand(kind, value, nullable, name, prop, scale)

    def object(self, target: PathPosition, owner: PathPosition, name: str) -> Operand:
        """An object, which can only be compared with null: a reference by its key, columns by all of them."""
        level = self.scopes[-1].level
        if target.navigation is not None and target.navigation.nesting is not Nesting.EMBEDDED:
            column = self.column(owner.prefix + target.navigation.path, owner.scope, level)
            return Operand(ValueKind.OBJECT, column, True, name)
        columns = [
            self.column(target.prefix + prop.path, target.scope, level)
            for prop in target.type.properties.values()
        ]
        return Operand(ValueKind.OBJECT, sql.any_not_null(len(columns))(*columns), True, name)

    def start(self, path: Path) -> tuple[PathPosition, tuple[str, ...]]:
        """The record at the start of a path, and the other segments."""
        for scope in reversed(self.scopes):
            if scope.variable == path.segments[0]:
                return PathPosition(scope, scope.type, scope.prefix), path.segments[1:]
        return PathPosition(self.record, self.root, self.record.prefix), path.segments

    def enter(self, position: PathPosition, name: str) -> PathPosition:
        """The object or list behind the next segment; ``Forbidden`` in a set that the caller may not read."""
        if position.navigation is not None and position.navigation.many:
            self.fail_inside_list(position.navigation.name, name)
        navigation = position.type.find_navigation(name)
        if navigation is None:
            if name in position.type.readable_properties:
                self.fail(f"{name} has no members.")
            self.fail_unknown(name, position.type)
        if isinstance(navigation, SetNavigation):
            navigation.entity_set.rows_for(self.request.caller)
            if not navigation.many and self.request.may_hide(navigation, position.type.model):
                message = "may lead to records that you may not see, so none are chosen by its members."
                raise Forbidden(f"{navigation.name} {message}")
        is_embedded = navigation.nesting is Nesting.EMBEDDED
        prefix = position.prefix if is_embedded else f"{position.prefix}{navigation.path}__"
        nullable = position.nullable or (not navigation.many and any(step.null for step in navigation.steps))
        return PathPosition(position.scope, navigation.type, prefix, nullable, navigation)

    def fail_inside_list(self, list_name: str, name: str) -> NoReturn:
        self.fail(f"{list_name} is a list; {list_name}/any(item:item/{name} …) looks into it.")

    def fail_unknown(self, name: str, type_: StructuredType) -> NoReturn:
        self.fail(f"{type_.name} has no member {name[:60]}.{type_.hint(name[:60])}")

    def rows_of(self, path: Path, variable: str) -> tuple[QuerySet[Model], Scope]:
        """The rows of the list at the end of a path, and the scope of its items."""
        position, segments = self.start(path)
        for segment in segments[:-1]:
            position = self.enter(position, segment)
        navigation = self.enter(position, segments[-1]).navigation if segments else None
        if navigation is None or not navigation.many:
            self.fail(f"{'/'.join(path.segments)} is no list.")
        items, level = navigation.item_rows(self.request.caller), self.scopes[-1].level + 1
        owner = self.column(position.prefix + items.record_key, position.scope, level)
        rows = items.rows.filter(**{items.record_path: owner})
        return rows, Scope(variable, navigation.type, items.prefix, level)

    def column(self, path: str, scope: Scope, level: int) -> Any:
        """A column of the record of ``scope``, in a subquery that is ``level`` subqueries deep."""
        if scope.is_missing:
            return Value(None)
        reference: Any = path
        for _ in range(level - scope.level):
            reference = OuterRef(reference)
        return F(path) if isinstance(reference, str) else reference
