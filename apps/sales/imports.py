"""Imports of opportunities and templates: columns and match fields."""

from apps.base.declaration.resource import Optional
from apps.core.importing.columns import ImportColumn
from apps.core.importing.definition import ImportDefinition

PROSPECT_COLUMNS = (
    ImportColumn("Source", ("Lead source",)),
    ImportColumn("SourceDetails", ("Details",)),
    ImportColumn("ReferrerLastName", ("Referrer",)),
    ImportColumn("ReferrerOrganisation", ("Referred by",)),
    ImportColumn("UpfrontValueOfSale", ("Value", "Amount", "Upfront value")),
    ImportColumn("RecurringAnnualValue", ("Recurring value", "Annual value")),
    ImportColumn("ChanceOfSales", ("Chance", "Probability", "Probability (%)")),
    ImportColumn("OpportunityOwner/PrimaryEmail", ("Owner", "Owner email")),
    ImportColumn("Team/Name", ("Team",)),
    ImportColumn("Type/Name", ("Type",)),
    ImportColumn("Stage/Name", ("Stage",)),
    ImportColumn("FollowUpStaff/PrimaryEmail", ("Follow up by", "Follow-up email")),
)

OPPORTUNITY_COLUMNS = (
    *PROSPECT_COLUMNS,
    ImportColumn("Name", ("Opportunity", "Opportunity name")),
    ImportColumn("PrimaryContact/ContactGuid", ("Contact",)),
    ImportColumn("Outcome", ("Result",)),
    ImportColumn("OutcomeDate", ("Closed on",)),
    ImportColumn("ExpectedDate", ("Close date", "Expected close"), is_future=True),
    ImportColumn("FollowUpDate", ("Next step on",), is_future=True),
    ImportColumn("ExpiryDate", ("Expires",), is_future=True),
)

TEMPLATE_COLUMNS = (
    *PROSPECT_COLUMNS,
    ImportColumn("TemplateName", ("Template", "Name")),
    ImportColumn("ExpiryDateInterval", ("Expires after",)),
    ImportColumn("FollowUpDateInterval", ("Follow up after",)),
)


class OpportunityImport(ImportDefinition):
    """Opportunities are found by their number, else by equality in every column."""

    columns = OPPORTUNITY_COLUMNS
    # The interface shows the day of the outcome; files have its time too, so that it is not lost.
    fields = (Optional("OutcomeDate", source="outcome_moment"),)


class TemplateImport(ImportDefinition):
    """Templates are found by their name."""

    columns = TEMPLATE_COLUMNS
    match_fields = ("TemplateName",)
