"""Imports of opportunities and templates: the headers others use, and the verbs that store the rows."""

from __future__ import annotations

from apps.core.importing.additions import Importing
from apps.sales.services import create_opportunities, create_templates, update_opportunities, update_templates
from apps.sales.validation import OPPORTUNITY_RULES, TEMPLATE_RULES

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


class OpportunityImport(Importing):
    """Opportunities are found by their number, else by being the same in everything."""

    synonyms = OPPORTUNITY_HEADERS
    alike = ("name",)
    create = staticmethod(create_opportunities)
    revise = staticmethod(update_opportunities)
    rules = OPPORTUNITY_RULES


class TemplateImport(Importing):
    """Templates are found by their name."""

    synonyms = TEMPLATE_HEADERS
    match = ("TemplateName",)
    create = staticmethod(create_templates)
    revise = staticmethod(update_templates)
    rules = TEMPLATE_RULES
