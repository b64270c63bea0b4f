"""The books of money that ``archive_money`` moves into files once they are old.

Rows that refer to each other go together: neither goes while the other stays.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Model, Q

from apps.funding.models import ClaimFile, ClaimFileLine, ClaimResult, Remittance, RemittanceLine
from apps.funding.statuses import FINISHED, STATUSES
from apps.payments.choices import RunStatus
from apps.payments.models import BankFile, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.archived_runs import keep_totals, runs_without_totals


@dataclass(frozen=True, slots=True)
class Book:
    """A kind of record that is archived with its rows, and when one of them stays.

    ``day``: the column by which it is old. ``rows``: the models below it, each with the path to the record,
    those that refer to others of them first. ``stays``: why one stays whatever its age. ``unfit``: of some
    of them, those that cannot go together, and why. ``before``: called before their rows are deleted.
    """

    model: type[Model]
    day: str
    rows: tuple[tuple[type[Model], str], ...] = ()
    stays: tuple[tuple[str, Q], ...] = ()
    unfit: Callable[[Collection[UUID]], tuple[str, set[UUID]]] | None = None
    before: Callable[[Collection[UUID]], None] | None = None

    @property
    def tables(self) -> tuple[tuple[type[Model], str], ...]:
        """All models of the book in the order in which they can be deleted."""
        return (*self.rows, (self.model, "pk"))


OPEN = sorted(set(STATUSES) - set(FINISHED))


def open_bill(name: str) -> Q:
    """The condition that the agency may still answer to a bill in a claim file."""
    bill = {"funding_status__in": OPEN, "archive_date": None, "resubmitted": False}
    return Q(lines__is_withdrawn=False, **{f"lines__{name}__{column}": each for column, each in bill.items()})


#: Those whose rows refer to others come first. Exports and statements are added here in a row each.
BOOKS: tuple[Book, ...] = (
    Book(Remittance, "day", ((RemittanceLine, "remittance"),)),
    Book(
        ClaimFile,
        "creation_date",
        ((ClaimResult, "file_line__claim_file"), (ClaimFileLine, "claim_file")),
        (
            ("not sent", Q(status=ClaimFile.Status.NOT_SENT)),
            ("claims or invoices in it are open", open_bill("claim") | open_bill("invoice")),
        ),
    ),
    Book(
        PaymentRun,
        "day",
        ((PaymentRunClaim, "item__run"), (PaymentRunItem, "run"), (BankFile, "run")),
        (
            ("not released", Q(status=RunStatus.DRAFT)),
            ("it has what was paid out before", Q(status=RunStatus.OPENING)),
        ),
        runs_without_totals,
        keep_totals,
    ),
)
