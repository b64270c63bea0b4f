"""Claim files: what was sent to the agency to be paid, line by line."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from apps.core.models import Record, money, optional_reference
from apps.funding.choices import ClaimFileStatus
from apps.funding.models.claims import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.models.moves import exactly_one_of
from apps.people.models import Staff


class ClaimFile(Record):
    """A file of claims and invoices for the agency, byte for byte as it was made.

    Written by ``services.claim_files`` alone. One that was not sent can be withdrawn, and stays as a record
    of that; its number and the references of its lines are never used again.

    ``sha256`` is that of the file as it was made. Once scheme numbers of people whose records were erased are
    blanked in ``content``, ``erased_sha256`` is that of what is kept.
    """

    Status = ClaimFileStatus

    unrecorded_columns: ClassVar[frozenset[str]] = frozenset({"content"})

    number = models.PositiveIntegerField(unique=True, editable=False)
    file_name = models.CharField("file", max_length=20, editable=False)
    registration_number = models.CharField(max_length=20, editable=False)
    until = models.DateField("supports until", null=True, editable=False)
    content = models.BinaryField()
    sha256 = models.CharField("SHA-256", max_length=64, editable=False)
    erased_sha256 = models.CharField("SHA-256 after an erasure", max_length=64, null=True, editable=False)
    line_count = models.PositiveIntegerField("lines", editable=False)
    total = money(editable=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.NOT_SENT, editable=False)
    created_by = optional_reference(Staff, "made by", related_name="+", editable=False, db_index=False)
    sent_at = models.DateTimeField("sent", null=True, editable=False)
    sent_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    withdrawn_at = models.DateTimeField("withdrawn", null=True, editable=False)
    withdrawn_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)

    class Meta(Record.Meta):
        verbose_name = "claim file"
        ordering = ("-number",)

    def __str__(self) -> str:
        return self.file_name


class ClaimFileLine(models.Model):
    """A line of a claim or an invoice as it stands in a claim file, under the reference that answers name.

    ``amount`` is what the file claims for it. ``is_withdrawn`` is that of its file: the line may stand in
    another file then, and may have been replaced since.
    """

    claim_file = models.ForeignKey(ClaimFile, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    reference = models.CharField(max_length=50, unique=True)
    claim = models.ForeignKey(Claim, null=True, on_delete=models.CASCADE, related_name="file_lines")
    claim_line = models.ForeignKey(ClaimLine, null=True, on_delete=models.SET_NULL, related_name="file_lines")
    invoice = models.ForeignKey(Invoice, null=True, on_delete=models.CASCADE, related_name="file_lines")
    invoice_line = models.ForeignKey(
        InvoiceLine, null=True, on_delete=models.SET_NULL, related_name="file_lines"
    )
    amount = money()
    is_withdrawn = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        ordering = ("claim_file", "position")
        # Answers have references in any case.
        indexes = (models.Index(Lower("reference"), name="funding_reference_in_any_case"),)
        constraints = (
            models.UniqueConstraint(fields=["claim_file", "position"], name="funding_one_line_at_a_position"),
            models.UniqueConstraint(
                fields=["claim_line"], condition=Q(is_withdrawn=False), name="funding_claim_line_in_one_file"
            ),
            models.UniqueConstraint(
                fields=["invoice_line"],
                condition=Q(is_withdrawn=False),
                name="funding_invoice_line_in_one_file",
            ),
            models.CheckConstraint(
                condition=exactly_one_of("claim", "invoice"), name="funding_file_line_of_one_bill"
            ),
        )

    def __str__(self) -> str:
        return self.reference
