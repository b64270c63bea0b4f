"""Two provider invoices of one provider, participant, period and total are warned of, claimed or not."""

import pytest

from apps.funding.models import Claim, ProviderInvoice
from apps.people.models import Contact
from tests.funding.admin_forms import (
    CLAIMS,
    PROVIDER_INVOICES,
    bill_form_data,
    line,
    save_anyway,
    warning_labels,
)
from tests.funding.warned import WEDNESDAY
from tests.people.import_files import imported
from tests.people.records import form_data, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]


@pytest.fixture
def known(scene):
    return bill_of(scene, reference="R-1")


def bill_of(scene, **columns):
    days = {"service_start_date": WEDNESDAY, "service_end_date": WEDNESDAY}
    return scene.provider_invoice(**{**days, "invoice_total": "140.00", **columns})


def enter(client, record, **fields):
    """Enter a provider invoice like another, under its own reference."""
    address = f"{PROVIDER_INVOICES}add/"
    usual = {
        "contact": str(record.contact_id),
        "provider": str(record.provider_id),
        "reference": "R-2",
        "invoice_total": "140",
        "service_start_date": "12/08/2026",
        "service_end_date": "12/08/2026",
    }
    data = form_data(get_unrendered(client, address), **{**usual, **fields})
    return data, client.post(address, data)


def test_one_with_the_same_total_is_saved_once_it_is_confirmed(client, known):
    data, answer = enter(client, known)
    (warning,) = answer.context["warnings"]
    assert warning["label"] == "Duplicate invoice"
    assert "12 Aug 2026, has the same total of 140.00" in warning["message"]
    assert f'href="/admin/funding/providerinvoice/{known.pk}/change/"' in warning["message"]
    assert not ProviderInvoice.objects.filter(reference="R-2").exists()
    answer = client.post(f"{PROVIDER_INVOICES}add/", data | save_anyway(answer))
    assert answer.status_code == 302
    bill = ProviderInvoice.objects.get(reference="R-2")
    # Saved again without another total, it is not asked about again.
    address = f"{PROVIDER_INVOICES}{bill.pk}/change/"
    data = form_data(get_unrendered(client, address), reference="R-3")
    assert client.post(address, data).status_code == 302


@pytest.mark.both_engines("stored by statements that no other test has")
@pytest.mark.parametrize(
    "fields",
    [
        {"invoice_total": "140.01"},
        {"service_start_date": "11/08/2026"},
        {"service_end_date": "13/08/2026"},
        {"contact": ""},
        {"invoice_total": ""},
        {"service_start_date": "", "service_end_date": ""},
    ],
)
def test_one_that_differs_or_is_not_complete_is_not_asked_about(client, known, fields):
    _, answer = enter(client, known, **fields)
    assert answer.status_code == 302


@pytest.mark.parametrize("columns", [{"archive_date": "2026-08-01T00:00Z"}, {"approval_status": "Rejected"}])
def test_one_that_is_archived_or_rejected_is_no_duplicate(client, known, columns):
    ProviderInvoice.objects.update(**columns)
    assert enter(client, known)[1].status_code == 302


def test_one_day_without_an_end_is_the_same_period(client, known):
    _, answer = enter(client, known, service_end_date="")
    assert warning_labels(answer) == ["Duplicate invoice"]


def test_whoever_claims_one_of_two_is_warned(client, scene, known):
    other = bill_of(scene, reference="R-2")
    page = get_unrendered(client, f"{CLAIMS}add/", {"provider_invoice": str(other.pk)})
    data = bill_form_data(page, line(scene.entry))
    answer = client.post(f"{CLAIMS}add/", data)
    (warning,) = answer.context["warnings"]
    assert f'href="/admin/funding/providerinvoice/{known.pk}/change/"' in warning["message"]
    assert client.post(f"{CLAIMS}add/", data | save_anyway(answer)).status_code == 302
    claim = Claim.objects.get()
    assert claim.provider_invoice == other


def test_a_claim_of_another_total_is_not_warned_of(client, scene, known):
    other = bill_of(scene, reference="R-2", invoice_total=None)
    page = get_unrendered(client, f"{CLAIMS}add/", {"provider_invoice": str(other.pk)})
    assert client.post(f"{CLAIMS}add/", bill_form_data(page, line(scene.entry, "3"))).status_code == 302


def test_an_import_warns_of_those_in_the_service_and_in_the_file(scene, known, tmp_path):
    scheme, name = "430000001", scene.provider.business_name
    Contact.objects.filter(pk=scene.participant.pk).update(scheme_number=scheme)
    header = "Inv No,NDIS No,Supplier,From,To,Total"
    rows = [
        f"R-2,{scheme},{name},12/08/2026,12/08/2026,140.00",
        f"R-3,{scheme},{name},13/08/2026,13/08/2026,90.00",
        f"R-4,{scheme},{name},13/08/2026,13/08/2026,$90",
        f"R-5,{scheme},{name},13/08/2026,13/08/2026,91.00",
    ]
    path = tmp_path / "bills.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    result = imported("providerInvoice", path)
    assert (result.status, ProviderInvoice.objects.count()) == (0, 5)
    first, second = result.lines
    assert first.startswith("row 2, F2 (Total): warning DuplicateInvoice: R-1 (")
    assert second.startswith("row 4, F4 (Total): warning DuplicateInvoice: An earlier record of the same")
