"""POST /claim (interface.md 4.3)."""

from tests.api.caller import ok
from tests.funding.bodies import a_claim_body, a_paper, a_priced_entry


def test_a_claim_is_answered_as_get_shows_it(api):
    entry, paper = a_priced_entry(), a_paper(reference="PI-77")
    made = ok(api.post("claim", a_claim_body(paper, entry=entry), {"ignoreWarnings": "true"}), 201)
    assert made == ok(api.get(f"claim/{made['ClaimGuid']}", {"$expand": "*"}))
    assert (made["ClaimNumber"], made["Total"]) == ("CLM-0000001", 140.0)
    assert (made["ProviderInvoiceReference"], made["FundingStatus"]) == ("PI-77", "AwaitingStaffApproval")
