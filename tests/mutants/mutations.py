"""The mutants of modules with business rules: small changes of their syntax trees, each with a name."""

import ast
import functools
import hashlib
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The files of each area; one that two areas have belongs to the first.
AREAS = {
    "validation": ("apps/*/validation.py", "apps/*/validation/*.py"),
    "services": ("apps/*/services.py", "apps/*/services/*.py"),
    "statuses": ("apps/funding/statuses.py",),
    "approval": ("apps/funding/approval.py",),
    "permissions": (
        *(f"apps/access/{name}.py" for name in ("authentication", "callers", "idempotency", "throttling")),
        "apps/core/admin_base/pages.py",
        "apps/core/caseload.py",
        "apps/people/limited_roles.py",
    ),
    "history": ("apps/core/history*.py",),
    "binding": tuple(f"apps/odata/query/{name}.py" for name in ("binding", "operands", "ordering", "paths")),
}

#: What stands for an operator: the boundary and the contrary of an order, the contrary of the others.
OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
}
#: Fields of nodes that say no rule: types, and what decorates a class.
WITHOUT_RULES = {"annotation", "returns", "decorator_list", "bases"}
#: Characters of the name of a mutant: of what stays on each side, and of what is changed.
CONTEXT, CHANGE = 30, 60


@dataclass(frozen=True)
class Mutant:
    """One change. ``lines`` are those of its statement up to it, ``words`` the names in what is changed.

    Outside of functions there are no ``lines``: imports execute them, some in the middle of a test.
    ``assigned`` are those that a statement outside of functions and classes gives a value. The name has no
    line numbers, so that it stays when something else in the module changes.
    """

    name: str
    area: str
    path: Path
    lines: range
    words: frozenset[str]
    assigned: frozenset[str]

    def rank(self, seed: int) -> str:
        """The place among all mutants: an edit of a module changes little of a sample of the first ones."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


@dataclass
class Place:
    """Where a node stands in the tree, and what stands around it."""

    holder: ast.AST
    field: str
    index: int | None
    node: ast.AST
    scope: tuple[str, ...] = ()
    statement: ast.stmt | None = None
    context: ast.AST | None = None
    is_in_function: bool = False

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.index] = node


@functools.cache
def area_files() -> dict[Path, str]:
    """The files with their areas."""
    found: dict[Path, str] = {}
    for area, patterns in AREAS.items():
        for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
            found.setdefault(path, area)
    return found


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def all_mutants() -> tuple[Mutant, ...]:
    return tuple(mutant for path in area_files() for mutant, _, _ in mutants_of(path)[1])


def path_of(name: str) -> Path:
    """The module of the mutant with this name."""
    return next(path for path in area_files() if module_name(path) == name.partition(":")[0])


def mutated_tree(name: str) -> ast.Module:
    """The syntax tree of the mutant's module with its change."""
    tree, mutants = mutants_of(path_of(name))
    for mutant, place, node in mutants:
        if mutant.name == name:
            place.put(node)
            return ast.fix_missing_locations(tree)
    raise LookupError(f"There is no mutant {name}")


@functools.cache
def mutants_of(path: Path) -> tuple[ast.Module, list[tuple[Mutant, Place, ast.AST]]]:
    """The tree of a module, and each mutant with what is put where."""
    tree = ast.parse(path.read_text())
    found, names = [], Counter[str]()
    for place, node in changes(tree):
        name = f"{module_name(path)}:{'.'.join(place.scope)}: {describe(place, node)}"
        names[name] += 1
        if names[name] > 1:
            name = f"{name} ({names[name]})"
        statement = place.statement
        assert statement is not None
        end = getattr(place.node, "end_lineno", statement.lineno)
        changed_code = ast.walk(place.node if place.is_in_function else statement)
        named = [each for each in changed_code if isinstance(each, ast.Name)]
        words = frozenset(each.id for each in named).union(place.scope)
        assigned = frozenset(each.id for each in named if is_assigned_to(each) and not place.scope)
        lines = range(statement.lineno, end + 1) if place.is_in_function else range(0)
        found.append((Mutant(name, area_files()[path], path, lines, words, assigned), place, node))
    return tree, found


def changes(tree: ast.Module) -> list[tuple[Place, ast.AST]]:
    """Each place of the tree with what may be put there."""
    return [(place, node) for place in places(tree) for node in replacements(place)]


def describe(place: Place, node: ast.AST) -> str:
    """What is written before and after the change, between some characters of what stays as it is."""
    context = place.context or place.node
    before = written(context)
    place.put(node)
    after = written(node if context is place.node else context)
    place.put(place.node)
    start = common_length(before, after)
    end = common_length(before[start:][::-1], after[start:][::-1])
    old, new = (text[start : len(text) - end][:CHANGE] for text in (before, after))
    around = before[max(0, start - CONTEXT) : start], before[len(before) - end :][:CONTEXT]
    return f"{around[0]}[{old} → {new}]{around[1]}"


def common_length(before: str, after: str) -> int:
    """The length of what both begin with, up to a whole word."""
    equal = (one == other for one, other in zip(before, after, strict=False))
    length = sum(takewhile(bool, equal))
    while length and (before[length - 1].isalnum() or before[length - 1] == "_"):
        length -= 1
    return length


def written(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def places(holder: ast.AST, around: Place | None = None) -> Iterator[Place]:
    """Every node of a tree that may be changed, but for texts, types, assertions and lines of the log."""
    for field, value in ast.iter_fields(holder):
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, node in children:
            if not isinstance(node, ast.AST):
                continue
            place = Place(holder, field, index, node)
            if around is not None:
                place.scope, place.is_in_function = around.scope, around.is_in_function
                place.statement, place.context = around.statement, around.context
            if is_without_rule(place):
                continue
            if isinstance(node, ast.stmt):
                place.statement, place.context = node, None
            elif isinstance(node, ast.expr) and (place.context is None or len(written(node)) > CONTEXT):
                place.context = node
            yield place
            inside = copy(place)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside.scope = (*place.scope, node.name)
            inside.is_in_function |= isinstance(node, ast.FunctionDef | ast.Lambda)
            yield from places(node, inside)


def is_without_rule(place: Place) -> bool:
    match place.node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(ast.Constant()) | ast.keyword(arg="strict"):  # docstrings; zip's own assertion
            return True
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.Expr(ast.Call(ast.Attribute(ast.Name("logger")))):
            return True
    is_type = place.field == "slice" and not place.is_in_function
    return is_type or place.field in WITHOUT_RULES


def replacements(place: Place) -> Iterator[ast.AST]:
    """What is put in the place of a node, one change each."""
    node = place.node
    match node:
        case ast.Compare(ops=operators):
            for index, operator in enumerate(operators):
                for other in OPERATORS[type(operator)]:
                    yield changed(node, ops=[*operators[:index], other(), *operators[index + 1 :]])
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if not is_text(node):
            for other in OPERATORS.get(type(node.op), ()):
                yield changed(node, op=other())
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield changed(node, value=not value)
        case ast.Constant(int() | float() as value):
            yield changed(node, value=value + 1)
            yield changed(node, value=value - 1)
        case ast.Tuple() | ast.List() | ast.Set() if not place.is_in_function and has_rules(node):
            for index in range(len(node.elts)):
                yield changed(node, elts=node.elts[:index] + node.elts[index + 1 :])
        case ast.Dict() if not place.is_in_function:
            for index in (index for index, value in enumerate(node.values) if not is_words(value)):
                keys, values = (each[:index] + each[index + 1 :] for each in (node.keys, node.values))
                yield changed(node, keys=keys, values=values)
        case ast.Return(value) if value and not isinstance(value, ast.Constant):
            yield changed(node, value=ast.Constant(None))
        case ast.Expr(ast.Yield() | ast.YieldFrom()):  # the function stays a generator
            yield changed(ast.If(ast.Constant(False), [node], []), node)
        case ast.Expr(ast.Call()) | ast.Assign() | ast.Raise() if place.is_in_function:
            yield changed(ast.Pass(), node)
        case ast.AnnAssign(value=ast.expr()) if place.is_in_function:
            yield changed(ast.Pass(), node)
    if isinstance(node, ast.AugAssign):
        yield changed(ast.Pass(), node)
    is_condition = place.field in ("test", "ifs")
    if is_condition and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
        yield changed(ast.UnaryOp(ast.Not(), node), node)


def changed(node, like=None, **fields):
    """A copy with other fields, at the same place in the source."""
    node = copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return ast.copy_location(node, like) if like is not None else node


def is_text(node: ast.AST) -> bool:
    """True when texts are joined: the difference of two is an error, whatever the tests are."""
    sides = (getattr(node, "left", None), getattr(node, "right", None))
    return any(isinstance(side, ast.JoinedStr) or is_constant_text(side) for side in sides)


def is_constant_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def has_rules(node: ast.Tuple | ast.List | ast.Set) -> bool:
    """True when elements are more than words for people: rules, rows, names of columns."""
    return not is_assigned_to(node) and not any(map(is_words, node.elts))


def is_assigned_to(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def is_words(node: ast.AST) -> bool:
    """True for a text that is no name of the code."""
    return is_constant_text(node) and not (node.value.isidentifier() and node.value.islower())
