"""SQL twins of the cell readers: which texts are certain to be read, and as what value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db import models

from apps.core.importing.cells import NO, YES
from apps.core.importing.folding import twin_of
from apps.odata.declaration.schema import StructuralProperty
from apps.odata.write.json_values import validated_range


@dataclass(frozen=True, slots=True)
class SqlCell:
    """A cell in SQL: the condition under which its text is certain to be read, and the value then.

    ``certain`` holds for the empty text too, whose ``value`` is NULL. Casts in ``value`` cannot fail where
    ``certain`` holds, and are not tried elsewhere.
    """

    certain: str
    value: str


#: Blanks that look like others and signs that look like nothing, and what Python strips besides.
SUSPECT = r"[\u0085\u00a0\u00ad\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]"

# Without bounds on repetition, which cost the server ten times as much; the length keeps labels short enough.
_EMAIL = r"^[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@([A-Za-z0-9]+(-[A-Za-z0-9]+)*\.)+[A-Za-z][A-Za-z]+$"
_EMAIL_LENGTH = 60
_DAY, _MONTH, _YEAR = "(0[1-9]|1[0-9]|2[0-8])", "(0[1-9]|1[0-2])", "(19|20)[0-9][0-9]"
_LATE_DAY, _LONG_MONTH, _NOT_FEBRUARY = "(29|30)", "(0[13578]|1[02])", "(0[13-9]|1[0-2])"
_GUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"


def literal(text: str) -> str:
    """A text inside SQL that psycopg fills parameters into."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def words(texts: Iterable[str]) -> str:
    return ", ".join(literal(text) for text in texts)


def sql_cell(prop: StructuralProperty, cell: str, day_first: bool) -> SqlCell | None:
    """The cell of a property; ``None`` for a type without a twin, whose cells must be empty to pass."""
    if prop.choices:
        return choice_cell(prop.choices, cell)
    make = _CELLS.get(prop.edm.name)
    return make(prop.field, cell, day_first) if make else None


def choice_cell(names: tuple[str, ...], cell: str) -> SqlCell:
    known = words(name.lower() for name in names)
    named = " ".join(f"WHEN {literal(name.lower())} THEN {literal(name)}" for name in names)
    lowered = f'lower({cell} COLLATE "C")'
    return SqlCell(f"{lowered} IN ('', {known})", f"(CASE {lowered} {named} END)")


def text_cell(field: models.Field, cell: str, day_first: bool) -> SqlCell:
    """Texts without anything at their ends that would be taken off."""
    certain = [is_plain(cell)]
    if field.max_length is not None:
        # In bytes, which need not be counted: a long text beyond ASCII is doubted.
        certain.append(f"octet_length({cell}) <= {field.max_length}")
    if isinstance(field, models.EmailField):
        certain.append(f"octet_length({cell}) <= {_EMAIL_LENGTH} AND {cell} ~ {literal(_EMAIL)}")
    if twin_of(field) is not None:
        # What lower() makes of ASCII is what folding makes of it.
        certain.append(f"octet_length({cell}) = length({cell})")
    return SqlCell(f"({cell} = '' OR ({' AND '.join(certain)}))", f"nullif({cell}, '')")


def is_plain(cell: str) -> str:
    """Nothing stands at the ends of a text that cleaning would take off, ASCII signs considered."""
    return f"(ascii({cell}) > 32 AND ascii({cell}) <> 39 AND ascii(right({cell}, 1)) > 32)"


def date_cell(field: models.Field, cell: str, day_first: bool) -> SqlCell:
    """Days in the two usual forms; 29 February is left to the calendar."""
    parts = (
        [(_DAY, _MONTH), (_LATE_DAY, _NOT_FEBRUARY), ("31", _LONG_MONTH)]
        if day_first
        else [(_MONTH, _DAY), (_NOT_FEBRUARY, _LATE_DAY), (_LONG_MONTH, "31")]
    )
    written = "|".join(f"{first}/{second}" for first, second in parts)
    months = [(_MONTH, _DAY), (_NOT_FEBRUARY, _LATE_DAY), (_LONG_MONTH, "31")]
    iso = "|".join(f"{month}-{day}" for month, day in months)
    slashed, dashed = f"^({written})/{_YEAR}$", f"^{_YEAR}-({iso})$"
    day, month = (1, 4) if day_first else (4, 1)
    return SqlCell(
        f"({cell} = '' OR {cell} ~ {literal(slashed)} OR {cell} ~ {literal(dashed)})",
        f"(CASE WHEN {cell} = '' THEN NULL WHEN substr({cell}, 3, 1) = '/' THEN "
        f"make_date(substr({cell}, 7)::int, substr({cell}, {month}, 2)::int, substr({cell}, {day}, 2)::int) "
        f"ELSE {cell}::date END)",
    )


def boolean_cell(field: models.Field, cell: str, day_first: bool) -> SqlCell:
    yes, no = words(sorted(YES)), words(sorted(NO))
    return SqlCell(
        f"lower({cell}) IN ('', {yes}, {no})",
        f"(CASE WHEN {cell} <> '' THEN lower({cell}) IN ({yes}) END)",
    )


def integer_cell(field: models.Field, cell: str, day_first: bool) -> SqlCell:
    """Whole numbers that every integer column holds, within the field's own limits."""
    value = f"(CASE WHEN {cell} ~ '^[0-9]{{1,4}}$' THEN {cell}::int END)"
    return SqlCell(f"({cell} = '' OR {within_limits(field, value)})", value)


def within_limits(field: models.Field, value: str) -> str:
    least, most = validated_range(field)
    tests = [f"{value} IS NOT NULL"]
    if least is not None:
        tests.append(f"{value} >= {least}")
    if most is not None:
        tests.append(f"{value} <= {most}")
    return "coalesce(" + " AND ".join(tests) + ", false)"


def decimal_cell(field: models.Field, cell: str, day_first: bool) -> SqlCell:
    assert isinstance(field, models.DecimalField)
    scale = int(field.decimal_places or 0)
    whole = int(field.max_digits or 0) - scale
    form = f"^[0-9]{{1,{whole}}}" + (rf"(\.[0-9]{{1,{scale}}})?$" if scale else "$")
    value = f"(CASE WHEN {cell} ~ {literal(form)} THEN {cell}::numeric({field.max_digits}, {scale}) END)"
    return SqlCell(f"({cell} = '' OR {within_limits(field, value)})", value)


def guid_sql(cell: str) -> str:
    """The guid a cell writes, NULL for a text that is none."""
    return f"(CASE WHEN {cell} ~ {literal(_GUID)} THEN {cell}::uuid END)"


_CELLS: dict[str, Callable[[models.Field, str, bool], SqlCell]] = {
    "Edm.String": text_cell,
    "Edm.Date": date_cell,
    "Edm.Boolean": boolean_cell,
    "Edm.Int16": integer_cell,
    "Edm.Int32": integer_cell,
    "Edm.Int64": integer_cell,
    "Edm.Decimal": decimal_cell,
}
