"""Opportunities and templates come in from files by the rules of the interface."""

import contextlib
import io

import pytest
from django.core.management import call_command

from apps.sales.models import Opportunity, OpportunityTemplate
from tests.people.builders import a_staff_member
from tests.sales.builders import a_stage, a_type, in_days, the_result

pytestmark = pytest.mark.django_db


@pytest.fixture
def imported(tmp_path):
    """``imported(resource, text)``: what the command says of a file, and the refused rows."""

    def run(resource, text):
        path = tmp_path / f"{resource}.csv"
        path.write_text(text)
        said = io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.chdir(tmp_path):
            call_command("import_records", resource, path, stdout=said, stderr=io.StringIO())
        errors = tmp_path / f"{resource}.errors.csv"
        return said.getvalue(), errors.read_text() if errors.exists() else ""

    return run


@pytest.fixture
def owner():
    return a_staff_member(PrimaryEmail="priya@example.org")


def test_opportunities_are_imported_and_a_second_run_changes_nothing(imported, owner):
    a_stage(name="Enquiry")
    a_type(name="Plan management")
    text = (
        "Opportunity,Owner,Stage,Type,Source,Value,Chance,Next step on,Follow up by\n"
        "Siblings,priya@example.org,enquiry,Plan management,Referral,1200.50,60,"
        f"{in_days(3)},priya@example.org\n"
        "Expo,priya@example.org,Enquiry,,MarketingEvent,,,,\n"
    )
    said, _ = imported("opportunity", text)
    assert "2 new" in said
    record = Opportunity.objects.get(name="Siblings")
    assert (record.owner, record.stage.name) == (owner, "Enquiry")
    assert str(record.upfront_value_of_sale) == "1200.50"
    said, _ = imported("opportunity", text)
    assert "2 unchanged" in said
    assert Opportunity.objects.count() == 2


def test_rows_that_break_a_rule_come_back_with_the_reason(imported, owner):
    the_result()
    a_stage(name="Enquiry")
    said, refused = imported(
        "opportunity",
        "Name,Owner,Stage,Outcome,Closed on,Source,Details\n"
        "Good,priya@example.org,Result,SaleSuccessful,2026-01-31,,\n"
        "Early,priya@example.org,Enquiry,SaleSuccessful,,,\n"
        "Referred,priya@example.org,Enquiry,,,Referral,By a friend\n"
        "Nobody's,,Enquiry,,,,\n",
    )
    assert "1 new" in said
    assert "3 rejected" in said
    assert all(name in refused for name in ("Early", "Referred", "Nobody's"))
    record = Opportunity.objects.get()
    assert (record.name, record.outcome_date.isoformat()) == ("Good", "2026-01-31")


def test_a_row_with_a_number_changes_that_opportunity(imported, owner):
    a_stage(name="Enquiry")
    imported("opportunity", "Name,Owner,Stage\nSiblings,priya@example.org,Enquiry\n")
    record = Opportunity.objects.get()
    said, _ = imported("opportunity", f"OpportunityId,Chance\n{record.pk},75\n")
    assert "1 changed" in said
    record.refresh_from_db()
    assert record.chance_of_sales == 75


def test_a_chance_has_its_sign_and_a_share_of_one_is_warned_of(imported, owner):
    a_stage(name="Enquiry")
    text = (
        "Name,Owner,Stage,Probability (%)\n"
        "A,priya@example.org,Enquiry,60%\nB,priya@example.org,Enquiry,12.5 %\n"
        "C,priya@example.org,Enquiry,0.6\n"
    )
    said, _ = imported("opportunity", text)
    assert "3 new, 0 changed, 0 unchanged, 0 rejected; 1 row with warnings" in said
    chances = Opportunity.objects.order_by("name").values_list("chance_of_sales", flat=True)
    assert [float(chance) for chance in chances] == [60, 12.5, 0.6]


def test_templates_are_imported_and_found_by_their_name(imported, owner):
    a_stage(name="Enquiry")
    text = "Template,OpportunityName,Stage,Owner,Follow up after\nExpo,Visitor,Enquiry,priya@example.org,{}\n"
    assert "1 new" in imported("opportunityTemplate", text.format(14))[0]
    assert "1 unchanged" in imported("opportunityTemplate", text.format(14))[0]
    assert "1 changed" in imported("opportunityTemplate", text.format(21))[0]
    record = OpportunityTemplate.objects.get()
    assert (record.opportunity_name, record.follow_up_date_interval) == ("Visitor", 21)
    assert "1 rejected" in imported("opportunityTemplate", text.format(0))[0]
