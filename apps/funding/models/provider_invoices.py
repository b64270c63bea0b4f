"""Provider invoices, on which claims are built."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from apps.core.models import NormalisedField, Record, Searched, optional_reference
from apps.documents.models import Document
from apps.funding.choices import ApprovalStatus, SendPaymentTo
from apps.people.models import Client, Contact, Staff

#: On hold or rejected ones wait for somebody else.
CLAIMABLE_STATUSES = (ApprovalStatus.UNACTIONED.value, ApprovalStatus.APPROVED.value)

#: Those that wait for a claim.
WAITS_FOR_CLAIM = Q(archive_date=None, is_claimed=False, approval_status__in=CLAIMABLE_STATUSES)


class ProviderInvoice(Record):
    """A provider's bill. A claim is built on it, or several when it is reusable.

    Nearly everything may be missing when it is received; the claim supplies the rest. ``is_claimed``: a claim
    took it or, when it is reusable, an unarchived claim is built on it. ``services.effects`` maintains
    it, so that provider invoices that wait for a claim are found without reading the claims.
    """

    caseload_path = "contact__account_manager"
    open_records = WAITS_FOR_CLAIM

    searched = Searched(codes=("reference",))
    unrecorded_columns = frozenset({"is_claimed"})

    reference = models.CharField(max_length=100, null=True, blank=True)
    reference_key = NormalisedField(of="reference", max_length=300)
    service_start_date = models.DateField("services from", null=True, blank=True)
    service_end_date = models.DateField("services to", null=True, blank=True)
    invoice_total = models.DecimalField(
        "total", max_digits=14, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    is_reusable = models.BooleanField(
        "reusable", default=False, help_text="More than one claim may be built on it."
    )
    send_payment_to = models.CharField(max_length=20, choices=SendPaymentTo, default=SendPaymentTo.PROVIDER)
    contact = optional_reference(Contact, "participant", related_name="provider_invoices")
    provider = optional_reference(Client, related_name="provider_invoices", db_index=False)
    document = optional_reference(Document, related_name="provider_invoices")
    created_by = optional_reference(Staff, "entered by", related_name="+")
    # --- what was decided about it: only by its verbs
    approval_status = models.CharField(
        max_length=19, choices=ApprovalStatus, default=ApprovalStatus.UNACTIONED, editable=False
    )
    auto_approved = models.BooleanField("approved automatically", default=False, editable=False)
    claim_on_hold = models.BooleanField("claim is on hold", default=False, editable=False)
    is_claimed = models.BooleanField("claimed", default=False, editable=False)
    rejection_reason = models.CharField(max_length=400, null=True, editable=False)
    actioned_by = optional_reference(Staff, "decided by", related_name="+", editable=False)
    actioned_date = models.DateTimeField("decided", null=True, editable=False)

    class Meta(Record.Meta):
        verbose_name = "provider invoice"
        ordering = ("-creation_date", "-guid")
        indexes = (
            models.Index(fields=["creation_date", "guid"], name="funding_provider_newest"),
            models.Index(fields=["modify_date", "guid"], name="funding_provider_modified"),
            models.Index(fields=["approval_status", "creation_date"], name="funding_provider_by_status"),
            models.Index(
                fields=["creation_date", "guid"], condition=WAITS_FOR_CLAIM, name="funding_provider_waiting"
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=["provider", "reference_key"], name="funding_one_reference_of_a_provider"
            ),
            models.CheckConstraint(
                condition=Q(service_end_date__gte=F("service_start_date")),
                name="funding_provider_dates_in_order",
            ),
            models.CheckConstraint(
                condition=Q(invoice_total__gte=0), name="funding_provider_total_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(reference__isnull=False)
                | Q(contact__isnull=False)
                | Q(provider__isnull=False)
                | Q(document__isnull=False),
                name="funding_provider_invoice_of_something",
            ),
        )

    @property
    def is_claimable(self) -> bool:
        """True when its approval allows a claim now."""
        return not self.is_archived and self.approval_status in CLAIMABLE_STATUSES

    def __str__(self) -> str:
        whose = self.provider or self.contact
        named = self.reference or "without a reference"
        return f"{named} ({whose})" if whose else named


class EntryList(models.Model):
    """The documents that a person enters claims from one after the other; of each person the latest list.

    ``documents``: their keys as texts, in order. ``place``: the one that was shown last.
    """

    staff = models.OneToOneField(Staff, on_delete=models.CASCADE, primary_key=True, related_name="+")
    documents = models.JSONField(default=list)
    place = models.UUIDField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{len(self.documents)} documents"
