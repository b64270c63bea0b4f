"""Rows that are changed past ``core.saving`` have their history written in the same function.

The history is what delta links, webhooks and the page of a record's changes read: without an entry of it
nobody is told.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from apps.base.declaration.resource import V2_1
from apps.base.declaration.schema import SetNavigation
from apps.base.declaration.service import declared_sets, get_service
from tests.test_architecture import MODULES, app_of, tree

WRITES = ("update", "bulk_update", "bulk_create")


def tracked_models():
    """The models of sets whose changes are told, by the names of their classes."""
    return {each.model.__name__: each.model for each in declared_sets().values() if each.resource.is_tracked}


class Write(NamedTuple):
    """A call that changes rows of a model, with the columns that it names; ``None`` for any."""

    model: str
    columns: set[str] | None


def writes_of(function: ast.AST) -> Iterator[Write]:
    """The writes of a function by ``Model.objects…update(…)``, at once or by a name that it gave the rows."""
    names = {
        node.targets[0].id: root_of(node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            root = root_of(node.func.value)
            named = {keyword.arg for keyword in node.keywords}
            is_plain = node.func.attr == "update" and None not in named
            yield Write(names.get(root, root), {*filter(None, named)} if is_plain else None)


def root_of(node: ast.expr) -> str:
    """The name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def unwritten(module: str, tree_: ast.Module) -> Iterator[str]:
    models = tracked_models()
    for function in ast.walk(tree_):
        if not isinstance(function, ast.FunctionDef):
            continue
        if {"history", "save_history"} & {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name)
        }:
            continue
        for write in writes_of(function):
            model = models.get(write.model)
            unrecorded = {"modify_date", *getattr(model, "unrecorded_columns", ())}
            if model and (write.columns is None or write.columns - unrecorded):
                yield f"{module}.{function.name} changes {write.model} and writes no history"


def test_functions_that_change_rows_write_their_history():
    found = [
        each for module, path in MODULES.items() if app_of(module) for each in unwritten(module, tree(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "is_named"),
    [
        ("Claim.objects.filter(pk=1).update(status_reason='x')", True),
        ("rows = Claim.objects.filter(pk=1)\n rows.update(status_reason='x')", True),
        ("Claim.objects.bulk_create(new)", True),
        ("Claim.objects.filter(pk=1).update(**values)", True),
        ("Claim.objects.filter(pk=1).update(paid_out=1)", False),  # which no history has
        ("Claim.objects.update(total=1)\n history.write_entries(Claim, [1], 'Changed', {})", False),
        ("names.update(total=1)", False),
    ],
)
def test_a_change_without_history_is_named(code, is_named):
    assert bool([*unwritten("x", ast.parse(f"def f():\n {code}"))]) is is_named


def shown_members(type_, path):
    """The members of a type and of what is nested in it, each behind its path."""
    for member in type_.readable_properties.values():
        yield f"{path}/{member.name}", member
    for navigation in type_.navigations.values():
        if not isinstance(navigation, SetNavigation):
            yield from shown_members(navigation.type, f"{path}/{navigation.name}")


def test_a_member_without_history_names_the_records_that_tell_of_it():
    """Else delta links and webhooks miss its changes."""
    sets = [each for each in get_service(V2_1).by_path.values() if each.resource.is_tracked]
    shown = [found for each in sets for found in shown_members(each.type, each.name)]
    columns = {path: (member.steps[-1], member.declaration) for path, member in shown}
    unrecorded = {
        path: declaration.sum_of
        for path, (field, declaration) in columns.items()
        if field.name in getattr(field.model, "unrecorded_columns", ())
    }
    assert "Booking/Claimed" in unrecorded
    assert [path for path, sources in unrecorded.items() if not sources] == []
