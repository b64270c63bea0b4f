"""Records beside the items of their lists: ``join(LineItems as Item)``, ``aggregate(LineItems/Total …)``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from apps.base.declaration.schema import StructuredType
from apps.odata.query import ast
from apps.odata.query.ast import Expression
from apps.odata.query.binding import Binder
from apps.odata.query.operands import RequestContext
from apps.odata.query.paths import Scope


@dataclass(frozen=True, slots=True)
class JoinedItems:
    """The items of a list, of which each row has one by this ``name``.

    ``record_prefix`` is the ORM path from a row to its record, ``prefix`` that to its item. ``is_shared``: an
    item may be in the lists of several records; ``is_missing``: the rows are records without an item.
    """

    name: str
    type: StructuredType
    record_prefix: str = ""
    prefix: str = ""
    is_shared: bool = False
    is_missing: bool = False


class RecordBinder(Binder):
    """Binds expressions whose names are members of records, and of the items beside them."""

    def __init__(
        self, type_: StructuredType, request: RequestContext, joined: JoinedItems | None = None
    ) -> None:
        super().__init__(type_, request, "$apply")
        if joined is not None:
            self.scopes = [replace(scope, prefix=joined.record_prefix) for scope in self.scopes]
            self.record = self.scopes[-1]
            item = Scope(joined.name, joined.type, joined.prefix, self.record.level, joined.is_missing)
            self.scopes.append(item)

    def fail_inside_list(self, list_name: str, name: str) -> NoReturn:
        if list_name not in self.root.members:
            self.fail(
                f"{list_name} is a list; only lists of {self.root.name} itself are joined or aggregated."
            )
        self.fail(
            f"{list_name} is a list; aggregate({list_name}/{name} with …) takes all its items, and behind"
            f" join({list_name} as Item) each row has one of them, Item/{name}."
        )


def lists_in(expression: Expression, type_: StructuredType) -> set[str]:
    """The lists of a record whose items an expression names, but those in ``any``, ``all`` and ``$count``."""
    nodes = [node for node, _ in ast.walk(expression)]
    inner = [node.path for node in nodes if isinstance(node, ast.Lambda | ast.Count)]
    names = {node.segments[0] for node in nodes if isinstance(node, ast.Path) and node not in inner}
    return {name for name in names if (member := type_.find_navigation(name)) and member.many}
