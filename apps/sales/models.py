"""Opportunities, their templates, and the lists they choose from (interface.md 2.7, 2.8)."""

from collections.abc import Sequence
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.core.models import (
    Lookup,
    NormalisedField,
    Record,
    Responsibility,
    Searched,
    TimestampedModel,
    money,
    optional_reference,
    optional_text,
)
from apps.people.models import Contact, Staff, Team
from apps.sales.choices import DECIDED, MAILING_LIST_OUTCOMES, Outcome, Source

#: The longest interval of a template, in days: a hundred years.
MAX_INTERVAL = 36_525


def days_ahead(label: str, help_text: str) -> models.PositiveIntegerField:
    return models.PositiveIntegerField(
        label,
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_INTERVAL)],
        help_text=help_text,
    )


class OpportunityType(Lookup, TimestampedModel):
    """A kind of sale."""

    id = models.AutoField("number", primary_key=True)

    class Meta(TimestampedModel.Meta):
        ordering = ("name",)


class OpportunityStage(Lookup, TimestampedModel):
    """A step on the way to a result; one stage is the result itself."""

    columns_fixed_by: ClassVar[dict[str, Sequence[str]]] = {
        "opportunities": ("is_result",)
    }  # their outcomes depend on it

    id = models.AutoField("number", primary_key=True)
    position = models.PositiveSmallIntegerField(
        default=0, help_text="Stages stand on the board in this order."
    )
    is_result = models.BooleanField(
        "is the result", default=False, help_text="Only opportunities in this stage have an outcome."
    )

    class Meta(TimestampedModel.Meta):
        ordering = ("position", "name")
        constraints = (
            models.UniqueConstraint(
                fields=["is_result"],
                condition=Q(is_result=True),
                name="sales_one_result_stage",
                violation_error_message="Another stage is the result already.",
            ),
        )


class OpportunityOutcomeReason(Lookup, TimestampedModel):
    """A reason of one outcome."""

    columns_fixed_by: ClassVar[dict[str, Sequence[str]]] = {"opportunities": ("outcome",)}

    id = models.AutoField("number", primary_key=True)
    name_key = NormalisedField(of="name")
    outcome = models.CharField(max_length=16, choices=Outcome)

    class Meta(TimestampedModel.Meta):
        verbose_name = "outcome reason"
        ordering = ("outcome", "name")
        constraints = (
            models.UniqueConstraint(fields=["outcome", "name_key"], name="sales_reason_unique_name"),
        )


class Prospect(models.Model):
    """The columns that opportunities share with the templates they are created from."""

    source = optional_text(length=14, choices=Source)
    source_details = optional_text()
    referrer_email = models.EmailField(max_length=90, null=True, blank=True)
    referrer_first_name = optional_text()
    referrer_last_name = optional_text()
    referrer_organisation = optional_text()
    upfront_value_of_sale = money("upfront value", null=True, blank=True)
    chance_of_sales = models.DecimalField(
        "chance, %",
        max_digits=5,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
    )
    recurring_annual_value = money("recurring value a year", null=True, blank=True)
    team = optional_reference(Team, "team", related_name="%(class)s_set")
    type = optional_reference(OpportunityType, "type", related_name="%(class)s_set")
    follow_up_staff = optional_reference(Staff, "followed up by", related_name="%(class)s_followed_up")

    class Meta:
        abstract = True
        constraints = (
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_chance_is_a_percentage",
                condition=Q(chance_of_sales__isnull=True)
                | Q(chance_of_sales__gte=0, chance_of_sales__lte=100),
            ),
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_details_have_a_source",
                condition=Q(source_details__isnull=True)
                | (Q(source__isnull=False) & ~Q(source=Source.REFERRAL)),
            ),
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_referrer_of_a_referral",
                condition=Q(
                    referrer_email__isnull=True,
                    referrer_first_name__isnull=True,
                    referrer_last_name__isnull=True,
                    referrer_organisation__isnull=True,
                )
                | Q(source__isnull=False, source=Source.REFERRAL),
            ),
        )


class OpportunityTemplate(Lookup, Prospect, Record):
    """The first values of new opportunities of one kind; only its name is required."""

    has_personal_data = True  # of the staff that it names
    searched = Searched(texts=("name", "opportunity_name"), without_index="there are dozens of templates")
    responsibilities = (Responsibility("owner"), Responsibility("follow_up_staff"))

    opportunity_name = optional_text(
        length=100, help_text="The name that opportunities made from it are given."
    )
    owner = optional_reference(Staff, "owner", related_name="opportunitytemplate_owned")
    stage = optional_reference(OpportunityStage, "stage", related_name="opportunitytemplate_set")
    expiry_date_interval = days_ahead("expires after", "Days from the day an opportunity is made from it.")
    follow_up_date_interval = days_ahead("follow up after", "Days from the day an opportunity is made.")

    class Meta(Record.Meta):
        verbose_name = "opportunity template"
        ordering = ("name", "guid")
        constraints = (
            *Prospect.Meta.constraints,
            models.CheckConstraint(
                name="sales_opportunitytemplate_intervals_reach_ahead",
                condition=(Q(expiry_date_interval__isnull=True) | Q(expiry_date_interval__gte=1))
                & (Q(follow_up_date_interval__isnull=True) | Q(follow_up_date_interval__gte=1)),
            ),
        )

    def __str__(self) -> str:
        return self.name


class Opportunity(Prospect, TimestampedModel):
    """A possible sale, identified by a number (interface.md 2.7).

    ``outcome_moment`` is when it was decided; ``outcome_date`` is shown: the day of that moment in the
    subscriber's time zone of then. ``template`` is the template it was created from.
    """

    caseload_path = "primary_contact__account_manager"

    responsibilities = (
        Responsibility("owner", Q(outcome=None)),
        Responsibility("follow_up_staff", Q(outcome=None)),
    )
    searched = Searched(
        names=("name",),
        texts=("source_details", "referrer_last_name", "referrer_organisation"),
        without_index="an organisation has thousands, which are read in milliseconds",
    )

    id = models.AutoField("number", primary_key=True)
    template = optional_reference(OpportunityTemplate, "made from", related_name="opportunities")
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(Staff, on_delete=models.PROTECT, related_name="opportunity_owned")
    stage = models.ForeignKey(OpportunityStage, on_delete=models.PROTECT, related_name="opportunities")
    primary_contact = optional_reference(Contact, "primary contact", related_name="opportunities")
    outcome = optional_text(length=16, choices=Outcome)
    outcome_moment = models.DateTimeField("outcome date", null=True, blank=True)
    outcome_date = models.DateField("outcome day", null=True, blank=True, editable=False)
    outcome_reasons = models.ManyToManyField(
        OpportunityOutcomeReason, blank=True, related_name="opportunities"
    )
    add_e_marketing_contact_list = models.BooleanField(
        "add to the email marketing list", null=True, blank=True, help_text="Null where it is not available."
    )
    expiry_date = models.DateField("expires on", null=True, blank=True)
    follow_up_date = models.DateField("follow up on", null=True, blank=True)
    expected_date = models.DateField("expected on", null=True, blank=True)

    class Meta(TimestampedModel.Meta):
        verbose_name = "opportunity"
        verbose_name_plural = "opportunities"
        ordering = ("-creation_date", "-id")
        indexes = (
            models.Index(fields=["creation_date", "id"], name="sales_opportunity_newest"),
            models.Index(fields=["modify_date", "id"], name="sales_opportunity_modified"),
            models.Index(
                fields=["stage", "-modify_date", "-id"],
                name="sales_opportunity_board",
                condition=Q(archive_date__isnull=True),
            ),
            models.Index(
                fields=["owner", "stage", "-modify_date", "-id"],
                name="sales_opportunity_own_board",
                condition=Q(archive_date__isnull=True),
            ),
            models.Index(
                fields=["follow_up_staff", "follow_up_date", "id"],
                name="sales_opportunity_follow_ups",
                condition=Q(archive_date__isnull=True, follow_up_date__isnull=False),
            ),
            models.Index(
                fields=["follow_up_date", "id"],
                name="sales_opportunity_all_due",
                condition=Q(archive_date__isnull=True, follow_up_date__isnull=False),
            ),
        )
        constraints = (
            *Prospect.Meta.constraints,
            models.CheckConstraint(
                name="sales_opportunity_decided_has_a_date",
                condition=Q(outcome__isnull=True, outcome_moment__isnull=True, outcome_date__isnull=True)
                | Q(
                    outcome__isnull=False,
                    outcome=Outcome.DEFERRED,
                    outcome_moment__isnull=True,
                    outcome_date__isnull=True,
                )
                | Q(
                    outcome__isnull=False,
                    outcome__in=DECIDED,
                    outcome_moment__isnull=False,
                    outcome_date__isnull=False,
                ),
            ),
            models.CheckConstraint(
                name="sales_opportunity_list_for_those_not_won",
                condition=Q(add_e_marketing_contact_list__isnull=True)
                | Q(outcome__isnull=False, outcome__in=MAILING_LIST_OUTCOMES),
            ),
            models.CheckConstraint(
                name="sales_opportunity_follow_up_has_somebody",
                condition=Q(follow_up_date__isnull=True) | Q(follow_up_staff__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name
