"""Files of components and funding periods that the back office imports."""

from dataclasses import asdict

from apps.core.file_import_kinds import (
    DAY_ORDER,
    FILE_KINDS,
    TABLE_OPTIONS,
    ImportKind,
    ImportOrder,
    ImportOutcome,
    fixed_columns,
    stated_day_first,
    table_options,
)
from apps.core.importing.definition import ImportOptions
from apps.engagements.imports.components import import_components
from apps.engagements.models import CategoryBudget


def import_component_file(order: ImportOrder) -> ImportOutcome:
    options = ImportOptions(
        errors=order.errors,
        issues=order.issues,
        dry_run=order.dry_run,
        day_first=stated_day_first(order.options),
        **table_options(order.options),
    )
    report = import_components(order.path, options, order.display)
    return ImportOutcome(asdict(report.counts), report.kinds)


FILE_KINDS.append(
    ImportKind(
        "components",
        "Components and funding periods of plans",
        CategoryBudget,
        import_component_file,
        options=(*TABLE_OPTIONS, DAY_ORDER),
        read_columns=fixed_columns,
        good_noun="good component",
    )
)
