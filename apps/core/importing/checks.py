"""System checks that name what was left out of an import, or misspelt in it."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec

from django.conf import settings
from django.core.checks import CheckMessage, Error

from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import declared_sets
from apps.core.domains import source_file
from apps.core.importing.cells import letters_of
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.file_declaration import definition_of, file_entity_set
from apps.core.importing.headers import possible_columns, spellings_of, suggestion


def check_imports(**options: object) -> list[CheckMessage]:
    """Definitions that no resource names, columns that a resource has not, headers of two columns."""
    defined = [(each, definition_of(each)) for each in declared_sets().values()]
    used = [(entity_set, definition) for entity_set, definition in defined if definition is not None]
    return [
        *find_unused_definitions([definition for _, definition in used]),
        *(error for pair in used for error in find_unknown_columns(*pair)),
    ]


def find_unused_definitions(used: Iterable[type[ImportDefinition]]) -> Iterator[CheckMessage]:
    # A check of the apps names one without the file.
    for app in [app for app in settings.DOMAIN_APPS if find_spec(f"{app}.imports")]:
        module = import_module(f"{app}.imports")
        for name, definition in vars(module).items():
            is_own = isinstance(definition, type) and definition.__module__ == module.__name__
            if not is_own or not issubclass(definition, ImportDefinition):
                continue
            if not any(issubclass(each, definition) for each in used):
                resources = f"{app.replace('.', '/')}/resources.py"
                hint = f"Name it in {resources}: importing = {name}."
                yield Error(f"No resource is imported by {name}.", hint=hint, obj=definition, id="core.E030")


def find_unknown_columns(entity_set: EntitySet, definition: type[ImportDefinition]) -> Iterator[CheckMessage]:
    in_files = file_entity_set(entity_set)
    known, spellings = possible_columns(in_files, definition()), spellings_of(in_files, definition())
    file = source_file(definition)
    for name in names_in(definition):
        if name not in known or known[name].is_read_only:
            hint = f"Its name stands in {file}{suggestion(name, spellings)}."
            message = f"{entity_set.name} has no column {name} that files can give."
            yield Error(message, hint=hint, obj=definition, id="core.E031")
    for column in definition.columns:
        for header in column.headers:
            meant = spellings.get(letters_of(header))
            if meant is not None and meant.name != column.name:
                message = f"The header “{header}” of {column.name} is that of {meant.name}."
                hint = f"Leave it out of one of them in {file}."
                yield Error(message, hint=hint, obj=definition, id="core.E032")


def names_in(definition: type[ImportDefinition]) -> Iterator[str]:
    """The columns that a definition names."""
    yield from (column.name for column in definition.columns)
    yield from (*definition.match_fields, *definition.number_fields, *definition.descriptive_fields)
    yield from (name for names in definition.group_fields for name in names)
    yield from (name for pair in definition.found_references.items() for name in pair)
