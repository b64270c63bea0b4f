"""Imports of opportunities and templates: usual headers, match fields and services."""

from __future__ import annotations

from apps.core.importing.definition import ImportDefinition
from apps.odata.declaration.resource import Optional

PROSPECT_HEADERS = {
    "Lead source": "Source",
    "Details": "SourceDetails",
    "Referrer": "ReferrerLastName",
    "Referred by": "ReferrerOrganisation",
    "Value": "UpfrontValueOfSale",
    "Amount": "UpfrontValueOfSale",
    "Upfront value": "UpfrontValueOfSale",
    "Recurring value": "RecurringAnnualValue",
    "Annual value": "RecurringAnnualValue",
    "Chance": "ChanceOfSales",
    "Probability": "ChanceOfSales",
    "Probability (%)": "ChanceOfSales",
    "Owner": "OpportunityOwner/PrimaryEmail",
    "Owner email": "OpportunityOwner/PrimaryEmail",
    "Team": "Team/Name",
    "Type": "Type/Name",
    "Stage": "Stage/Name",
    "Follow up by": "FollowUpStaff/PrimaryEmail",
    "Follow-up email": "FollowUpStaff/PrimaryEmail",
}

OPPORTUNITY_HEADERS = {
    **PROSPECT_HEADERS,
    "Opportunity": "Name",
    "Opportunity name": "Name",
    "Contact": "PrimaryContact/ContactGuid",
    "Result": "Outcome",
    "Closed on": "OutcomeDate",
    "Close date": "ExpectedDate",
    "Expected close": "ExpectedDate",
    "Next step on": "FollowUpDate",
    "Expires": "ExpiryDate",
}

TEMPLATE_HEADERS = {
    **PROSPECT_HEADERS,
    "Template": "TemplateName",
    "Name": "TemplateName",
    "Expires after": "ExpiryDateInterval",
    "Follow up after": "FollowUpDateInterval",
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
