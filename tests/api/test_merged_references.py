"""What names a record that was merged into another means that other one, whoever names it, and however."""

import pytest

from apps.funding.models import AcknowledgedWarning, Claim, ProviderInvoice
from apps.people.merging import merge
from apps.people.models import Client, Contact
from tests.api.caller import ok, refused
from tests.api.test_upserts import stored  # noqa: F401  (a fixture)
from tests.funding.bodies import a_claim_body
from tests.funding.builders import a_provider_invoice
from tests.people.import_files import a_csv, imported
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept():
    """A provider, into which two others were merged one after the other."""
    first, second, kept = (
        a_client(business_name=name, unique_code=name[:3], business_number="51824753556")
        for name in ("One Care", "Two Care", "New Care")
    )
    merge(second, first)
    merge(kept, second)
    return kept


def merged(name):
    return Client.objects.get(business_name=name)


@pytest.mark.parametrize("name", ["One Care", "Two Care", "New Care"])
def test_a_body_that_names_a_merged_provider_names_the_one_in_use(api, kept, name):
    body = {"ContactGuid": str(a_contact().pk), "ProviderGuid": str(merged(name).pk)}
    answer = ok(api.post("providerInvoice", {**body, "ProviderInvoiceReference": "R-1"}), 201)
    assert ProviderInvoice.objects.get().provider == kept
    assert answer["ProviderGuid"] == str(kept.pk)
    again = refused(api.post("providerInvoice", {**body, "ProviderInvoiceReference": "r-1"}), 400)
    assert again["details"][0]["code"] == "NotUnique"
    assert ProviderInvoice.objects.count() == 1


def test_a_claim_of_a_merged_provider_and_participant_is_one_of_those_in_use(api, kept):
    participant, duplicate = a_contact(), a_contact()
    invoice = a_provider_invoice(provider=kept, contact=participant)
    merge(participant, duplicate)
    body = a_claim_body(invoice, ContactGuid=str(duplicate.pk), ProviderGuid=str(merged("One Care").pk))
    ok(api.post("claim?ignoreWarnings=true", body), 201)
    claim = Claim.objects.get()
    assert (claim.provider, claim.contact) == (kept, participant)
    assert not AcknowledgedWarning.objects.filter(claim=claim, code="GivenDiffers").exists()


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("ProviderBusinessName", "Two Care"),
        ("ProviderUniqueCode", "one"),
        ("Provider ABN", "51 824 753 556"),
    ],
)
def test_a_file_that_names_a_merged_provider_names_the_one_in_use(kept, tmp_path, header, text):
    a_contact(scheme_number="431000001")
    row = f"431000001,R-1,{text}"
    path = a_csv(tmp_path, row, header=f"NDIS No,Invoice No,{header}")
    for outcome in ("1 new", "1 unchanged"):
        result = imported("providerInvoice", path)
        assert (result.status, outcome in result.out) == (0, True), result.out + result.err
    assert ProviderInvoice.objects.get().provider == kept


def test_the_guid_of_a_merged_provider_in_a_file_is_that_of_the_one_in_use(kept, tmp_path):
    a_contact(scheme_number="431000001")
    row = f"431000001,R-1,{merged('One Care').pk}"
    assert (
        imported("providerInvoice", a_csv(tmp_path, row, header="NDIS No,Invoice No,ProviderGuid")).status
        == 0
    )
    assert ProviderInvoice.objects.get().provider == kept


def test_texts_of_several_merged_records_of_one_are_no_question(kept, tmp_path):
    """Where the one in use has another number by now, its duplicates have the one of the file."""
    Client.objects.filter(pk=kept.pk).update(business_number="53004085616")
    a_contact(scheme_number="431000001")
    path = a_csv(tmp_path, "431000001,R-1,51824753556", header="NDIS No,Invoice No,Provider ABN")
    assert imported("providerInvoice", path).status == 0
    assert ProviderInvoice.objects.get().provider == kept


def test_a_merged_record_is_not_changed_by_its_code(later, tmp_path):
    """A change would be lost: nobody looks at the duplicate any more."""
    kept, duplicate = a_contact(unique_code="P-1"), a_contact(unique_code="P-2")
    merge(kept, duplicate)
    sentence = f"It was merged into {kept.pk}: change that one."
    change = later.patch("contact(UniqueCode='P-2')", {"Phone1": "0400 000 000"})
    assert refused(change, 409)["details"][0]["message"] == sentence
    payload = {"@context": "#$delta", "value": [{"UniqueCode": "P-2", "Phone1": "0400 000 000"}]}
    assert sentence in later.patch("contact", payload).content.decode()
    result = imported("contact", a_csv(tmp_path, "P-2,0400000001", header="Unique code,Mobile"))
    assert result.status == 1
    assert sentence in result.err
    duplicate.refresh_from_db()
    assert duplicate.phone1 is None
    assert Contact.objects.get(pk=kept.pk).phone1 is None


def test_a_merged_record_that_is_in_use_again_is_named_and_changed_as_any_other(later):
    kept, duplicate = a_contact(), a_contact()
    merge(kept, duplicate)
    Contact.objects.filter(pk=duplicate.pk).update(archive_date=None)  # *Restore* in the list
    ok(later.patch(f"contact({duplicate.pk})", {"Phone1": "0400 000 000"}, if_match="*"))
    body = {"ContactGuid": str(duplicate.pk), "ProviderGuid": str(a_client().pk)}
    ok(later.post("providerInvoice", {**body, "ProviderInvoiceReference": "R-1"}), 201)
    assert ProviderInvoice.objects.get().contact == duplicate
