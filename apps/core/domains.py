"""The apps of the domain (``settings.DOMAIN_APPS``), and the parts that the site finds in each of them."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

#: Module and name of each part, by what uses it.
ROUTER, DEMO = ("viewsets", "router"), ("demo", "DEMO")
#: Modules that Django and the interface find by themselves.
MODULES = ("models", "validation", "services", "resources", "admin", "imports")


def find_parts(part: tuple[str, str], apps: Iterable[str] | None = None) -> list[Any]:
    """The part of each domain app that has it, in their order; a check names those that lack it."""
    module, name = part
    names = settings.DOMAIN_APPS if apps is None else apps
    loaded = [import_module(f"{app}.{module}") for app in names if find_spec(f"{app}.{module}")]
    return [getattr(each, name) for each in loaded if hasattr(each, name)]


def check_domains(**options: object) -> list[CheckMessage]:
    """Name the files and parts that a domain app lacks."""
    missing = []
    for app in settings.DOMAIN_APPS:
        folder = app.replace(".", "/")
        missing += [f"{folder}/{module}.py" for module in MODULES if not find_spec(f"{app}.{module}")]
        missing += [
            f"{part[1]} in {folder}/{part[0]}.py" for part in (ROUTER, DEMO) if not find_parts(part, [app])
        ]
        missing += [
            f"resource in the router of {folder}/viewsets.py"
            for router in find_parts(ROUTER, [app])
            if not router.registry
        ]
    hint = "docs/architecture.md says under “A new app” what each file has."
    return [
        *(Error(f"There is no {each}.", hint=hint, id="core.E002") for each in missing),
        *(error for app in settings.DOMAIN_APPS for error in find_unimported_pages(app)),
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
