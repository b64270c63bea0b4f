"""A whole and a bare record of every kind of sales, for the tests over all resources."""

from apps.base import clock
from apps.sales.choices import Outcome
from tests.people.builders import a_contact, a_staff_member, a_team, posted
from tests.sales.builders import (
    a_reason,
    a_stage,
    a_template,
    a_type,
    an_opportunity_body,
    by_key,
    in_days,
    set_up,
    the_result,
)

REFERRER = {
    "referrer_email": "rosa@example.org",
    "referrer_first_name": "Rosa",
    "referrer_last_name": "De Luca",
    "referrer_organisation": "Two Creeks",
}


def sales_records():
    """({entity set: key of a whole record}, {entity set: key of a bare one})."""
    set_up(email_marketing_module=True)
    owner, team, kind, stage = a_staff_member(), a_team(), a_type(), the_result()
    reason = a_reason(Outcome.SALE_UNSUCCESSFUL)
    template = a_template(
        opportunity_name="Plan management",
        source="SocialMedia",
        source_details="Spring campaign",
        upfront_value_of_sale="0.00",
        chance_of_sales="50.00",
        recurring_annual_value="1234567.89",
        expiry_date_interval=90,
        follow_up_date_interval=7,
        owner=owner,
        team=team,
        type=kind,
        stage=stage,
        follow_up_staff=owner,
    )
    (whole,) = posted("opportunity", a_whole_opportunity_body(template, reason))
    (bare,) = posted("opportunity", an_opportunity_body())
    return (
        {
            "Opportunity": whole,
            "OpportunityTemplate": str(template.pk),
            "OpportunityType": kind.pk,
            "OpportunityStage": stage.pk,
            "OpportunityOutcomeReason": reason.pk,
        },
        {
            "Opportunity": bare,
            "OpportunityTemplate": str(a_template(archive_date=clock.now()).pk),
            "OpportunityType": a_type(archive_date=clock.now()).pk,
            "OpportunityStage": a_stage(archive_date=clock.now()).pk,
            "OpportunityOutcomeReason": a_reason(archive_date=clock.now()).pk,
        },
    )


def a_whole_opportunity_body(template, reason):
    """A body in which every member is given, but for the referrer of another source."""
    return {
        "TemplateGuid": str(template.pk),
        "Name": "O'Hara's 50% – 🚀",
        "Outcome": "SaleUnsuccessful",
        "OutcomeDate": "2026-02-28T23:30:00+11:00",
        "AddEMarketingContactList": True,
        "ExpectedDate": in_days(30).isoformat(),
        "PrimaryContact": by_key("ContactGuid", a_contact()),
        "OutcomeReason": [by_key("OutcomeReasonId", reason)],
    }
