"""The texts by which files name records, and the records that have them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import models
from django.db.models import Case, F, Value, When

from apps.base.batched_queries import AnyOf
from apps.core.models import NormalisedField, normalised

#: The records of a text: (key, value of the scope) each.
Named = Sequence[tuple[Any, Any]]

_NO_DIGITS = re.compile(r"(?<=[0-9]{7})\.0+$|[^0-9]+")
_BUSINESS_NUMBER = re.compile(r"(\d\d)(\d{3})(\d{3})(\d{3})")


def digits(text: str) -> str | None:
    """A number without the blanks and hyphens people write into it, and the ``.0`` of spreadsheets."""
    return _NO_DIGITS.sub("", text) or None


def number_spellings(text: str) -> Sequence[str]:
    """How a record may have a number: as the file has it, its digits, or grouped as a business number."""
    plain = digits(text) or text
    return text, plain, _BUSINESS_NUMBER.sub(r"\1 \2 \3 \4", plain)


def as_written(text: str) -> Sequence[str]:
    return (text,)


@lru_cache(maxsize=1024)
def normalised_column(field: models.Field) -> NormalisedField | None:
    """The column with the normalised text of a field; ``None`` when there is none."""
    for other in field.model._meta.concrete_fields:
        if isinstance(other, NormalisedField) and other.text_field == field.name:
            return other
    return None


def compared_field(model: type[models.Model], name: str) -> Any:
    """The column in which values are compared: a text's normalised column where it has one."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return normalised_column(field) or field


@dataclass(frozen=True)
class RecordName:
    """A text by which files name a record of a model: ``column`` is where it is looked up.

    ``compare`` makes one text of all its spellings, ``spellings`` are those that the column may have. Among
    several records with a name that are alike in all but the column ``scope``, the row's value of it decides.
    """

    name: str
    source: str
    column: models.Field
    compare: Callable[[str], str | None] = normalised
    spellings: Callable[[str], Sequence[str | None]] = lambda text: (normalised(text),)
    scope: str | None = None
    #: Whether it names a record only together with others.
    is_descriptive: bool = False


#: The key of a record, or of the one that it was merged into (``is_merged``).
SURVIVING_KEY = Case(
    When(archive_date__isnull=False, merged_into__isnull=False, then=F("merged_into")), default=F("pk")
)


def records_by_text(model: type[models.Model], name: RecordName, texts: Iterable[str]) -> Mapping[Any, Named]:
    """The records that have these texts, by the text as compared; archived ones only without others.

    A text of a record that was merged into another names that other one.
    """
    wanted = {spelling for text in texts for spelling in name.spellings(text)}
    columns = {field.name for field in model._meta.concrete_fields}
    archive_date = F("archive_date") if "archive_date" in columns else Value(None, models.DateTimeField())
    key = SURVIVING_KEY if "merged_into" in columns else F("pk")
    rows = model._base_manager.filter(AnyOf(name.column.name, wanted)).values_list(
        name.column.name, key, archive_date, name.scope or key
    )
    found: dict[Any, list[tuple[bool, Any, Any]]] = defaultdict(list)
    for text, key, archived, scope in rows:
        found[name.compare(text)].append((archived is None, key, scope))
    return {
        text: [record[1:] for record in some if record[0]]
        or list(dict.fromkeys(record[1:] for record in some))
        for text, some in found.items()
    }
