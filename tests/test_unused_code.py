"""What was written and is used nowhere: a rule in no list, an action without a button, a setting.

Such a step is easily forgotten, and nothing else notices: whoever adds a rule tests its function.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import global_settings, settings
from django.contrib import admin
from django.template.utils import get_app_template_dirs

from apps.core.admin_base.pages import PageAdmin
from tests.test_architecture import MODULES, ROOT, all_imports, app_of, imports_of, our_module, tree

MIGRATIONS = [*ROOT.glob("apps/*/migrations/*.py")]
#: Decorators by which Django, DRF or a list of ours (`reason`) finds what they stand above.
REGISTERING = re.compile(r"(admin\.)?register\b|receiver\b|reason\(")
#: Modules that Django or the site finds by their names.
FOUND_BY_NAME = re.compile(
    r"\.(apps|admin|models|validation|services|resources|viewsets|demo)$|\.(commands|templatetags)\.|\.database\.\w+\.base$"
)


@functools.cache
def nodes() -> list[ast.AST]:
    return [node for path in (*MODULES.values(), *MIGRATIONS) for node in ast.walk(tree(path))]


@functools.cache
def quoted_words() -> set[str]:
    """The words of texts and templates: Django's classes and our tables name much so."""
    texts = [node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts += [
        path.read_text() for folder in ("apps", "templates") for path in (ROOT / folder).rglob("*.html")
    ]
    return {word for text in texts for word in re.findall(r"\w+", text)}


@functools.cache
def attributes() -> set[str]:
    return {node.attr for node in nodes() if isinstance(node, ast.Attribute)}


@functools.cache
def imported() -> set[str]:
    """The full names that modules and migrations import."""
    of_migrations = (found for path in MIGRATIONS for found in imports_of("migrations", path))
    return {found.imported for found in (*all_imports(), *of_migrations)}


@functools.cache
def read_names(module: str) -> set[str]:
    """The names that a module reads."""
    found = (node for node in ast.walk(tree(MODULES[module])) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, ast.Load)}


def is_used(module: str, name: str) -> bool:
    """True when a name of a module is read in it, imported from it, or stands in a text."""
    return (
        name in read_names(module)
        or f"{module}.{name}" in imported()
        or name in attributes()
        or name in quoted_words()
    )


def definitions() -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes of modules, each with its module."""
    for module, path in MODULES.items():
        found = (node for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
        yield from ((module, node) for node in found if app_of(module))


def constants() -> Iterator[tuple[str, str]]:
    """Names that modules give to values, each with its module: tables, lists of rules, numbers."""
    for module, path in MODULES.items():
        for node in tree(path).body if app_of(module) else ():
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names_given = (each for target in targets if target for each in ast.walk(target))
            yield from ((module, each.id) for each in names_given if isinstance(each, ast.Name))


def methods_of_pages() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Methods of the classes of the back office, each with its full name."""
    for module, owner in definitions():
        if ".admin" in module and isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef):
                    yield f"{module}.{owner.name}.{node.name}", node


def test_every_function_and_class_of_a_module_is_used():
    unused = [
        f"{module}.{node.name}"
        for module, node in definitions()
        if not is_used(module, node.name)
        and not any(REGISTERING.match(ast.unparse(each)) for each in node.decorator_list)
        and not module.endswith((".resources", ".apps"))  # whatever they define is found
        and ".management.commands." not in module
    ]
    assert unused == []


def test_every_constant_of_a_module_is_used():
    """A list of rules that no service is given, a kind of files that is not among them."""
    found = [*constants()]
    assert len(found) > 1000
    found_by_name = {"urlpatterns", "router", "DEMO"}
    unused = [f"{module}.{name}" for module, name in found if not is_used(module, name)]
    assert [each for each in unused if each.rpartition(".")[2] not in found_by_name] == []


def test_every_class_of_drafts_is_declared_or_made():
    """Where ``draft_class`` is forgotten, nothing compares its members with the declaration."""
    declared = {
        node.value.id
        for node in nodes()
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        if any(ast.unparse(target) == "draft_class" for target in node.targets)
    }
    bases = {ast.unparse(base) for node in nodes() if isinstance(node, ast.ClassDef) for base in node.bases}
    made = {
        node.func.id for node in nodes() if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    drafts = [node.name for _, node in definitions() if node.name.endswith("Draft")]
    assert len(drafts) > 10
    assert {*drafts} - declared - bases - made == set()


def test_every_action_and_column_of_a_page_is_named():
    decorated = [
        (name, node.name)
        for name, node in methods_of_pages()
        if any(re.match(r"(action|display)\b", ast.unparse(each)) for each in node.decorator_list)
    ]
    assert len(decorated) > 50
    assert [name for name, method in decorated if method not in quoted_words() | attributes()] == []


def test_every_page_has_an_address():
    admins = [each for each in admin.site._registry.values() if isinstance(each, PageAdmin)]
    pages = [page for each in admins for page in each.pages]
    served = {f"{page.name}_page" for page in pages} | attributes() | {"history_page"}
    methods = [(name, node.name) for name, node in methods_of_pages() if node.name.endswith("_page")]
    assert len(methods) > 20
    assert [name for name, method in methods if method not in served] == []


def test_every_module_is_imported():
    of_modules = set(map(our_module, imported()))
    named = {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    unused = [
        module
        for module, path in MODULES.items()
        if app_of(module)
        and path.name != "__init__.py"
        and module not in of_modules
        and not FOUND_BY_NAME.search(module)
        and not any(text.startswith(module) for text in named if text.startswith("apps."))
    ]
    assert unused == []


#: Templates that Django finds by their names.
OF_DJANGO = {"400.html", "403.html", "404.html", "admin/funding/actions.html"}


def test_every_template_is_named_or_takes_the_place_of_a_library_s():
    ours, of_libraries = set(), set()
    for folder in (*settings.TEMPLATES[0]["DIRS"], *get_app_template_dirs("templates")):
        found = ours if Path(folder).is_relative_to(ROOT) and ".venv" not in str(folder) else of_libraries
        found.update(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.html"))
    files = [*MODULES.values(), *(ROOT / "apps").rglob("*.html"), *(ROOT / "templates").rglob("*.html")]
    named = " ".join(path.read_text() for path in files)
    assert len(ours) > 50
    assert {name for name in ours - of_libraries - OF_DJANGO if f'"{name}"' not in named} == set()


#: Settings that libraries read.
OF_LIBRARIES = re.compile(
    "(ACCOUNT|AXES|MFA|SOCIALACCOUNT|USERSESSIONS|WHITENOISE)_"
    "|(CONTENT_SECURITY_POLICY|SPECTACULAR_SETTINGS|TASKS|UNFOLD)$"
)


def test_every_setting_is_read():
    module = MODULES["records_site.settings"]
    named = [node for node in ast.walk(tree(module)) if isinstance(node, ast.Name) and node.id.isupper()]
    stored = [node.id for node in named if isinstance(node.ctx, ast.Store)]
    loaded = {node.id for node in named if isinstance(node.ctx, ast.Load)}
    others = " ".join(path.read_text() for path in MODULES.values() if path != module)
    unread = {
        name
        for name in {*stored} - loaded
        if not hasattr(global_settings, name) and not OF_LIBRARIES.match(name) and name not in others
    }
    assert len(stored) > 100
    assert unread == set()
