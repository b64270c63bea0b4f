"""The bank's file of returned payments as a kind of file that the back office imports."""

from apps.core.file_import_kinds import FILE_KINDS, ImportKind
from apps.payments.imports.returned_payments import import_returned_payments
from apps.payments.models import PaymentRun

FILE_KINDS.append(
    ImportKind(
        "returned-payments",
        "Returned payments of the bank",
        PaymentRun,
        import_returned_payments,
        options=(),
        count_words=("came_back", "known_already", "of_nobody"),
        good_words=("came_back",),
        good_noun="returned payment",
        suffixes=(".txt", ".aba", ".ret"),
        undoable=False,
        takes_many_files=True,
    )
)
