"""Mappings of columns and values, kept under a name for the next file of the same origin."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from apps.core.importing.cells import letters_of
from apps.core.importing.definition import SavedMapping
from apps.core.models import ImportMapping
from apps.core.table_files.tables import ImportFileError

#: Characters of a name.
NAME_LENGTH = 60


def find_mapping(kind: str, name: str) -> SavedMapping:
    """The mapping of that name for files of this kind; ``ImportFileError`` names those that there are."""
    mapping = ImportMapping.objects.filter(kind=kind, name=name).first()
    if mapping is None:
        names = ", ".join(mapping_names(kind)) or "none"
        raise ImportFileError(f"No mapping is kept as {name}; there are: {names}.")
    return SavedMapping(mapping.columns, mapping.values)


def mapping_names(kind: str) -> Sequence[str]:
    return list(ImportMapping.objects.filter(kind=kind).values_list("name", flat=True))


def keep_mapping(
    kind: str, name: str, columns: Mapping[str, str], values: Mapping[str, Mapping[str, str]]
) -> None:
    """Keep ``{header: field}`` and ``{header: {text: other text}}`` in place of what these headers had."""
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise ImportFileError(f"The name of a mapping has 1 to {NAME_LENGTH} letters.")
    meanings: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for header, texts in values.items():
        meanings[letters_of(header)] |= texts
    mapping, _ = ImportMapping.objects.get_or_create(kind=kind, name=name)
    mapping.columns |= {letters_of(header): field for header, field in columns.items()}
    mapping.values |= meanings
    mapping.save()
