"""Many documents are uploaded at once, and their claims entered one after the other."""

from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.core import archive
from apps.documents.models import Document
from apps.funding.admin.documents import ENTRY_PERMISSIONS
from apps.funding.models import Claim, EntryList, ProviderInvoice
from apps.funding.services import entry_lists
from tests.documents.builders import PDF, a_category, a_document
from tests.funding.admin_forms import CLAIMS, bill_form_data, errors_of, line, save_anyway
from tests.funding.builders import a_claim, a_provider_invoice
from tests.funding.warned import Scene
from tests.people.records import a_client, a_contact, a_role, a_staff_member, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]
DOCUMENTS, ADD, OVERVIEW = "/admin/documents/document/", f"{CLAIMS}add/", f"{CLAIMS}documents/"


@pytest.fixture
def invoices():
    """The category of provider invoices."""
    return a_category(name="Provider invoices")


def upload(client, category, *names):
    files = [SimpleUploadedFile(name, PDF) for name in names]
    return client.post(f"{DOCUMENTS}add/", {"Files": files, "category": str(category.pk)})


def form_of(document):
    return f"{ADD}?document={document.pk}"


def named(name):
    return Document.objects.get(name=name)


def enter(client, address, scene, reference, button="_next", **fields):
    """Fill in the form at an address and save it, warnings and all."""
    given = {
        "contact": str(scene.participant.pk),
        "provider": str(scene.provider.pk),
        "provider_invoice_reference": reference,
        "start_date": "12/08/2026",
        "end_date": "12/08/2026",
        button: "1",
        **fields,
    }
    data = bill_form_data(get_unrendered(client, address), line(scene.entry), **given)
    answer = client.post(address, data)
    if answer.status_code == 200 and answer.context["warnings"]:
        answer = client.post(address, {**data, **save_anyway(answer)})
    assert answer.status_code == 302, errors_of(answer)
    return answer["Location"]


# --- the upload


def test_after_an_upload_of_provider_invoices_comes_the_claim_of_the_first_by_name(client, invoices):
    answer = upload(client, invoices, "scan 10.pdf", "scan 2.pdf", "Scan 1.pdf")
    assert answer["Location"] == form_of(named("Scan 1.pdf"))
    place = get_unrendered(client, answer["Location"]).context["entry"]
    assert (place["number"], place["count"], place["name"], place["back"]) == (1, 3, "Scan 1.pdf", None)
    assert place["skip"] == form_of(named("scan 2.pdf"))
    last = get_unrendered(client, form_of(named("scan 10.pdf"))).context["entry"]
    assert (last["number"], last["back"], last["skip"]) == (3, form_of(named("scan 2.pdf")), OVERVIEW)


def test_an_upload_of_others_leads_to_the_list(client, invoices):
    assert upload(client, a_category(name="Plans"), "plan.pdf")["Location"] == DOCUMENTS


def test_who_may_enter_no_claims_is_led_to_the_list(client, invoices):
    role = a_role("documents.add_document", "documents.view_document", "funding.view_claim")
    client.force_login(a_staff_member(role=role))
    assert upload(client, invoices, "a.pdf")["Location"] == DOCUMENTS
    run(client, Document.objects.get())
    assert not EntryList.objects.exists()


def test_the_category_is_required_and_that_of_the_last_upload_is_chosen(client, invoices):
    page = get_unrendered(client, f"{DOCUMENTS}add/")
    field = page.context["form"]["category"]
    assert (field.field.required, field.value()) == (True, invoices.pk)  # the only one
    plans = a_category(name="Plans")
    files = {"Files": [SimpleUploadedFile("a.pdf", PDF)]}
    for_others = {**files, "category": "", "contact": "nobody"}
    assert (
        "A category is required"
        in client.post(f"{DOCUMENTS}add/", {**files, "category": ""}).content.decode()
    )
    refused = client.post(f"{DOCUMENTS}add/", for_others, headers={"Accept": "application/json"})
    assert (refused.status_code, refused.json()["message"][:25]) == (400, "Participant of all files:")
    a_document(category=invoices)
    upload(client, plans, "b.pdf")
    a_document(category=invoices)  # by somebody else
    assert get_unrendered(client, f"{DOCUMENTS}add/").context["form"]["category"].value() == plans.pk


# --- entering


def test_each_saved_claim_leads_to_the_next_document_and_the_last_to_a_summary(client, invoices):
    scene = Scene()
    upload(client, invoices, "1.pdf", "2.pdf", "3.pdf")
    first, second, third = (named(f"{number}.pdf") for number in (1, 2, 3))
    assert enter(client, form_of(first), scene, "INV-1") == form_of(second)
    skipped = get_unrendered(client, form_of(second)).context["entry"]["skip"]
    assert skipped == form_of(third)
    assert enter(client, skipped, scene, "INV-3") == OVERVIEW
    page = client.get(OVERVIEW)
    total = sum(Claim.objects.values_list("total", flat=True))
    assert page.context["total"] == total > 0
    assert [each.document for each in page.context["entry"].left] == [second]
    text = " ".join(page.content.decode().split())
    assert "<strong>2</strong> of 3 entered" in text
    assert "<strong>1</strong> without a claim" in text
    invoice = Claim.objects.get(provider_invoice_reference="INV-1").provider_invoice
    assert invoice.document == first
    first.refresh_from_db()
    assert (first.contact, first.client) == (scene.participant, scene.provider)


def test_whoever_returns_goes_on_where_they_were(client, ada, invoices):
    scene = Scene()
    upload(client, invoices, *(f"{number}.pdf" for number in range(1, 5)))
    documents = [named(f"{number}.pdf") for number in range(1, 5)]
    enter(client, form_of(documents[0]), scene, "INV-1")
    client.get(form_of(documents[2]))  # the second was skipped
    client.logout()
    client.force_login(ada)
    assert "1 entered, 3 without a claim" in client.get(DOCUMENTS).content.decode()
    assert get_unrendered(client, OVERVIEW).context["next_link"] == form_of(documents[2])
    enter(client, form_of(documents[2]), scene, "INV-3")
    assert get_unrendered(client, OVERVIEW).context["next_link"] == form_of(documents[3])
    enter(client, form_of(documents[3]), scene, "INV-4")
    assert get_unrendered(client, OVERVIEW).context["next_link"] == form_of(documents[1])


def test_back_leads_to_the_claim_that_was_entered_with_the_place_in_the_list(client, invoices):
    scene = Scene()
    upload(client, invoices, "1.pdf", "2.pdf")
    enter(client, form_of(named("1.pdf")), scene, "INV-1")
    back = get_unrendered(client, form_of(named("2.pdf"))).context["entry"]["back"]
    claim = Claim.objects.get()
    assert back == f"{CLAIMS}{claim.pk}/change/?document={named('1.pdf').pk}"
    place = get_unrendered(client, back).context["entry"]
    assert (place["number"], place["skip"]) == (1, form_of(named("2.pdf")))
    Claim.objects.update(funding_status="Approved")
    assert "1 of 2" in client.get(back).content.decode()


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_what_others_entered_meanwhile_and_archived_documents_are_passed_over(client, invoices):
    upload(client, invoices, "1.pdf", "2.pdf", "3.pdf", "4.pdf")
    archive.archive(Document.objects.filter(name="3.pdf"))
    a_claim(provider_invoice=a_provider_invoice(document=named("2.pdf")))
    place = get_unrendered(client, form_of(named("1.pdf"))).context["entry"]
    assert (place["count"], place["entered"], place["skip"]) == (3, 1, form_of(named("4.pdf")))


def test_warnings_keep_the_document_and_the_place(client, invoices):
    scene = Scene()
    upload(client, invoices, "1.pdf", "2.pdf")
    first = named("1.pdf")
    lines = {"lines-0-price": "9999.00"}
    assert enter(client, form_of(first), scene, "INV-1", **lines) == form_of(named("2.pdf"))
    assert ProviderInvoice.objects.get().document == first


def test_the_provider_invoice_of_a_document_is_completed(client, invoices):
    scene = Scene()
    document, other = (a_document(name=name, category=invoices) for name in ("1", "2"))
    waiting = a_provider_invoice(
        document=document, contact=scene.participant, provider=scene.provider, reference="INV-7"
    )
    answer = run(client, document, other)
    assert answer["Location"] == f"{ADD}?provider_invoice={waiting.pk}&document={document.pk}"
    enter(client, answer["Location"], scene, "INV-7")
    assert Claim.objects.get().provider_invoice == waiting
    assert ProviderInvoice.objects.count() == 1


def test_a_document_keeps_the_participant_and_the_client_that_it_has(client, invoices):
    scene = Scene()
    whose = a_contact()
    document = a_document(category=invoices, contact=whose, client=a_client())
    page = get_unrendered(client, form_of(document))
    initial = page.context["adminform"].form.initial
    assert (initial["contact"], initial["provider"]) == (whose.pk, document.client_id)
    enter(client, form_of(document), scene, "INV-1", button="_save")
    document.refresh_from_db()
    assert document.contact == whose


# --- the documents


def run(client, *documents):
    keys = [str(document.pk) for document in documents]
    return client.post(DOCUMENTS, {"action": "enter_claims", "_selected_action": keys})


@pytest.mark.both_engines("the database orders")
def test_chosen_documents_are_entered_in_the_order_of_their_names(client, invoices):
    b, a, done = (a_document(name=name, category=invoices) for name in ("b", "a", "0"))
    a_claim(provider_invoice=a_provider_invoice(document=done))
    assert run(client, b, a, done)["Location"] == form_of(a)
    assert EntryList.objects.get().documents == [str(each.pk) for each in (done, a, b)]
    assert run(client, done)["Location"].startswith(DOCUMENTS)


def test_more_documents_than_the_limit_are_refused(client, invoices, monkeypatch):
    monkeypatch.setattr("apps.funding.admin.documents.ENTRY_LIMIT", 1)
    answer = run(client, a_document(category=invoices), a_document(category=invoices))
    assert answer["Location"] == DOCUMENTS
    assert not EntryList.objects.exists()


def test_a_document_leads_to_its_claim_or_to_the_form_of_one(client, invoices):
    claimed, free = a_document(name="claimed", category=invoices), a_document(name="free", category=invoices)
    claim = a_claim(provider_invoice=a_provider_invoice(document=claimed))
    links = get_unrendered(client, f"{DOCUMENTS}{free.pk}/change/").context["record_links"]
    assert ("Enter a claim", form_of(free)) in [(each.title, each.link) for each in links]
    links = get_unrendered(client, f"{DOCUMENTS}{claimed.pk}/change/").context["record_links"]
    assert (f"Claim {claim}", f"{CLAIMS}{claim.pk}/change/") in [(each.title, each.link) for each in links]
    text = client.get(DOCUMENTS).content.decode()
    assert f"{CLAIMS}{claim.pk}/change/" in text
    assert form_of(free) in text
    for choice, expected in (("no", [free]), ("yes", [claimed])):
        assert (
            list(get_unrendered(client, DOCUMENTS, {"claim": choice}).context["cl"].result_list) == expected
        )


def test_a_document_of_several_provider_invoices_leads_to_the_claim_on_one_of_them(client, invoices):
    document = a_document(category=invoices)
    a_provider_invoice(document=document)
    claim = a_claim(provider_invoice=a_provider_invoice(document=document))
    a_provider_invoice(document=document)
    links = get_unrendered(client, f"{DOCUMENTS}{document.pk}/change/").context["record_links"]
    assert f"{CLAIMS}{claim.pk}/change/" in [each.link for each in links]


def test_who_may_view_no_claims_sees_none_at_documents(client, invoices):
    document = a_document(category=invoices)
    claim = a_claim(provider_invoice=a_provider_invoice(document=document))
    client.force_login(a_staff_member(role=a_role("documents.view_document", "documents.change_document")))
    for address in (DOCUMENTS, f"{DOCUMENTS}{document.pk}/change/"):
        assert claim.claim_number not in client.get(address).content.decode()
    assert client.get(OVERVIEW).status_code == 403


def test_who_may_only_view_claims_is_offered_no_form(client, invoices):
    free, claimed = a_document(category=invoices), a_document(category=invoices)
    claim = a_claim(provider_invoice=a_provider_invoice(document=claimed))
    client.force_login(a_staff_member(role=a_role("documents.view_document", "funding.view_claim")))
    text = client.get(DOCUMENTS).content.decode()
    assert (claim.claim_number in text, "Enter a claim" in text) == (True, False)
    assert "Enter a claim" not in client.get(f"{DOCUMENTS}{free.pk}/change/").content.decode()


def test_who_may_not_view_documents_gets_nothing_of_one(client, invoices):
    role = a_role("funding.add_claim", "funding.view_claim", *ENTRY_PERMISSIONS)
    client.force_login(a_staff_member(role=role))
    document = a_document(category=invoices, contact=a_contact())
    form = get_unrendered(client, form_of(document)).context["adminform"].form
    assert (form.uploaded_document, "contact" in form.initial) == (None, False)


def test_the_overview_without_a_list_leads_to_the_documents_without_a_claim(client):
    assert client.get(OVERVIEW)["Location"] == f"{DOCUMENTS}?claim=no"


@pytest.mark.both_engines("statements are counted")
def test_a_list_takes_the_same_statements_for_any_number_of_documents(
    client, invoices, django_assert_max_num_queries
):
    counts = []
    for number in (1, 5):
        for _ in range(number):
            a_claim(provider_invoice=a_provider_invoice(document=a_document(category=invoices)))
            a_document(category=invoices)
        run(client, *Document.objects.all())
        for address in (DOCUMENTS, OVERVIEW):
            client.get(address)
            with django_assert_max_num_queries(30) as counted:
                client.get(address)
            counts.append(len(counted))
    assert counts[:2] == counts[2:]


@pytest.mark.both_engines("the database orders")
def test_names_are_ordered_as_people_order_them():
    names = ["scan 10", "Scan 2", "a", "2 b", "10 b", "scan 2a"]
    ordered = ["2 b", "10 b", "a", "Scan 2", "scan 2a", "scan 10"]
    assert sorted(names, key=entry_lists.name_order) == ordered


def test_a_total_of_the_summary_is_that_of_its_claims(client, invoices):
    document = a_document(category=invoices)
    claim = a_claim(provider_invoice=a_provider_invoice(document=document))
    Claim.objects.filter(pk=claim.pk).update(total=Decimal("12.34"))
    run(client, document, a_document(category=invoices))
    assert get_unrendered(client, OVERVIEW).context["total"] == Decimal("12.34")
