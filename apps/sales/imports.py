"""Imports of opportunities and templates: columns and match fields."""

import re
from collections.abc import Mapping

from apps.base.declaration.resource import Optional
from apps.core.importing.cells import CleanedText, Cleaner
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition

PROSPECT_COLUMNS = (
    RecordColumn("Source", ("Lead source",)),
    RecordColumn("SourceDetails", ("Details",)),
    RecordColumn("ReferrerLastName", ("Referrer",)),
    RecordColumn("ReferrerOrganisation", ("Referred by",)),
    RecordColumn("UpfrontValueOfSale", ("Value", "Amount", "Upfront value")),
    RecordColumn("RecurringAnnualValue", ("Recurring value", "Annual value")),
    RecordColumn("ChanceOfSales", ("Chance", "Probability", "Probability (%)")),
    RecordColumn("OpportunityOwner/PrimaryEmail", ("Owner", "Owner email")),
    RecordColumn("Team/Name", ("Team",)),
    RecordColumn("Type/Name", ("Type",)),
    RecordColumn("Stage/Name", ("Stage",)),
    RecordColumn("FollowUpStaff/PrimaryEmail", ("Follow up by", "Follow-up email")),
)

OPPORTUNITY_COLUMNS = (
    *PROSPECT_COLUMNS,
    RecordColumn("Name", ("Opportunity", "Opportunity name")),
    RecordColumn("PrimaryContact/ContactGuid", ("Contact",)),
    RecordColumn("Outcome", ("Result",)),
    RecordColumn("OutcomeDate", ("Closed on",)),
    RecordColumn("ExpectedDate", ("Close date", "Expected close"), is_future=True),
    RecordColumn("FollowUpDate", ("Next step on",), is_future=True),
    RecordColumn("ExpiryDate", ("Expires",), is_future=True),
)

TEMPLATE_COLUMNS = (
    *PROSPECT_COLUMNS,
    RecordColumn("TemplateName", ("Template", "Name")),
    RecordColumn("ExpiryDateInterval", ("Expires after",)),
    RecordColumn("FollowUpDateInterval", ("Follow up after",)),
)


def clean_chance(text: str) -> CleanedText:
    """Percent, with their sign; a share of one, as spreadsheets keep 60 % as 0.6, is warned of."""
    number = text.removesuffix("%").rstrip()
    if number == text and re.fullmatch(r"0?\.[0-9]+|1(?:\.0+)?", text):
        return CleanedText(text, "UnusualChance", f"It is {text} percent; 60 is 60 percent.")
    return CleanedText(number)


class OpportunityImport(ImportDefinition):
    """Opportunities are found by their number, else by equality in every column."""

    cleaners: Mapping[str, Cleaner] = {"chance_of_sales": clean_chance}

    columns = OPPORTUNITY_COLUMNS
    # The interface shows the day of the outcome; files have its time too, so that it is not lost.
    fields = (Optional("OutcomeDate", source="outcome_moment"),)


class TemplateImport(ImportDefinition):
    """Templates are found by their name."""

    cleaners: Mapping[str, Cleaner] = {"chance_of_sales": clean_chance}
    columns = TEMPLATE_COLUMNS
    match_fields = ("TemplateName",)
