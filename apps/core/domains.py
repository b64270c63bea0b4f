"""The apps of the domain (``settings.DOMAIN_APPS``), and the parts that the site finds in each of them."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from inspect import getfile
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from apps.base.declaration.resource import Resource
from apps.base.declaration.service import get_service

#: Module and name of each part, by what uses it.
ROUTER, DEMO = ("viewsets", "router"), ("demo", "DEMO")
#: Modules that Django and the interface find by themselves.
MODULES = ("models", "validation", "resources", "admin", "imports")


def source_file(class_: type) -> str:
    """The file that defines the class, below the folder of the project: hints of checks name it."""
    return str(Path(getfile(class_)).relative_to(settings.BASE_DIR))


def find_parts(part: tuple[str, str], apps: Iterable[str] | None = None) -> list[Any]:
    """The part of each domain app that has it, in their order; a check names those that lack it."""
    module, name = part
    names = settings.DOMAIN_APPS if apps is None else apps
    loaded = [import_module(f"{app}.{module}") for app in names if find_spec(f"{app}.{module}")]
    return [getattr(each, name) for each in loaded if hasattr(each, name)]


def check_domains(**options: object) -> list[CheckMessage]:
    """Name the files and parts that a domain app lacks."""
    return [error for app in settings.DOMAIN_APPS for error in find_faults(app)]


def find_faults(app: str) -> Iterator[CheckMessage]:
    """The files and parts that the app lacks, and what it has that leads nowhere."""
    folder = app.replace(".", "/")
    missing = [f"{folder}/{module}.py" for module in MODULES if not find_spec(f"{app}.{module}")]
    if not find_parts(DEMO, [app]):
        missing.append(f"{DEMO[1]} in {folder}/{DEMO[0]}.py")
    resources = find_resources(app)
    if find_spec(f"{app}.resources") and not resources:
        missing.append(f"resource in {folder}/resources.py")
    hint = "docs/architecture.md says under “A new app” what each file has."
    yield from (Error(f"There is no {each}.", hint=hint, id="core.E002") for each in missing)
    served = get_service().declared
    for resource in resources:
        if resource not in served:
            hint = f"Register it with the router of {folder}/viewsets.py, which takes the module's place."
            yield Error(f"{resource.__name__} has no address.", hint=hint, obj=resource, id="core.E002")
    yield from find_unimported_pages(app)


def find_resources(app: str) -> list[type[Resource]]:
    """The resources that the app's own module declares."""
    name = f"{app}.resources"
    module = vars(import_module(name)) if find_spec(name) else {}
    return [
        each
        for each in module.values()
        if isinstance(each, type) and issubclass(each, Resource) and each.__module__ == name
    ]


def find_unimported_pages(app: str) -> Iterator[CheckMessage]:
    """The modules of an app's ``admin`` that nothing imports: what they register is nowhere."""
    package = f"{app}.admin"
    if find_spec(package) is None:
        return
    for module in iter_modules(getattr(import_module(package), "__path__", ())):
        if f"{package}.{module.name}" not in sys.modules:
            file = f"{package.replace('.', '/')}/{module.name}.py"
            hint = f"Name it in {package.replace('.', '/')}/__init__.py."
            yield Error(f"Nothing imports {file}.", hint=hint, id="core.E005")
