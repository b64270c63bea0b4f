"""Permissions of roles: each that the code asks for exists, and each of ours is asked for."""

import ast
import re

from django.apps import apps

from tests.test_architecture import MODULES, ROOT, app_of, tree

APPS = "|".join(sorted({app_of(module) for module in MODULES if app_of(module)}))
#: ``app.codename``.
PERMISSION = rf"(?:{APPS})\.[a-z]+_[a-z_]+"


def texts():
    """The texts of modules, each with its file, but those with which something is signed."""
    for path in MODULES.values():
        salts = {
            node.value
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SALT"
        }
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in salts:
                yield str(path.relative_to(ROOT)), node.value


def asked():
    """The permissions that modules and templates name, each with the file."""
    for file, text in texts():
        if re.fullmatch(PERMISSION, text):
            yield text, file
    for folder in ("apps", "templates"):
        for path in (ROOT / folder).rglob("*.html"):
            for code in re.findall(rf"perms\.({PERMISSION})", path.read_text()):
                yield code, str(path.relative_to(ROOT))


def our_models():
    return [model for model in apps.get_models() if model.__module__.startswith("apps.")]


def test_every_permission_that_is_asked_for_exists():
    known = {
        f"{model._meta.app_label}.{code}"
        for model in our_models()
        for code in (
            *(f"{name}_{model._meta.model_name}" for name in model._meta.default_permissions),
            *(code for code, _ in model._meta.permissions),
        )
    }
    found = [*asked()]
    assert len(found) > 30
    assert {(code, file) for code, file in found if code not in known} == set()


def test_every_permission_of_ours_is_asked_for():
    """Nobody would miss it, and the page of roles offers it."""
    words = {text for file, text in texts() if "/models" not in file}
    own = {(model._meta.app_label, code) for model in our_models() for code, _ in model._meta.permissions}
    assert len(own) > 5
    assert {code for app, code in own if not {code, f"{app}.{code}"} & words} == set()
