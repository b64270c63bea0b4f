"""Claim files as they would have been made of bills: rows of their tables, without a service."""

import hashlib
import itertools

from apps.funding.models import Claim, ClaimFile, ClaimFileLine

_numbers = itertools.count(1)


def a_claim_file(*bills, is_withdrawn=False, status="Sent"):
    """A file that has every line of these bills; the lines in its order."""
    number = next(_numbers)
    content = f"file {number}".encode()
    record = ClaimFile(
        number=number,
        file_name=f"B{number:07}.csv",
        registration_number="4050000001",
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        line_count=sum(bill.line_items.count() for bill in bills),
        total=sum(bill.total for bill in bills),
        status="Withdrawn" if is_withdrawn else status,
    )
    record.save()
    return [
        ClaimFileLine.objects.create(
            claim_file=record,
            position=position,
            reference=f"Ref-{number:05}-{position:04}",
            is_withdrawn=is_withdrawn,
            amount=line.total,
            **(
                {"claim": bill, "claim_line": line}
                if isinstance(bill, Claim)
                else {"invoice": bill, "invoice_line": line}
            ),
        )
        for position, (bill, line) in enumerate(
            ((bill, line) for bill in bills for line in bill.line_items.order_by("position")), start=1
        )
    ]
