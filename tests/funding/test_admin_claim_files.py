"""The pages of claim files."""

import hashlib

import pytest

from apps.core.models import Subscriber
from apps.core.read_log import READ_LOG, key_bytes
from apps.funding.admin import claim_files
from apps.funding.models import Claim, ClaimFile
from apps.funding.services.claim_files import create_claim_files, mark_sent, plan_claim_files
from tests.funding.claimable import (
    TODAY,
    a_claimable_claim,
    a_claimable_invoice,
    a_participant,
    save_settings,
    somebody_who_sends,
)

pytestmark = pytest.mark.django_db
FILES, NEW = "/admin/funding/claimfile/", "/admin/funding/claimfile/add/"


@pytest.fixture(autouse=True)
def march(at):
    at(TODAY)
    save_settings()


def text_of(answer):
    return " ".join(answer.content.decode().split())


def statuses():
    return sorted(Claim.objects.values_list("funding_status", flat=True))


def test_from_the_new_page_to_a_file_that_is_sent(client, ada):
    claim = a_claimable_claim(2)
    page = client.get(NEW)
    assert "Make 1 claim file" in text_of(page)
    answer = client.post(NEW, {"until": "02/03/2026", "plan": page.context["plan"].mark})
    file = ClaimFile.objects.get()
    address = f"{FILES}{file.pk}/"
    assert answer["Location"] == f"{address}file/"
    page = text_of(client.get(answer["Location"]))
    assert f"{file} was made: 2 lines, 280.00." in page
    assert 'Total AUD of 2 lines</th><td class="fu-figure">280.00</td>' in page
    assert str(claim) in page
    download = client.get(f"{address}content/")
    assert download["Content-Disposition"] == f'attachment; filename="{file.file_name}"'
    assert hashlib.sha256(download.content).hexdigest() == file.sha256
    assert client.get(f"{address}content/").content == download.content
    client.post(f"{address}sent/")
    file.refresh_from_db()
    assert (file.status, file.sent_by, file.created_by) == ("Sent", ada, ada)
    page = text_of(client.get(f"{address}change/"))
    assert "Mark as sent" not in page
    assert "Withdraw…" not in page
    assert f'Claim file (sent): <a class="rs-link" href="{address}change/">{file}</a>' in text_of(
        client.get(f"/admin/funding/claim/{claim.pk}/change/")
    )
    assert str(file) in text_of(client.get(FILES))


def test_what_is_left_out_is_listed_by_reason_with_its_link(client, ada, monkeypatch):
    monkeypatch.setattr(claim_files, "LISTED_BILLS", 1)
    first, _ = (
        a_claimable_claim(contact=a_participant(scheme_number=None), claim_number=f"F-{nth}")
        for nth in (1, 2)
    )
    late = a_claimable_invoice([{"quantity": "1.125"}])
    page = text_of(client.get(NEW))
    assert "There is nothing to be sent." in page
    assert "No scheme number of nine digits: 2, total AUD 280.00" in page
    assert "The first 1 are listed." in page
    assert f'href="/admin/funding/claim/{first.pk}/change/"' in page
    assert f'href="/admin/funding/invoice/{late.pk}/change/"' in page
    assert "1.125 × 70 cannot be written." in page
    assert "Left out: <strong>3</strong>, total AUD 358.75." in page


def test_the_page_says_what_the_first_file_lacks(client, ada):
    save_settings(registration_number="", business_number="")
    a_claimable_claim()
    page = text_of(client.get(NEW))
    assert "Without the registration number nothing can be claimed." in page
    assert "Without the business number (ABN) invoices to the agency are left out." in page
    assert 'href="/admin/core/subscriber/1/change/"' in page
    client.force_login(somebody_who_sends())
    page = text_of(client.get(NEW))
    assert "Whoever administers the organisation settings enters it." in page
    assert "/admin/core/subscriber/1/change/" not in page


@pytest.mark.parametrize("day", ["31/02/2026", "no day", "x" * 5000, "99/99/9999"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_bad_day_is_named_and_nothing_is_made(client, ada, day, method):
    a_claimable_claim()
    answer = getattr(client, method)(NEW, {"until": day, "plan": plan_claim_files().mark})
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert statuses() == ["Approved"]


def test_a_day_leaves_out_what_ends_later(client, ada):
    a_claimable_claim()
    assert "There is nothing to be sent." in text_of(client.get(NEW, {"until": "15/02/2026"}))
    page = client.get(NEW, {"until": "16/2/2026"})
    client.post(NEW, {"until": "16/02/2026", "plan": page.context["plan"].mark})
    assert str(ClaimFile.objects.get().until) == "2026-02-16"


@pytest.mark.both_engines("somebody else writes meanwhile")
@pytest.mark.parametrize("plan", ["", "no mark", None])
def test_claims_that_changed_meanwhile_are_shown_again(client, ada, plan):
    mark = client.get(NEW).context["plan"].mark if plan is None else plan
    a_claimable_claim()
    page = text_of(client.post(NEW, {"until": "02/03/2026", "plan": mark}))
    assert "Claims have changed since the page was made." in page
    assert "Make 1 claim file" in page
    assert statuses() == ["Approved"]


def test_a_form_sent_twice_makes_one_file(client, ada):
    a_claimable_claim()
    form = {"until": "02/03/2026", "plan": client.get(NEW).context["plan"].mark}
    client.post(NEW, form)
    again = text_of(client.post(NEW, form))
    assert "Claims have changed since the page was made." in again
    assert ClaimFile.objects.count() == 1


def test_several_files_lead_to_their_list(client, ada, monkeypatch):
    monkeypatch.setattr("apps.funding.services.claim_files.MAX_ROWS", 2)
    for _ in range(2):
        a_claimable_claim(2)
    page = client.get(NEW)
    answer = client.post(NEW, {"until": "02/03/2026", "plan": page.context["plan"].mark})
    assert answer["Location"] == FILES
    assert ClaimFile.objects.count() == 2


def test_withdrawing_asks_first(client, ada):
    a_claimable_claim()
    [file] = create_claim_files()
    address = f"{FILES}{file.pk}/withdraw/"
    page = text_of(client.get(address))
    assert "1 line, total AUD 140.00. Everything in the file is approved again" in page
    assert statuses() == ["AgencyClaimed"]
    page = text_of(client.post(address, follow=True))
    assert f"{file} was withdrawn." in page
    assert statuses() == ["Approved"]


def test_a_sent_file_is_neither_withdrawn_nor_sent_again(client, ada):
    a_claimable_claim()
    [file] = create_claim_files()
    mark_sent(file.pk)
    for name, method in (("withdraw", "get"), ("withdraw", "post"), ("sent", "post")):
        answer = getattr(client, method)(f"{FILES}{file.pk}/{name}/", follow=True)
        assert f"{file} is sent already." in text_of(answer)
    assert statuses() == ["AgencyClaimed"]


@pytest.mark.parametrize(
    ("left_out", "sentence"),
    [
        ("send_claim_files", "make, send and withdraw claim files"),
        ("claim_funding_invoices", "claim from the agency, submit and send"),
    ],
)
def test_who_may_not_make_files_reads_why(client, left_out, sentence):
    client.force_login(somebody_who_sends(left_out))
    for answer in (client.get(NEW), client.post(NEW, {"until": "02/03/2026"})):
        assert answer.status_code == 403
        assert f"Your role lacks the permission to {sentence}." in text_of(answer)
    assert NEW not in text_of(client.get(FILES))


def test_who_may_only_view_files_neither_sends_nor_withdraws(client):
    a_claimable_claim()
    [file] = create_claim_files()
    client.force_login(somebody_who_sends("send_claim_files"))
    assert "Mark as sent" not in text_of(client.get(f"{FILES}{file.pk}/file/"))
    assert client.get(f"{FILES}{file.pk}/content/").status_code == 200
    for name in ("sent", "withdraw"):
        assert client.post(f"{FILES}{file.pk}/{name}/").status_code == 403
    assert ClaimFile.objects.get().status == "NotSent"
    client.force_login(somebody_who_sends("administer_funding_invoices", "view_claimfile"))
    assert client.get(f"{FILES}{file.pk}/content/").status_code == 403


def test_a_download_is_a_read_of_all_that_are_in_it(client, ada):
    claim, invoice = a_claimable_claim(), a_claimable_invoice()
    [file] = create_claim_files()
    READ_LOG.waiting.clear()
    client.get(f"{FILES}{file.pk}/content/")
    read = {(each.record_type, each.kind, each.record_keys) for each in READ_LOG.waiting}
    assert read == {
        ("funding.claimfile", "Download", key_bytes(file.pk)),
        ("funding.claim", "Download", key_bytes(claim.pk)),
        ("funding.invoice", "Download", key_bytes(invoice.pk)),
    }


def test_lines_have_pages(client, ada, monkeypatch):
    monkeypatch.setattr(claim_files, "LISTED_LINES", 2)
    a_claimable_claim(3)
    [file] = create_claim_files()
    numbers = [
        [row.line.position for row in client.get(f"{FILES}{file.pk}/file/?page={page}").context["rows"]]
        for page in ("1", "2", "99", "x")
    ]
    assert numbers == [[1, 2], [3], [3], [1, 2]]


def test_a_blanked_file_says_so(client, ada):
    a_claimable_claim()
    [file] = create_claim_files()
    assert "are blank in what is kept" not in text_of(client.get(f"{FILES}{file.pk}/file/"))
    ClaimFile.objects.update(erased_sha256="ab" * 32)
    assert f"Its SHA-256 is {'ab' * 32} now." in text_of(client.get(f"{FILES}{file.pk}/file/"))


@pytest.mark.parametrize(
    ("number", "saved", "asked"),
    [("4050000001", True, False), ("4060000001", False, True), ("405 000", False, False)],
)
def test_an_unusual_registration_number_is_confirmed(client, ada, number, saved, asked):
    save_settings(registration_number="")
    address = "/admin/core/subscriber/1/change/"
    form = client.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    values = {name: value for name, value in values.items() if value is not None and value is not False}
    answer = client.post(address, {**values, "registration_number": number})
    assert ("begins with 405, this one with 406" in text_of(answer)) is asked
    assert (Subscriber.objects.get().registration_number == number) is saved
