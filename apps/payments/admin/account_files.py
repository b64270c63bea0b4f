"""Lists of bank accounts that the back office imports."""

from dataclasses import asdict

from django.db import IntegrityError

from apps.core import history
from apps.core.file_import_kinds import (
    FILE_KINDS,
    TABLE_OPTIONS,
    ImportKind,
    ImportOrder,
    ImportOutcome,
    fixed_columns,
    table_options,
)
from apps.core.importing.definition import ImportOptions
from apps.core.table_files.tables import ImportFileError
from apps.payments.imports.bank_accounts import import_bank_accounts
from apps.payments.models import BankAccount


def import_account_file(order: ImportOrder) -> ImportOutcome:
    options = ImportOptions(
        errors=order.errors, issues=order.issues, dry_run=order.dry_run, **table_options(order.options)
    )
    if not order.dry_run and history.author().staff_id != order.brought_by:
        # Else who wrote the numbers would not be who entered them, and could confirm them.
        raise ImportFileError(
            "Bank accounts are imported by the person who brought the file; bring it yourself."
        )
    try:
        report = import_bank_accounts(order.path, options, order.display)
    except IntegrityError:
        raise ImportFileError(
            "Somebody else entered the same accounts meanwhile. Check the file again."
        ) from None
    return ImportOutcome(asdict(report.counts), report.kinds)


# Not undone by the history, which has no numbers of accounts: another account takes a wrong one's place.
FILE_KINDS.append(
    ImportKind(
        "bank-accounts",
        "Bank accounts",
        BankAccount,
        import_account_file,
        options=TABLE_OPTIONS,
        permissions=("payments.view_bankaccount",),
        read_columns=fixed_columns,
        good_noun="good account",
        undoable=False,
    )
)
