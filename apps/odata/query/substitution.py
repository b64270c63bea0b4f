"""Computed values: the name stands for its expression wherever a later expression names it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from apps.odata.errors import BadQuery
from apps.odata.query.ast import (
    Alias,
    Binary,
    Call,
    Expression,
    In,
    Junction,
    Lambda,
    Literal,
    Negate,
    Not,
    Path,
    walk,
)
from apps.odata.query.parser import MAX_LEVELS, MAX_NODES

#: The computed values by their names.
Values = Mapping[str, Expression]

#: Operators, functions and names of all expressions of a request with the computed values in them; the
#: database evaluates each for each row.
MAX_COMPUTED_NODES = 2 * MAX_NODES


class ExpressionBudget:
    """The cost of a request's expressions together once computed values stand in place of their names.

    A short text can mean much: ``A add A as B,B add B as C,…``. ``target`` names the option in errors.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.nodes = 0

    def substitute(self, node: Expression, values: Values) -> Expression:
        """The expression with the computed ``values``; ``BadQuery`` when it is too much with them."""
        tree = substitute(node, values)
        self.spend(tree)
        return tree

    def spend(self, tree: Expression) -> None:
        for node, level in walk(tree):
            self.nodes += not isinstance(node, Literal | Alias) or level == 1
            if level > MAX_LEVELS:
                self.fail(f"operators stand inside each other more than {MAX_LEVELS} deep")
            if self.nodes > MAX_COMPUTED_NODES:
                self.fail(
                    f"the expressions have more than {MAX_COMPUTED_NODES:,} operators, functions and names"
                )

    def fail(self, reason: str) -> NoReturn:
        option = self.target.rpartition("$")[2].capitalize()
        raise BadQuery(
            f"{self.target}: {reason}, with the computed values that they name.",
            target=self.target,
            code=f"Invalid{option}",
        )


def substitute(node: Expression, values: Values) -> Expression:
    """The expression with the computed ``values`` in place of their names."""
    if not values:
        return node
    match node:
        case Path(segments=(name,)) | Path(segments=("$it" | "$this", name)):
            return values.get(name, node)
        case Binary():
            return replace(node, left=substitute(node.left, values), right=substitute(node.right, values))
        case Junction():
            return replace(node, operands=tuple(substitute(operand, values) for operand in node.operands))
        case Call():
            return replace(node, arguments=tuple(substitute(each, values) for each in node.arguments))
        case Not() | Negate() | In():
            return replace(node, operand=substitute(node.operand, values))
        case Lambda(body=body) if body is not None:
            hidden = {name: value for name, value in values.items() if name != node.variable}
            return replace(node, body=substitute(body, hidden))
    return node
