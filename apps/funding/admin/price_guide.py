"""The scheme's price guide and own price lists as files that the back office imports."""

from django.db import IntegrityError

from apps.core.file_import_kinds import (
    DAY_ORDER,
    FILE_KINDS,
    SHEET,
    ImportKind,
    ImportOrder,
    ImportOutcome,
    ImportQuestion,
    stated_day_first,
)
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError
from apps.funding.management.commands.import_price_guide import (
    PRICE_BOOK,
    is_own_book,
    price_book_name,
    summary,
)
from apps.funding.models import PriceBook, PriceBookEntry, Product
from apps.funding.services.price_guide import import_guide
from apps.funding.services.price_guide_file import read_guide

END_MISSING = ImportQuestion("end_missing", "End items that are not in this guide")
BOOK = ImportQuestion("price_book", "Price book", PRICE_BOOK)


def import_price_guide(order: ImportOrder) -> ImportOutcome:
    """All of the guide or nothing: with a fault anywhere, every row is rejected."""
    chosen, ends_missing = order.options, order.options["end_missing"]
    try:
        table = open_table(order.path, sheet=chosen["sheet"] or None)
        book = price_book_name(chosen["price_book"])
        guide = read_guide(table, stated_day_first(chosen), is_own_book(book))
        report = import_guide(guide, book, ends_missing, order.dry_run)
    except InvalidRows as refused:
        for fault in refused.faults:
            order.display.show_notice(fault)
        return ImportOutcome({"rejected": len(refused.faults)})
    except IntegrityError:
        raise ImportFileError("Somebody else wrote the same items meanwhile. Check the file again.") from None
    for line in (*summary(guide, report, ends_missing), *guide.warnings):
        order.display.show_notice(line)
    counts = {"new": report.new, "changed": report.changed, "unchanged": report.unchanged}
    return ImportOutcome(counts)


FILE_KINDS.append(
    ImportKind(
        "price-guide",
        "Price guide of the scheme, own price lists",
        PriceBook,
        import_price_guide,
        options=(BOOK, END_MISSING, SHEET, DAY_ORDER),
        other_models=(PriceBookEntry, Product),
    )
)
