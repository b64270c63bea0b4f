"""POST /claim (interface.md 4.3, 5, 7)."""

import datetime as dt

import pytest

from apps.base import clock
from apps.core.bulk_insert import FEW
from apps.core.models import Change, Subscriber
from apps.funding.models import AcknowledgedWarning, Claim, ClaimLine, Product, ProviderInvoice
from apps.people.models import Client, Contact
from tests.api.caller import faults, ok, refused
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import (
    a_claim_body,
    a_full_provider_invoice,
    a_funder,
    a_line_body,
    a_priced_entry,
    a_role_that_may,
    submitted,
)
from tests.funding.builders import a_claim, a_price, a_price_book, a_provider_invoice, an_entry
from tests.people.builders import a_client, a_contact, a_role, a_staff_member

IGNORED = {"ignoreWarnings": "true"}
LONG_AGO = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"


def posted(api, **members):
    return ok(api.post("claim", a_claim_body(**members), IGNORED), 201)


def line_posted(api, entry=None, **members):
    return posted(api, LineItems=[a_line_body(entry, **members)])["LineItems"][0]


def refusals(api, **members):
    return faults(api.post("claim", {"value": [a_claim_body(**members)]}, IGNORED))


def line_refusals(api, entry=None, **members):
    return [
        (code, place.removeprefix("value[0]/LineItems[0]/"))
        for code, place in refusals(api, LineItems=[a_line_body(entry, **members)])
    ]


# --- what is stored -------------------------------------------------------------------------------------


def test_a_claim_is_answered_as_get_shows_it(api):
    entry, provider_invoice = a_priced_entry(), a_full_provider_invoice(reference="PI-77")
    made = ok(api.post("claim", a_claim_body(provider_invoice, entry=entry), IGNORED), 201)
    assert made == ok(api.get(f"claim/{made['ClaimGuid']}", {"$expand": "*"}))
    assert (made["ClaimNumber"], made["Total"]) == ("CLM-0000001", 140.0)
    assert (made["ProviderInvoiceReference"], made["FundingStatus"]) == ("PI-77", "AwaitingStaffApproval")


def test_a_claim_reads_its_provider_invoice_once(api, monkeypatch):
    body, loaded, from_db = a_claim_body(), [], ProviderInvoice.from_db
    monkeypatch.setattr(
        ProviderInvoice, "from_db", staticmethod(lambda *row: loaded.append(row) or from_db(*row))
    )
    ok(api.post("claim", body, IGNORED), 201)
    assert len(loaded) == 1


def test_every_member_is_stored_as_it_is_given(api):
    contact, provider, provider_invoice = (
        a_contact(),
        a_client(),
        a_provider_invoice(reference=None, contact=a_contact()),
    )
    staff, entry = a_funder(), a_priced_entry()
    given = {
        "ClaimNumber": "A claim of ours",
        "ProviderInvoiceReference": "Réf 1",
        "StartDate": "2025-07-01",
        "EndDate": "2025-07-31",
        "DueDate": "2025-08-14",
        "SendPaymentTo": "SupportCoordinator",
        "ContactGuid": str(contact.pk),
        "ProviderGuid": str(provider.pk),
        "StaffGuid": str(staff.pk),
        "ProviderInvoiceGuid": str(provider_invoice.pk),
    }
    line = {
        "FromDate": "2025-07-02",
        "ToDate": "2025-07-03",
        "Quantity": 1.2345,
        "Price": 65.4321,
        "Notes": "Two\nlines, “quoted”",
        "TaxChoice": "GstFreeExports",
        "ClaimType": "Cancellation",
        "CancellationReason": "UnavailabilityOfTransport",
    }
    made = ok(api.post("claim", {**given, "LineItems": [a_line_body(entry, **line)]}, IGNORED), 201)
    assert {name: made[name] for name in given} == given
    (shown,) = made["LineItems"]
    assert {name: shown[name] for name in line} == line
    assert (shown["Total"], made["Total"], shown["AmountPaid"]) == (80.78, 80.78, 0.0)
    assert shown["PriceBook"] == {
        "PriceBookGuid": str(entry.price_book_id),
        "Name": entry.price_book.name,
    }
    assert shown["Product"]["ProductGuid"] == str(entry.product_id)


def test_what_the_service_says_itself_is_never_taken_from_a_body(api):
    made = posted(
        api,
        ClaimGuid=NOWHERE,
        Total=1,
        Resubmitted=True,
        FundingStatus="AgencyFullyPaid",
        ApprovedDate="2025-01-01",
        ArchiveDate="2025-01-01",
        PaymentDate="2025-01-01",
        MissingAbnReasonCode="REIMB",
        ExternalInvoiceNumber="X",
        ClientGuid=NOWHERE,
        LineItems=[a_line_body(Total=5, AmountPaid=5, LineItemGuid=NOWHERE, ArchiveDate="2025-01-01")],
    )
    assert made["ClaimGuid"] != NOWHERE
    told = ("Total", "Resubmitted", "FundingStatus", "ApprovedDate", "ArchiveDate", "PaymentDate")
    assert [made[name] for name in told] == [140.0, False, "AwaitingStaffApproval", None, None, None]
    told = ("MissingAbnReasonCode", "ExternalInvoiceNumber", "ClientGuid")
    assert [made[name] for name in told] == [None, None, None]
    (line,) = made["LineItems"]
    assert (line["Total"], line["AmountPaid"], line["ArchiveDate"]) == (140.0, 0.0, None)


def test_the_client_is_the_contacts(api):
    client = a_client()
    contact = a_contact(Client={"ClientGuid": str(client.pk)})
    assert posted(api, provider_invoice=a_full_provider_invoice(contact=contact))["ClientGuid"] == str(
        client.pk
    )


def test_lines_keep_the_order_they_were_sent_in(api):
    entry = a_priced_entry()
    lines = [a_line_body(entry, Quantity=number) for number in range(1, 40)]
    made = posted(api, LineItems=lines)
    assert [line["Quantity"] for line in made["LineItems"]] == list(range(1, 40))
    assert made["Total"] == 70 * sum(range(1, 40))


def test_the_history_says_who_entered_it_once(api):
    made = posted(api, LineItems=[a_line_body(), a_line_body()])
    (change,) = Change.objects.filter(record_type__in=("funding.claim", "funding.claimline"))
    assert (change.kind, change.channel, change.record_key) == ("Created", "API", made["ClaimGuid"])
    assert change.application == "Integration"


def test_of_what_an_application_sent_who_is_in_charge_has_entered_it(api):
    staff = a_funder()
    posted(api, staff=staff)
    assert Claim.objects.get().entered_by == staff


# --- what is taken from the provider invoice ------------------------------------------------------------


def test_contact_provider_reference_and_payee_are_the_provider_invoices(api):
    provider_invoice = a_full_provider_invoice(reference="PI-9", send_payment_to="Client")
    made = posted(api, provider_invoice=provider_invoice)
    assert made["ContactGuid"] == str(provider_invoice.contact_id)
    assert made["ProviderGuid"] == str(provider_invoice.provider_id)
    assert (made["ProviderInvoiceReference"], made["SendPaymentTo"]) == ("PI-9", "Client")


def test_null_is_as_if_left_out(api):
    provider_invoice = a_full_provider_invoice(reference="PI-9", send_payment_to="Client")
    names = ("ClaimNumber", "ProviderInvoiceReference", "SendPaymentTo", "ContactGuid", "ProviderGuid")
    made = posted(api, provider_invoice=provider_invoice, **dict.fromkeys(names))
    assert all(made[name] for name in names)
    assert made["SendPaymentTo"] == "Client"


def test_what_the_provider_invoice_lacks_is_required(api):
    provider_invoice = a_provider_invoice(reference=None, document=None, contact=a_contact())
    assert refusals(api, provider_invoice=provider_invoice) == [
        ("Required", "value[0]/ProviderInvoiceReference"),
        ("Required", "value[0]/ProviderGuid"),
    ]
    assert refusals(api, provider_invoice=a_provider_invoice(reference="Alone")) == [
        ("Required", "value[0]/ContactGuid"),
        ("Required", "value[0]/ProviderGuid"),
    ]


def test_what_a_single_use_provider_invoice_lacks_is_written_back_to_it(api):
    provider_invoice, contact, provider = a_provider_invoice(reference="Known"), a_contact(), a_client()
    posted(api, provider_invoice=provider_invoice, ContactGuid=str(contact.pk), ProviderGuid=str(provider.pk))
    provider_invoice.refresh_from_db()
    assert (provider_invoice.reference, provider_invoice.contact, provider_invoice.provider) == (
        "Known",
        contact,
        provider,
    )
    change = Change.objects.get(record_key=str(provider_invoice.pk), kind="Changed")
    assert change.differences == {
        "contact_id": [None, str(contact.pk)],
        "provider_id": [None, str(provider.pk)],
    }


def test_a_reusable_provider_invoice_stays_as_it_is(api):
    provider_invoice, contact, provider = a_provider_invoice(is_reusable=True), a_contact(), a_client()
    for _ in range(2):
        posted(
            api, provider_invoice=provider_invoice, ContactGuid=str(contact.pk), ProviderGuid=str(provider.pk)
        )
    provider_invoice.refresh_from_db()
    assert (provider_invoice.contact, provider_invoice.provider) == (None, None)
    assert Claim.objects.filter(provider_invoice=provider_invoice, takes_provider_invoice=False).count() == 2


def test_given_and_different_the_given_wins_with_a_warning(api):
    provider_invoice, contact, provider = a_full_provider_invoice(reference="Theirs"), a_contact(), a_client()
    body = a_claim_body(
        provider_invoice,
        ContactGuid=str(contact.pk),
        ProviderGuid=str(provider.pk),
        ProviderInvoiceReference="Ours",
    )
    told = refused(api.post("claim", {"value": [body]}), 400, "WarningsPresent")["details"]
    assert [fault["target"] for fault in told if fault["code"] == "GivenDiffers"] == [
        "value[0]/ContactGuid",
        "value[0]/ProviderGuid",
        "value[0]/ProviderInvoiceReference",
    ]
    made = ok(api.post("claim", body, IGNORED), 201)
    assert made["ContactGuid"] == str(contact.pk)
    assert (made["ProviderGuid"], made["ProviderInvoiceReference"]) == (str(provider.pk), "Ours")
    provider_invoice.refresh_from_db()
    assert provider_invoice.reference == "Theirs"
    assert provider_invoice.contact != contact


def test_a_single_use_provider_invoice_is_used_once(api):
    provider_invoice = a_full_provider_invoice()
    first = posted(api, provider_invoice=provider_invoice)
    told = refused(api.post("claim", {"value": [a_claim_body(provider_invoice)]}, IGNORED), 400)["details"]
    assert [(fault["code"], fault["target"]) for fault in told] == [
        ("AlreadyUsed", "value[0]/ProviderInvoiceGuid")
    ]
    assert first["ClaimNumber"] in told[0]["message"]


def test_two_claims_of_one_body_cannot_be_built_on_one_provider_invoice(api):
    provider_invoice = a_full_provider_invoice()
    bodies = {"value": [a_claim_body(provider_invoice), a_claim_body(provider_invoice)]}
    assert faults(api.post("claim", bodies, IGNORED)) == [("AlreadyUsed", "value[1]/ProviderInvoiceGuid")]
    assert not Claim.objects.exists()


def test_a_provider_invoice_is_free_again_when_its_claim_is_archived(api):
    provider_invoice = a_full_provider_invoice()
    a_claim(
        provider_invoice=provider_invoice,
        contact=provider_invoice.contact,
        provider=provider_invoice.provider,
        archive_date=clock.now(),
        takes_provider_invoice=False,
    )
    posted(api, provider_invoice=provider_invoice)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"approval_status": "Rejected", "rejection_reason": "Not ours"}, "NotAllowed"),
        ({"archive_date": LONG_AGO}, "Archived"),
    ],
)
def test_no_claim_is_built_on_a_rejected_or_archived_provider_invoice(api, columns, code):
    assert refusals(api, provider_invoice=a_full_provider_invoice(**columns)) == [
        (code, "value[0]/ProviderInvoiceGuid")
    ]


def test_a_provider_invoice_on_hold_learns_that_it_holds_a_claim_up(api):
    provider_invoice = a_full_provider_invoice(approval_status="OnHoldByClient")
    posted(api, provider_invoice=provider_invoice)
    provider_invoice.refresh_from_db()
    assert provider_invoice.claim_on_hold is True


# --- references of provider invoices --------------------------------------------------------------------


def test_a_reference_given_must_not_be_another_provider_invoices_of_the_provider(api):
    provider = a_client()
    a_full_provider_invoice(reference=" ref 1", provider=provider)
    provider_invoice = a_full_provider_invoice(reference=None, provider=provider)
    given = {"provider_invoice": provider_invoice, "ProviderInvoiceReference": "REF 1"}
    assert refusals(api, **given) == [("NotUnique", "value[0]/ProviderInvoiceReference")]
    assert posted(api, **given, ProviderGuid=str(a_client().pk))["ProviderInvoiceReference"] == "REF 1"


def test_a_reference_given_must_not_be_another_live_claims_of_the_provider(api):
    provider = a_client()
    reusable = a_full_provider_invoice(reference="Monthly", provider=provider, is_reusable=True)
    posted(api, provider_invoice=reusable, ProviderInvoiceReference="March")
    provider_invoice = a_full_provider_invoice(reference=None, provider=provider)
    given = {"provider_invoice": provider_invoice, "ProviderInvoiceReference": "March"}
    assert refusals(api, **given) == [("NotUnique", "value[0]/ProviderInvoiceReference")]
    # On the same provider invoice it is a warning.
    posted(api, provider_invoice=reusable, ProviderInvoiceReference="March")
    Claim.objects.update(archive_date=clock.now())
    posted(api, **given)


def test_two_claims_of_one_body_cannot_give_one_reference(api):
    provider = a_client()
    bodies = [
        a_claim_body(
            a_full_provider_invoice(reference=None, provider=provider), ProviderInvoiceReference=text
        )
        for text in ("Twice", "twice ")
    ]
    answer = api.post("claim", {"value": bodies}, IGNORED)
    assert faults(answer) == [("NotUnique", "value[1]/ProviderInvoiceReference")]


def test_a_provider_given_must_leave_the_reference_the_providers_only_one(api):
    provider = a_client()
    a_full_provider_invoice(reference="Same", provider=provider)
    provider_invoice = a_provider_invoice(reference="Same", contact=a_contact())
    found = refusals(api, provider_invoice=provider_invoice, ProviderGuid=str(provider.pk))
    assert found == [("NotUnique", "value[0]/ProviderInvoiceReference")]


# --- what must be told, and how -------------------------------------------------------------------------


def test_what_is_required_is_reported_all_at_once(api):
    found = faults(api.post("claim", {"value": [{"DueDate": None}]}))
    names = ("StartDate", "EndDate", "StaffGuid", "ProviderInvoiceGuid", "LineItems")
    assert found == [("Required", f"value[0]/{name}") for name in names]


@pytest.mark.parametrize("lines", [[], None])
def test_a_claim_has_a_line_at_least(api, lines):
    assert refusals(api, LineItems=lines) == [("Required", "value[0]/LineItems")]


def test_required_members_of_a_line_are_reported_all_at_once(api):
    assert refusals(api, LineItems=[{}, a_line_body(Quantity=None)]) == [
        ("Required", "value[0]/LineItems[0]/Quantity"),
        ("Required", "value[0]/LineItems[0]/PriceBook"),
        ("Required", "value[0]/LineItems[0]/Product"),
        ("Required", "value[0]/LineItems[1]/Quantity"),
    ]


def test_references_to_nothing_are_reported_on_their_guids(api):
    line = a_line_body(PriceBook={"PriceBookGuid": NOWHERE}, Product={"ProductGuid": NOWHERE})
    names = ("ContactGuid", "ProviderGuid", "StaffGuid", "ProviderInvoiceGuid")
    found = refusals(api, LineItems=[line], **dict.fromkeys(names, NOWHERE))
    assert sorted(found) == sorted(
        [
            *(("NotFound", f"value[0]/{name}") for name in names),
            ("NotFound", "value[0]/LineItems[0]/PriceBook/PriceBookGuid"),
            ("NotFound", "value[0]/LineItems[0]/Product/ProductGuid"),
        ]
    )


def test_an_archived_price_book_cannot_be_chosen(api):
    entry = a_priced_entry(price_book=a_price_book(archive_date=clock.now()))
    assert line_refusals(api, entry) == [("Archived", "PriceBook/PriceBookGuid")]


def test_texts_may_have_the_documented_length_and_no_more(api):
    limits = {"ClaimNumber": 47, "ProviderInvoiceReference": 100}
    given = {name: "é" * limit for name, limit in limits.items()}
    made = posted(api, **given)
    assert {name: made[name] for name in limits} == given
    longer = {name: text + "é" for name, text in given.items()}
    assert refusals(api, **longer) == [("TooLong", f"value[0]/{name}") for name in limits]


PAYEES = ("Provider", "Client", "PlanManager", "SupportCoordinator", "ClientRepresentative")


def test_the_payee_is_named_by_word_by_number_or_by_number_as_text(api):
    staff, entry = a_funder(), a_priced_entry()

    def bodies(spellings):
        claims = [a_claim_body(staff=staff, entry=entry, SendPaymentTo=spelling) for spelling in spellings]
        return {"value": claims}

    spellings = [each for number, word in enumerate(PAYEES) for each in (word, number, str(number))]
    made = ok(api.post("claim", bodies(spellings), IGNORED), 201)["value"]
    assert [claim["SendPaymentTo"] for claim in made] == [word for word in PAYEES for _ in range(3)]
    found = faults(api.post("claim", bodies((5, -1, "5", "provider", True, 1.0, [], {})), IGNORED))
    assert [place for _, place in found] == [f"value[{number}]/SendPaymentTo" for number in range(8)]
    assert {code for code, _ in found} <= {"NotAChoice", "WrongType"}


LINE_ENUMERATIONS = {
    "TaxChoice": {
        34300: "BasExcluded",
        34600: "GstFreeExports",
        34700: "GstFreeIncome",
        35200: "GstOnIncome",
    },
    "ClaimType": {
        1: "Cancellation",
        2: "AgencyRequiredReport",
        3: "ProviderTravel",
        4: "NonFaceToFaceServices",
        5: "DirectService",
        6: "IrregularSilSupports",
        7: "Telehealth",
    },
    "CancellationReason": {
        1: "HealthReason",
        2: "FamilyIssues",
        3: "UnavailabilityOfTransport",
        4: "Other",
    },
}


@pytest.mark.parametrize("name", LINE_ENUMERATIONS)
def test_enumerations_of_lines_are_named_by_word_by_number_or_by_number_as_text(api, name):
    more = {"ClaimType": "Cancellation"} if name == "CancellationReason" else {}
    entry, words = a_priced_entry(), LINE_ENUMERATIONS[name]
    given = [spelling for number, word in words.items() for spelling in (word, number, str(number))]
    made = posted(api, LineItems=[a_line_body(entry, **{**more, name: one}) for one in given])
    expected = [word for word in words.values() for _ in range(3)]
    assert [line[name] for line in made["LineItems"]] == expected
    assert line_posted(api, **more, **{name: None})[name] is None
    wrong = (max(words) + 1, "0", expected[0].lower(), True, 1.5)
    found = refusals(api, LineItems=[a_line_body(entry, **{**more, name: value}) for value in wrong])
    assert [place for _, place in found] == [f"value[0]/LineItems[{number}]/{name}" for number in range(5)]
    assert {code for code, _ in found} <= {"NotAChoice", "WrongType"}


@pytest.mark.parametrize(
    ("reason", "kind", "expected"),
    [
        ("HealthReason", "Cancellation", []),
        ("HealthReason", None, [("NotAllowed", "CancellationReason")]),
        ("HealthReason", "Telehealth", [("NotAllowed", "CancellationReason")]),
        ("None", "Telehealth", []),
    ],
)
def test_only_a_cancellation_has_a_reason(api, reason, kind, expected):
    members = {"CancellationReason": reason, "ClaimType": kind}
    if expected:
        assert line_refusals(api, **members) == expected
    else:
        assert line_posted(api, **members)["CancellationReason"] == reason


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"Quantity": 0}, [("OutOfRange", "Quantity")]),
        ({"Quantity": -1}, [("OutOfRange", "Quantity")]),
        ({"Quantity": "NaN"}, [("InvalidNumber", "Quantity")]),
        ({"Quantity": 1.00001}, [("InvalidNumber", "Quantity")]),
        ({"Quantity": 10_000_000_000}, [("InvalidNumber", "Quantity")]),
        ({"Quantity": True}, [("InvalidNumber", "Quantity")]),
        ({"Price": -0.01}, [("OutOfRange", "Price")]),
        ({"Price": 0.00001}, [("InvalidNumber", "Price")]),
        ({"Quantity": "9999999999", "Price": "9999999999"}, [("OutOfRange", "Quantity")]),
    ],
)
def test_amounts_out_of_range_are_reported(api, members, expected):
    found = line_refusals(api, **members)
    assert [place for _, place in found if place != "value[0]/LineItems"] == [p for _, p in expected]
    assert {code for code, _ in found} <= {expected[0][0], "OutOfRange", "WrongType", "InvalidNumber"}


def test_a_total_that_no_column_can_hold_is_reported(api):
    line = a_line_body(Quantity="9999999999.9999", Price=60)
    assert refusals(api, LineItems=[line, line]) == [("OutOfRange", "value[0]/LineItems")]


def test_totals_are_rounded_half_up_line_by_line(api):
    entry = a_priced_entry()
    lines = [a_line_body(entry, Quantity="0.5", Price="0.01"), a_line_body(entry, Quantity=1, Price="0.005")]
    made = posted(api, LineItems=lines)
    assert [line["Total"] for line in made["LineItems"]] == [0.01, 0.01]
    assert made["Total"] == 0.02


def test_dates_are_in_order(api):
    assert refusals(api, StartDate="2025-07-02", EndDate="2025-07-01") == [
        ("OutOfOrder", "value[0]/EndDate"),
        ("OutOfOrder", "value[0]/LineItems[0]/ToDate"),
    ]
    assert line_refusals(api, FromDate="2025-07-09", ToDate="2025-07-08") == [("OutOfOrder", "ToDate")]
    assert line_refusals(api, ToDate="2025-07-06") == [("OutOfOrder", "ToDate")]


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_days_like_others(api, day):
    contact = a_contact()
    a_booking(a_plan(participant=contact, plan_start_date=day, plan_end_date=day), category=9)
    line = a_line_body(Price=1, FromDate=day, ToDate=day)
    posted(
        api,
        provider_invoice=a_full_provider_invoice(contact=contact),
        StartDate=day,
        EndDate=day,
        LineItems=[line],
    )
    posted(api, StartDate="0001-01-01", EndDate="9999-12-31", LineItems=[a_line_body(Price=1)])


def test_a_hundred_lines_and_no_more(api):
    entry = a_priced_entry()
    body = a_claim_body(LineItems=[a_line_body(entry)] * 100)
    assert ok(api.post("claim", body, IGNORED), 201)["Total"] == 14_000
    body = a_claim_body(LineItems=[a_line_body(entry)] * 101)
    error = refused(api.post("claim", body, IGNORED), 413, "TooLarge")
    assert "100" in error["message"]


# --- price, notes, payee --------------------------------------------------------------------------------


def test_the_price_is_the_price_books_of_the_first_day(api):
    entry = an_entry()
    a_price(entry, "70.00", start=dt.date(2025, 1, 1), end=dt.date(2025, 7, 6))
    a_price(entry, "75.50", start=dt.date(2025, 7, 7))
    assert line_posted(api, entry)["Price"] == 75.5
    assert line_posted(api, entry, FromDate="2025-07-06")["Price"] == 70
    assert line_posted(api, entry, FromDate="2025-07-06", Price=71)["Price"] == 71
    assert line_posted(api, entry, Price=0)["Price"] == 0


@pytest.mark.parametrize(
    ("region", "price"),
    [("Remote", 98), ("Very Remote", 70), ("ACT/NSW/QLD/VIC", 70), (None, 70)],
)
def test_the_price_is_that_of_the_contacts_zone_and_national_where_that_has_none(api, region, price):
    entry = a_priced_entry("70.00")
    a_price(entry, "98.00", zone="Remote")
    provider_invoice = a_full_provider_invoice(contact=a_contact(SchemePriceGuideRegion=region))
    assert (
        posted(api, provider_invoice=provider_invoice, LineItems=[a_line_body(entry)])["LineItems"][0][
            "Price"
        ]
        == price
    )


def test_a_price_is_required_where_the_book_has_none(api):
    quoted = a_priced_entry(amount=None)
    late = an_entry()
    a_price(late, start=dt.date(2025, 7, 8))
    elsewhere = an_entry(price_book=quoted.price_book)
    stranger = {"PriceBook": {"PriceBookGuid": str(a_price_book().pk)}}
    for entry, members in ((quoted, {}), (late, {}), (elsewhere, {}), (a_priced_entry(), stranger)):
        assert line_refusals(api, entry, **members) == [("Required", "Price")]
        assert line_posted(api, entry, Price="12.34", **members)["Price"] == 12.34


def test_notes_are_the_products_description_when_left_out(api):
    entry = a_priced_entry()
    Product.objects.filter(pk=entry.product_id).update(long_description="What it is")
    assert line_posted(api, entry)["Notes"] == "What it is"
    assert line_posted(api, entry, Notes=None)["Notes"] == "What it is"
    assert line_posted(api, entry, Notes="Mine")["Notes"] == "Mine"


@pytest.mark.parametrize(
    ("payee", "number", "code"),
    [
        ("Provider", "51 824 753 556", None),
        ("Provider", None, "EXCLS"),
        ("PlanManager", None, "EXCLS"),
        ("SupportCoordinator", None, "EXCLS"),
        *(("Provider", none, "EXCLS") for none in ("N/A", "n.a.", "-", " – ", "0", "00 000", "none")),
        ("SupportCoordinator", "51 824 753 556", None),
        ("Client", "51 824 753 556", "REIMB"),
        ("Client", None, "REIMB"),
        ("ClientRepresentative", "51 824 753 556", "REIMB"),
    ],
)
def test_why_the_business_number_is_missing(api, payee, number, code):
    provider = a_client(BusinessNumber=number)
    made = posted(api, provider_invoice=a_full_provider_invoice(provider=provider), SendPaymentTo=payee)
    assert made["MissingAbnReasonCode"] == code


# --- permission -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "members"),
    [
        (lambda: a_role(), {}),
        (lambda: a_role_that_may("administer_credit_invoices"), {}),
        (lambda: a_role(all_permissions=True), {"archive_date": LONG_AGO}),
        (lambda: a_role(all_permissions=True), {"disable_login_date": LONG_AGO}),
    ],
    ids=["none", "another", "archived", "disabled"],
)
def test_the_staff_member_needs_the_permission(api, role, members):
    staff = a_staff_member(role=role())
    type(staff).objects.filter(pk=staff.pk).update(**members)
    assert refusals(api, staff=staff) == [("PermissionNeeded", "value[0]/StaffGuid")]


def test_whose_login_is_closed_is_reported_so_and_not_to_lack_a_permission(api):
    staff = a_staff_member(role=a_role(all_permissions=True))
    type(staff).objects.filter(pk=staff.pk).update(disable_login_date=LONG_AGO)
    (fault,) = api.post("claim", {"value": [a_claim_body(staff=staff)]}).json()["error"]["details"]
    assert fault["message"].startswith(f"The login of {staff} is closed")


def test_the_permission_is_the_roles(api):
    staff = a_staff_member(role=a_role_that_may("administer_funding_invoices"))
    assert posted(api, staff=staff)["StaffGuid"] == str(staff.pk)


# --- numbers --------------------------------------------------------------------------------------------


def test_a_number_is_unique_without_regard_to_case(api):
    posted(api, ClaimNumber="Café 1")
    bodies = [a_claim_body(ClaimNumber=number) for number in (" CAFE\u0301 1", "x", "X ")]
    assert faults(api.post("claim", {"value": bodies}, IGNORED)) == [
        ("NotUnique", "value[0]/ClaimNumber"),
        ("NotUnique", "value[2]/ClaimNumber"),
    ]


def test_numbers_are_assigned_by_the_subscribers_settings(api):
    Subscriber(pk=1, claim_number_prefix="C/", claim_number_digits=4).save()
    bodies = {"value": [a_claim_body(), a_claim_body(ClaimNumber="C/0002"), a_claim_body()]}
    made = ok(api.post("claim", bodies, IGNORED), 201)["value"]
    assert [claim["ClaimNumber"] for claim in made] == ["C/0001", "C/0002", "C/0003"]


# --- warnings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", [None, "false", "False", "0"])
def test_warnings_are_reported_and_nothing_is_stored(api, spelled):
    query = {} if spelled is None else {"ignoreWarnings": spelled}
    error = refused(api.post("claim", {"value": [a_claim_body()]}, query), 400, "WarningsPresent")
    assert {fault["severity"] for fault in error["details"]} == {"warning"}
    assert ("NoEngagement", "value[0]/ContactGuid") in {
        (fault["code"], fault["target"]) for fault in error["details"]
    }
    assert not Claim.objects.exists()
    assert not ClaimLine.objects.exists()


@pytest.mark.parametrize("spelled", ["true", "True", "TRUE", "1"])
def test_ignored_warnings_are_stored_with_the_claim(api, spelled):
    body = {"value": [a_claim_body()]}
    told = refused(api.post("claim", body), 400, "WarningsPresent")["details"]
    ok(api.post("claim", body, {"ignoreWarnings": spelled}), 201)
    noted = AcknowledgedWarning.objects.order_by("id")
    assert [(one.code, one.place, one.message) for one in noted] == [
        (fault["code"], fault["target"].removeprefix("value[0]/"), fault["message"]) for fault in told
    ]
    assert {(one.claim_id, one.application, one.staff_id) for one in noted} == {
        (Claim.objects.get().pk, "Integration", None)
    }


@pytest.mark.parametrize("spelled", ["yes", "", "2", "on", "null"])
def test_another_spelling_of_ignore_warnings_is_refused(api, spelled):
    refused(api.post("claim", {"value": [a_claim_body()]}, {"ignoreWarnings": spelled}), 400)


def test_faults_are_never_hidden_by_warnings(api):
    for query in ({}, IGNORED):
        found = faults(api.post("claim", {"value": [a_claim_body(), a_claim_body(EndDate=None)]}, query))
        assert found == [("Required", "value[1]/EndDate")]


def test_a_clean_claim_needs_nothing_ignored(api, at):
    at("2025-08-20 10:00")
    contact = a_contact(Address={"State": "NSW", "Country": "Australia"})
    days = {"plan_start_date": "2025-07-01", "plan_end_date": "2035-06-30"}
    a_booking(a_plan(participant=contact, **days), category=9, budget=5000, management_type="Plan")
    answer = api.post(
        "claim", {"value": [a_claim_body(a_full_provider_invoice(contact=contact), DueDate="2025-08-01")]}
    )
    (made,) = ok(answer, 201)["value"]
    assert made["Total"] == 140
    assert not AcknowledgedWarning.objects.exists()


# --- many -----------------------------------------------------------------------------------------------


def test_one_bad_claim_of_many_stores_none(api):
    bodies = [a_claim_body(ClaimNumber=f"N{number}") for number in range(5)]
    bodies[3]["LineItems"][0]["Quantity"] = 0
    found = faults(api.post("claim", {"value": bodies}, IGNORED))
    assert found == [("OutOfRange", "value[3]/LineItems[0]/Quantity")]
    assert not Claim.objects.exists()
    assert not Change.objects.filter(record_type="funding.claim").exists()


def bodies_apart(number):
    """Claims that share nothing: each its own contact, provider, staff, price book and product."""
    return {
        "value": [
            a_claim_body(
                a_full_provider_invoice(reference=None),
                ProviderInvoiceReference="R",
                LineItems=[a_line_body()] * 3,
            )
            for _ in range(number)
        ]
    }


def test_the_statements_of_few_claims_and_of_many_are_as_many(api, statements):
    def of(number):
        body = bodies_apart(number)
        Subscriber.clear_cache()  # its settings are read once in a few seconds
        return len(statements(lambda: ok(api.post("claim", body, IGNORED), 201)))

    of(1)
    assert of(FEW + 1) == of(20)


def test_a_thousand_claims_in_a_body(api):
    entry, staff = a_priced_entry(), a_funder()
    contact, provider = a_contact(), a_client()
    provider_invoices = [
        ProviderInvoice(reference=f"T{number}", contact=contact, provider=provider) for number in range(1000)
    ]
    ProviderInvoice.objects.bulk_create(provider_invoices)
    line = a_line_body(entry)
    bodies = [
        a_claim_body(provider_invoice, staff, LineItems=[line, line, line])
        for provider_invoice in provider_invoices
    ]
    made = Claim.objects.in_bulk(keys := submitted("claim", *bodies))
    assert [made[key].provider_invoice_id for key in keys] == [
        provider_invoice.pk for provider_invoice in provider_invoices
    ]
    assert len({claim.claim_number for claim in made.values()}) == 1000
    assert ClaimLine.objects.count() == 3000
    assert refused(api.post("claim", {"value": [*bodies, bodies[0]]}, IGNORED), 413)


def test_people_who_are_archived_may_still_be_claimed_for(api):
    contact, provider = a_contact(), a_client()
    for record in (contact, provider):
        type(record).objects.filter(pk=record.pk).update(archive_date=clock.now())
    provider_invoice = a_provider_invoice(reference="Late")
    posted(api, provider_invoice=provider_invoice, ContactGuid=str(contact.pk), ProviderGuid=str(provider.pk))
    assert (Contact.objects.count(), Client.objects.count()) == (1, 1)
