"""The classes of transitions: what is asked for, what is locked for it, the change of a bill, the outcome."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from apps.funding.services.payments import LineAmounts, Payment
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.transitions import Transition, TransitionName, transition_named
from apps.funding.validation.warning_codes import ShownWarning
from apps.people.models import Staff

REASON_LENGTH = 400

#: By the keys of bills, what was paid of their lines; negative where it is taken back.
PaidLines = Mapping[UUID, Mapping[UUID, Decimal]]

#: The warnings that somebody was shown of bills, by the keys of those that have any.
ShownWarnings = Mapping[UUID, Sequence[ShownWarning]]


@dataclass(frozen=True, slots=True)
class TransitionRequest:
    """A transition for several bills; without ``staff`` the system acts.

    ``reasons`` are those of single bills, in place of ``reason``. ``amounts``: what was paid or is taken back
    now, by the keys of the bills. ``day``: of the payment, today when ``None``. ``paid_before``: what
    was paid of bills when somebody was asked for amounts. ``warnings``: those that were shown before;
    ``None`` where nobody was asked.
    """

    model: type[AnyBill]
    name: TransitionName
    staff: Staff | None
    reason: str | None
    amounts: Mapping[UUID, Payment]
    day: dt.date | dt.datetime | None
    reasons: Mapping[UUID, str] = field(default_factory=dict)
    paid_before: Mapping[UUID, Decimal] = field(default_factory=dict)
    warnings: ShownWarnings | None = None

    @property
    def transition(self) -> Transition:
        return transition_named(self.name)


@dataclass(frozen=True, slots=True)
class LockedRecords:
    """The bills by key, originals of archived and restored ones included, and their lines.

    Lines are loaded where the transition changes budgets.
    """

    bills: Mapping[UUID, AnyBill]
    lines: Mapping[UUID, Sequence[LineAmounts]]


@dataclass(frozen=True, slots=True)
class RefusedTransition:
    """A record that keeps its status, and why, in a sentence that says what is possible."""

    key: UUID
    label: str
    message: str
    code: str = "NotAllowed"


@dataclass(slots=True)
class TransitionResult:
    """The keys of changed records, the refused ones, and the keys of new bills by their originals'."""

    done: list[UUID] = field(default_factory=list)
    refused: list[RefusedTransition] = field(default_factory=list)
    resubmissions: dict[UUID, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BillChange:
    """The new values of a bill's columns; by the keys of its lines, what is paid afterwards and paid now."""

    bill: AnyBill
    transition: Transition
    values: dict[str, object]
    paid: Mapping[UUID, Decimal] = field(default_factory=dict)
    payments: Mapping[UUID, Decimal] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return str(self.values.get("funding_status", self.bill.funding_status))
