"""Computed values: the name stands for its expression wherever a later expression names it."""

from collections.abc import Mapping
from dataclasses import replace

from apps.odata.query.ast import (
    Binary,
    Call,
    Expression,
    In,
    Junction,
    Lambda,
    Negate,
    Not,
    Path,
)

#: The computed values by their names.
Values = Mapping[str, Expression]


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
