"""The agency of the demo: its results of a claim file and its remittances, by the lives of the bills."""

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from uuid import UUID

from apps.base.money import to_cents
from apps.core.table_files.tables import Row
from apps.funding.file_formats.remittances import RemittanceRow
from apps.funding.file_formats.results import ResultRow
from apps.funding.models import ClaimFile
from apps.funding.services.claim_results import import_results
from apps.funding.services.remittances import import_remittance
from apps.funding.validation.transitions import TransitionName

#: The part that the agency pays of what it pays in part.
PAID_IN_PART = Decimal("0.63")
#: The transitions that the agency's files bring.
ANSWERS = frozenset({TransitionName.PAY, TransitionName.PAY_IN_PART, TransitionName.REFUSE})
REFUSALS = (
    ("C04", "C04 Quantity over what is approved"),
    ("C06", "C06 Price above the booking"),
    ("C15", "C15 Provider not registered for the item"),
    ("C22", "C22 No plan for dates"),
)
#: One remittance in so many has a row of another organisation.
WITH_OTHERS = 4


@dataclass(frozen=True, slots=True)
class Answers:
    """The agency's answers to one claim file; ``lives`` are the transitions that follow, by bill."""

    file: ClaimFile
    lines: Sequence[tuple[str, Decimal, UUID]]
    lives: Mapping[UUID, Sequence[str]]

    @classmethod
    def to(cls, file: ClaimFile, lives: Mapping[UUID, Sequence[str]]) -> "Answers":
        rows = file.lines.order_by("position").values_list("reference", "amount", "claim", "invoice")
        lines = [(reference, amount, claim or invoice) for reference, amount, claim, invoice in rows]
        return cls(file, lines, lives)

    def first(self, key: UUID) -> str:
        return self.lives[key][0] if self.lives.get(key) else ""

    def pays_the_rest(self, key: UUID) -> bool:
        return TransitionName.PAY_THE_REST in self.lives.get(key, ())[1:2]

    @property
    def paid_late(self) -> set[UUID]:
        """Every second of the bills that are paid in full."""
        return set([key for key in self.lives if self.first(key) == TransitionName.PAY][1::2])

    def import_results(self, chance: Random) -> None:
        """An answer to each line: refused with its bill, capped where only a part is ever paid."""
        rows = []
        for number, (reference, amount, key) in enumerate(self.lines, 2):
            if self.first(key) == TransitionName.REFUSE:
                code, text = chance.choice(REFUSALS)
                rows.append(result_row(number, reference, False, code=code, text=text))
                continue
            is_capped = self.first(key) == TransitionName.PAY_IN_PART and not self.pays_the_rest(key)
            promised = to_cents(amount * PAID_IN_PART) if is_capped else amount
            rows.append(result_row(number, reference, True, promised, is_capped))
        import_results(rows, f"results-{self.file.number}.csv")

    def import_remittance(self, day: dt.date) -> None:
        """The first payments: half of the bills that are paid in full, and all that are paid in part."""
        late = self.paid_late
        paid = {TransitionName.PAY: Decimal(1), TransitionName.PAY_IN_PART: PAID_IN_PART}
        amounts = {
            reference: to_cents(amount * paid[TransitionName(self.first(key))])
            for reference, amount, key in self.lines
            if self.first(key) in paid and key not in late
        }
        self.pay(1, day, amounts, with_others=self.file.number % WITH_OTHERS == 0)

    def import_rest(self, day: dt.date) -> None:
        """The payments of days later: the other half, and the rest of what was paid in part."""
        late = self.paid_late
        amounts = {
            reference: amount if key in late else amount - to_cents(amount * PAID_IN_PART)
            for reference, amount, key in self.lines
            if key in late or self.pays_the_rest(key)
        }
        self.pay(2, day, amounts)

    def pay(self, part: int, day: dt.date, amounts: Mapping[str, Decimal], with_others: bool = False) -> None:
        if not amounts:
            return
        rows: Iterable[tuple[str, Decimal]] = amounts.items()
        if with_others:
            rows = [*rows, ("OTHER-ORGANISATION-1", Decimal("112.50"))]
        name = f"remittance-{self.file.number}-{part}.csv"
        import_remittance(
            [
                RemittanceRow(
                    Row(number, ()),
                    reference,
                    f"4{self.file.number:04}{part}{number:04}",
                    day,
                    amount,
                    amount,
                    {},
                )
                for number, (reference, amount) in enumerate(rows, 2)
            ],
            name,
            hashlib.sha256(f"{self.file.sha256}{name}".encode()).hexdigest(),
        )


def result_row(
    number: int,
    reference: str,
    is_accepted: bool,
    amount: Decimal | None = None,
    is_capped: bool = False,
    code: str = "",
    text: str = "",
) -> ResultRow:
    status = "SUCCESSFUL" if is_accepted else "ERROR"
    return ResultRow(Row(number, ()), reference, status, is_accepted, code, text, amount, is_capped, {})
