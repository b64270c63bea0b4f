"""Imports of opportunities and templates: usual headers, match fields and services."""

from apps.base.declaration.resource import Optional
from apps.core.importing.definition import ImportDefinition

PROSPECT_HEADERS = {
    "Source": ("Lead source",),
    "SourceDetails": ("Details",),
    "ReferrerLastName": ("Referrer",),
    "ReferrerOrganisation": ("Referred by",),
    "UpfrontValueOfSale": ("Value", "Amount", "Upfront value"),
    "RecurringAnnualValue": ("Recurring value", "Annual value"),
    "ChanceOfSales": ("Chance", "Probability", "Probability (%)"),
    "OpportunityOwner/PrimaryEmail": ("Owner", "Owner email"),
    "Team/Name": ("Team",),
    "Type/Name": ("Type",),
    "Stage/Name": ("Stage",),
    "FollowUpStaff/PrimaryEmail": ("Follow up by", "Follow-up email"),
}

OPPORTUNITY_HEADERS = {
    **PROSPECT_HEADERS,
    "Name": ("Opportunity", "Opportunity name"),
    "PrimaryContact/ContactGuid": ("Contact",),
    "Outcome": ("Result",),
    "OutcomeDate": ("Closed on",),
    "ExpectedDate": ("Close date", "Expected close"),
    "FollowUpDate": ("Next step on",),
    "ExpiryDate": ("Expires",),
}

TEMPLATE_HEADERS = {
    **PROSPECT_HEADERS,
    "TemplateName": ("Template", "Name"),
    "ExpiryDateInterval": ("Expires after",),
    "FollowUpDateInterval": ("Follow up after",),
}


class OpportunityImport(ImportDefinition):
    """Opportunities are found by their number, else by equality in every column."""

    header_synonyms = OPPORTUNITY_HEADERS
    # The interface shows the day of the outcome; files have its time too, so that it is not lost.
    fields = (Optional("OutcomeDate", source="outcome_moment"),)
    future_dates = ("expiry_date", "follow_up_date", "expected_date")


class TemplateImport(ImportDefinition):
    """Templates are found by their name."""

    header_synonyms = TEMPLATE_HEADERS
    match_fields = ("TemplateName",)
