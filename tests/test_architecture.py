"""The layers of the code as data, compared with the imports in the code."""

import ast
import functools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from django.apps import apps
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent

# What each app may import of ours, besides itself. The order follows the foreign keys.
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "odata": {"base"},
    "core": {"base"},
    "access": {"base", "core"},
    "people": {"base", "core", "access"},
    "documents": {"base", "core", "access", "people"},
    "sales": {"base", "core", "access", "people"},
    "engagements": {"base", "core", "access", "people"},
    "funding": {"base", "core", "access", "people", "documents", "engagements"},
    "payments": {"base", "core", "access", "people", "documents", "engagements", "funding"},
    "integration": {"base", "core", "access", "people", "documents"},
    "operations": {
        *("base", "core", "access", "people", "documents", "sales", "engagements", "funding", "payments"),
    },
}

# What imports the protocol besides the viewsets of each domain and the site, each module with its reason.
SPEAKS_THE_PROTOCOL = {
    "apps.access.idempotency": "refuses a header of the interface",
    "apps.access.throttling": "counts the requests of a batch",
    "apps.access.webhooks": "sends what a delta link would tell",
    "apps.core.change_log": "is the log of changes that delta links read",
    "apps.core.exporting": "exports what the interface's own queries find",
    "apps.core.read_log": "is the log of reads that viewsets tell",
    "apps.documents.openapi": "describes a multipart body",
    "apps.documents.parsers": "is a parser of DRF's",
    "apps.documents.uploads": "stores a document as the interface stores a body",
    "apps.integration.export_jobs": "writes what a GET of a set answers, with its delta link",
    "apps.integration.openapi": "describes a multipart body",
    "apps.funding.approval": "is an action of the interface, with its body and description",
}

# The layers of an app, the lowest first. A module imports from its own layer and from those below it. Modules
# with another name (``statuses``, ``storage``) have no layer: only the ban on circles holds for them.
LAYERS = ("choices", "models", "drafts", "validation", "services", "entry points")
ENTRY_POINTS = {
    *("resources", "viewsets", "views", "urls", "forms", "admin", "imports", "demo", "demo_statements"),
    "management",
}

# The folders of the protocol in the way of a request: what each may import of the others.
PROTOCOL_FOLDERS: dict[str, set[str]] = {
    "query": set(),
    "read": {"query"},
    "apply": {"query", "read"},
    "write": {"query"},
    "metadata": {"query"},
    "delta": {"query", "read"},
    "http": {"query", "read", "apply", "delta", "write", "metadata"},
    "management": {"metadata"},
}

# The files of every domain app, or packages of that name.
DOMAIN_APPS = [app.removeprefix("apps.") for app in settings.DOMAIN_APPS]
DOMAIN_FILES = {
    "apps", "models", "choices", "drafts", "validation", "services", "resources", "viewsets",
    "admin", "imports", "demo", "management",
}  # fmt: skip
# What a domain has besides, each with the reason why none of the files above is its place.
OWN_FILES: dict[str, dict[str, str]] = {
    "people": {
        "authentication": "sign-in: a backend of Django's, and what django-allauth asks",
        "duplicates": "which contacts may be one person, read only",
        "entered_texts": "how forms and imports correct what people write",
        "handover": "the services that hand over the work of a leaver and end their login",
        "limited_roles": "the permissions that a role does not have which sees some participants",
        "merging": "the services that merge two records and undo it",
        "usual_roles": "the roles that an office begins with, for the office and the demo",
    },
    "documents": {
        "storage": "a storage backend of Django's",
        "s3": "a storage backend of Django's",
        "parsers": "a parser of DRF's",
        "uploads": "an upload from its first byte to its last",
        "downloads": "responses with ranges",
        "file_types": "the table of types that may be stored",
        "form_files": "a form field of Django's whose file is stored before the form is saved",
        "openapi": "what a multipart body looks like in the description of the interface",
    },
    "sales": {"pipeline": "sums over opportunities, read only"},
    "engagements": {
        "amounts": "the only statements that add claims to budgets and funding periods",
        "calendars": "the usual periods of a plan, and how an amount divides evenly; pure",
        "coverage": "which budget covers a service, read only",
        "period_forecast": "whether the money of a funding period lasts; pure",
        "short_components": "the components whose money does not last, read only",
        "funding_periods": "what a day can draw on, and how an amount divides by days; pure",
        "plan_copies": "drafts of a plan that begins as another one, and where its days come to lie; pure",
        "spending": "what is spent of a plan, read only",
    },
    "funding": {
        "downloads": "responses with claim files, in the back office and by the interface",
        "approval": "the API's action on a provider invoice: its body and its description",
        "file_formats": "the files of the agency, the bank and the accounts: rows to bytes and back",
        "statuses": "the table of statuses and transitions",
        "public_holidays": "the calendar of the states",
        "invoice_pdf": "an invoice as a document to send",
        "rejection_codes": "the agency's codes of refused lines, in plain words",
        "tagged_pdf": "the structure of documents, for programs that read them aloud",
        "pdf_styles": "fonts, styles and the page of documents to send",
    },
    "payments": {
        "downloads": "responses with bank files, in the back office and by the interface",
        "file_formats": "the files of banks: pure functions from rows to bytes, and back",
        "remittance_pdf": "remittance advice as a document to send",
        "statement_text": "the words of a statement, for its page and its document",
        "statement_pdf": "a statement as a document to send",
        "demo_statements": "the demo data of statements",
    },
}

# Entry points that read texts, with what they refuse: a text that has no value.
READS_TYPED_TEXT = {
    "apps.funding.admin.forms": "a cell of the grid of lines that is no number",
    "apps.engagements.admin.component_grid": "a cell that names no category and no support",
    "apps.documents.imports": "a path that names no file of a new document",
}

VAGUE_NAMES = {"common", "helpers", "manager", "managers", "misc", "utils"}

MODEL_SIGNALS = "django.db.models.signals"

# Imports that must wait until a function runs, each with the reason: {(module, imported): reason}.
LATE_IMPORTS = {
    **{
        ("records_site.server.supervisor", name): "the parent outlives a site that does not load"
        for name in (
            "records_site.server.loading.be_subscriber",
            "records_site.server.loading.load",
            "records_site.server.loading.read_settings_again",
            "records_site.server.loading.run_command",
            "records_site.server.loading.subscribers_of",
            "records_site.server.worker.Server",
            "records_site.wsgi.application",
        )
    },
    ("apps.funding.admin.invoices", "apps.funding.invoice_pdf.invoices_pdf"): "reportlab is slow to load",
    ("apps.payments.admin.runs", "apps.payments.remittance_pdf.advice_pdf"): "so here",
    ("apps.payments.services.remittance", "apps.payments.remittance_pdf.advice_pdf"): "so here",
    ("apps.payments.services.statements", "apps.payments.statement_pdf.statement_pdf"): "so here",
    ("apps.funding.services.invoice_mail", "apps.funding.invoice_pdf.invoices_pdf"): "so here",
    ("apps.core.table_files.workbooks", "openpyxl"): "slow to load, and few files need it",
}
# And the one function in which Django asks for them: models can be imported only when every app is loaded.
READY = "ready"


class Import(NamedTuple):
    """One imported name, where it stands, and how."""

    module: str
    imported: str
    line: int
    function: str | None
    only_for_types: bool

    def __str__(self):
        return f"{self.module.replace('.', '/')}.py:{self.line} imports {self.imported}"


def modules() -> dict[str, Path]:
    """Every module of ours that people write, by its dotted name."""
    found = {}
    for folder in ("apps", "records_site"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports_of(module: str, path: Path) -> Iterator[Import]:
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]

    def walk(node: ast.AST, function: str | None, only_for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            typing = only_for_types or (
                isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
            )
            for name in imported_names(child, package):
                yield Import(module, name, child.lineno, function, only_for_types)
            yield from walk(child, inside, typing)

    yield from walk(tree(path), None, False)


def imported_names(node: ast.AST, package: list[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    start = package[: len(package) - node.level + 1] if node.level else []
    base = ".".join([*start, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


MODULES = modules()


@functools.cache
def all_imports() -> list[Import]:
    """Read when a test asks: whoever runs other tests need not wait for it."""
    return [found for module, path in MODULES.items() for found in imports_of(module, path)]


def our_module(imported: str) -> str | None:
    """The module of ours that an imported name stands in: apps.core.models for `apps.core.models.Record`."""
    while imported and imported not in MODULES:
        imported = imported.rpartition(".")[0]
    return imported or None


def app_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "apps" and len(parts) > 1 else None


def layer_of(module: str) -> int | None:
    """The layer that a module's name puts it on; ``None`` for a name without a layer."""
    names = module.split(".")[2:]
    if not names:
        return None
    if names[0] in ENTRY_POINTS:
        return LAYERS.index("entry points")
    return LAYERS.index(names[0]) if names[0] in LAYERS else None


def protocol_folder(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["apps", "odata"] and len(parts) > 3 else None


def imports_between_apps() -> Iterator[tuple[Import, str]]:
    """Imports between modules of the apps above the protocol, whose folders have a test of their own."""
    for found in all_imports():
        target = our_module(found.imported)
        if target and {app_of(found.module), app_of(target)} & {None, "base", "odata"} == set():
            yield found, target


def test_the_plan_is_read_from_real_modules():
    """So that none of the tests below passes because it saw nothing."""
    assert {"apps.base", "apps.odata", "apps.core", "apps.people", "records_site.wsgi"} <= set(MODULES)
    assert any(our_module(found.imported) for found in all_imports())


def test_every_app_with_records_or_resources_is_installed():
    """A new app that settings.DOMAIN_APPS does not name would be served and checked by nothing."""
    parts = [*ROOT.glob("apps/*/models*"), *ROOT.glob("apps/*/resources.py")]
    own = {path.parent.name for path in parts} - {"integration"}  # the site names it, for its views
    assert own <= {app.name.removeprefix("apps.") for app in apps.get_app_configs()}


def test_every_app_stands_in_the_plan():
    missing = {app for module in MODULES if (app := app_of(module))} - set(MAY_IMPORT)
    assert not missing, f"MAY_IMPORT says nothing of {', '.join(sorted(missing))}."


def test_an_app_imports_only_the_apps_above_it():
    wrong = []
    for found in all_imports():
        app, other = app_of(found.module), app_of(our_module(found.imported) or "")
        if other == "odata" and speaks_the_protocol(found.module):
            continue
        if app in MAY_IMPORT and other and other != app and other not in MAY_IMPORT[app]:
            wrong.append(f"{found}: {app} may import {', '.join(sorted(MAY_IMPORT[app])) or 'no other app'}")
    assert not wrong, "\n".join(wrong)


def speaks_the_protocol(module: str) -> bool:
    return module in SPEAKS_THE_PROTOCOL or module.split(".")[2:3] == ["viewsets"]


def test_whatever_may_import_the_protocol_does():
    importers = {
        found.module for found in all_imports() if app_of(our_module(found.imported) or "") == "odata"
    }
    assert set(SPEAKS_THE_PROTOCOL) <= importers
    assert len(SPEAKS_THE_PROTOCOL) <= 12


def test_the_kernel_is_small():
    lines = sum(
        len(path.read_text().splitlines()) for name, path in MODULES.items() if app_of(name) == "base"
    )
    assert lines <= 3_500


def test_an_app_knows_nothing_of_the_site():
    wrong = [
        found for found in all_imports() if app_of(found.module) and found.imported.startswith("records_site")
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_a_module_imports_only_from_its_own_layer_and_below():
    wrong = []
    for found, target in imports_between_apps():
        layer, other = layer_of(found.module), layer_of(target)
        if (
            app_of(found.module) == app_of(target)
            and layer is not None
            and other is not None
            and other > layer
        ):
            wrong.append(f"{found}: {LAYERS[layer]} are below {LAYERS[other]}")
    assert not wrong, "\n".join(wrong)


def test_only_entry_points_import_entry_points():
    entry_points = LAYERS.index("entry points")
    wrong = [
        str(found)
        for found, target in imports_between_apps()
        if layer_of(target) == entry_points and layer_of(found.module) != entry_points
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("app", DOMAIN_APPS)
def test_every_domain_app_has_the_same_files(app):
    names = {
        path.stem
        for path in (ROOT / "apps" / app).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert names - {"__init__", "__pycache__", "migrations"} - DOMAIN_FILES == set(OWN_FILES.get(app, ()))
    assert {"models", "validation", "resources", "admin", "imports", "demo"} <= names


def test_the_protocol_imports_in_the_way_of_a_request():
    wrong = []
    for found in all_imports():
        folder, other = protocol_folder(found.module), protocol_folder(our_module(found.imported) or "")
        if folder and other and other != folder and other not in PROTOCOL_FOLDERS[folder]:
            allowed = ", ".join(sorted(PROTOCOL_FOLDERS[folder])) or "no other folder"
            wrong.append(f"{found}: {folder} may import {allowed}")
    assert not wrong, "\n".join(wrong)


def test_no_two_modules_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in all_imports():
        target = our_module(found.imported)
        if target and target != found.module and not found.only_for_types and found.function is None:
            graph[found.module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("a circle of imports: " + " <- ".join(error.args[1]))


def test_imports_stand_at_the_top_of_their_module():
    wrong = [
        f"{found} inside {found.function}()"
        for found in all_imports()
        if found.function and found.function != READY and (found.module, found.imported) not in LATE_IMPORTS
    ]
    assert not wrong, "\n".join(wrong)


def test_every_late_import_that_is_excused_is_still_there():
    inside = {(found.module, found.imported) for found in all_imports() if found.function}
    assert set(LATE_IMPORTS) <= inside


def test_nothing_is_imported_by_star():
    wrong = [str(found) for found in all_imports() if found.imported.endswith(".*")]
    assert not wrong, "\n".join(wrong)


def test_no_module_has_a_name_that_says_nothing():
    wrong = [module for module in MODULES if app_of(module) and VAGUE_NAMES & set(module.split("."))]
    assert not wrong, "\n".join(wrong)


def test_every_module_opens_by_saying_what_it_is_for():
    wrong = [
        str(path.relative_to(ROOT))
        for path in MODULES.values()
        if path.stat().st_size and not ast.get_docstring(tree(path))
    ]
    assert not wrong, "\n".join(wrong)


# Modules that sum by Django itself, each with the reason why it is not money, which SQLite adds in binary.
SUMS_BY_DJANGO = {
    "apps.core.computed": "MoneySum, which rounds, is made of it",
    "apps.access.throttling": "numbers of requests",
    "apps.odata.read.reader": "numbers of records, which PostgreSQL stores",
    "apps.people.authentication.attempts": "numbers of failures",
}


def test_sums_of_money_are_rounded():
    sums = {"Sum", "Avg"}
    used = set()
    for module, path in MODULES.items():
        nodes = list(ast.walk(tree(path)))
        names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        names |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
        if sums & names:
            used.add(module)
    assert used == SUMS_BY_DJANGO.keys()


def test_one_function_rounds_what_the_database_adds():
    """The protocol rounds quotients, which have other digits; migrations stay as they were run."""
    rounding = {
        module
        for module, path in MODULES.items()
        if app_of(module) not in (None, "odata")
        and ".migrations." not in module
        and any(
            isinstance(node, ast.Constant) and "round(" in str(node.value).casefold()
            for node in ast.walk(tree(path))
        )
    }
    assert rounding == {"apps.core.computed"}


def test_our_apps_do_not_talk_through_model_signals():
    """A service calls what must happen; nobody has to search for who listens."""
    wrong = [str(found) for found in all_imports() if found.imported.startswith(MODEL_SIGNALS)]
    wrong += [str(found) for found in all_imports() if found.imported == "django.dispatch.Signal"]
    assert not wrong, "\n".join(wrong)


def test_no_entry_point_refuses_by_rules_of_its_own():
    """Rules stand in validation, and services raise what they find."""
    wrong = [
        f"{module}:{node.lineno}"
        for module, path in MODULES.items()
        if layer_of(module) == LAYERS.index("entry points") and module not in READS_TYPED_TEXT
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Raise) and "Validation" in ast.unparse(node.exc or node)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        ("apps.funding.choices", "choices"),
        ("apps.funding.models.claims", "models"),
        ("apps.funding.validation.claims", "validation"),
        ("apps.funding.services.create", "services"),
        ("apps.funding.resources", "entry points"),
        ("apps.funding.management.commands.import_prices", "entry points"),
    ],
)
def test_a_name_tells_the_layer(module, layer):
    assert LAYERS[layer_of(module)] == layer


def test_an_import_is_seen_wherever_it_stands(tmp_path):
    path = tmp_path / "claiming.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "from . import models\n"
        "from ..people import choices\n"
        "if TYPE_CHECKING:\n    from apps.sales import models\n"
        "def file():\n    import apps.documents.filing\n"
    )
    seen = {
        found.imported: (found.function, found.only_for_types)
        for found in imports_of("apps.funding.claiming", path)
    }
    assert seen == {
        "typing.TYPE_CHECKING": (None, False),
        "apps.funding.models": (None, False),
        "apps.people.choices": (None, False),
        "apps.sales.models": (None, True),
        "apps.documents.filing": ("file", False),
    }
