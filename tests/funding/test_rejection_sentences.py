"""The organisation's own sentences about refusals: entered in the settings, shown wherever codes are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.core import archive
from apps.core.models import Change
from apps.funding.models import ClaimResult, RejectionSentence
from apps.funding.rejection_codes import REJECTION_CODES
from tests.core.test_file_imports import an_import, page
from tests.funding.answer_files import a_result, as_csv
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.funding.test_admin_answers import run
from tests.people.records import a_role, a_staff_member

pytestmark = pytest.mark.django_db

LIST = reverse("admin:funding_rejectionsentence_changelist")
ADD = reverse("admin:funding_rejectionsentence_add")
OURS = "Ring the planner."


@pytest.fixture
def refused(tmp_path):
    """A claimed claim of two lines, and the file that refuses them: by a known code, and in other words."""
    claim = a_claim(2, funding_status="AgencyClaimed")
    texts = ("C04 Over", "Endorsement is missing")
    rows = [
        a_result(line.reference, "ERROR", text)
        for line, text in zip(claimed_lines(claim), texts, strict=True)
    ]
    return claim, as_csv(tmp_path / "results.csv", rows)


def shown(client, claim):
    return client.get(reverse("admin:funding_claim_change", args=[claim.pk])).content.decode()


@pytest.mark.both_engines("stored by statements that no other test has")
def test_a_sentence_is_entered_in_the_settings_once_for_a_beginning(client, ada):
    assert client.post(ADD, {"beginning": "c04", "sentence": OURS}).status_code == 302
    row = RejectionSentence.objects.get()
    assert RejectionSentence.current() == {"c04": OURS}
    assert OURS in client.get(LIST).content.decode()
    settings = client.get(reverse("admin:core_subscriber_change", args=[1])).content.decode()
    assert f'href="{LIST}"' in settings
    answer = client.post(ADD, {"beginning": " C04 ", "sentence": "Other"})
    assert list(answer.context["adminform"].form.errors) == ["beginning"]
    (change,) = Change.objects.filter(record_type="funding.rejectionsentence")
    assert (change.kind, change.staff_id) == ("Created", ada.pk)
    archive.archive(RejectionSentence.objects.all())
    assert RejectionSentence.current() == {}
    client.post(reverse("admin:funding_rejectionsentence_archiving", args=[row.pk]))
    assert RejectionSentence.current() == {"c04": OURS}


def test_own_sentences_are_shown_in_the_preview_and_on_the_page_of_the_claim(client, ada, refused):
    claim, path = refused
    RejectionSentence(beginning="C04", sentence=OURS).save()
    RejectionSentence(beginning="endorsement is", sentence="Send the endorsement.").save()
    record = an_import(client, text=path.read_text(), kind="results", name="results.csv")
    preview = str(page(client, record)["rows"])
    assert f"C04 Over – {OURS}" in preview
    assert "Endorsement is missing – Send the endorsement." in preview
    status, said = run("import_results", path)
    assert (status, said.count(OURS), REJECTION_CODES["C04"] in said) == (0, 1, False)
    text = shown(client, claim)
    assert f"Refused: C04 Over. <strong>{OURS}</strong>" in text
    assert "Refused: Endorsement is missing. <strong>Send the endorsement.</strong>" in text


def test_what_nobody_has_a_sentence_for_leads_to_a_new_one(client, ada, refused):
    claim, path = refused
    run("import_results", path)
    link = f"{ADD}?beginning=Endorsement+is+missing"
    assert f'Refused: Endorsement is missing. <a class="rs-link" href="{link}">Say what to do</a>' in shown(
        client, claim
    )
    assert 'value="Endorsement is missing"' in client.get(link).content.decode()
    role = a_role("funding.view_claim", "core.view_subscriber")
    client.force_login(a_staff_member(role=role))
    text = shown(client, claim)
    assert "Refused: Endorsement is missing." in text
    assert "Say what to do" not in text
    assert client.get(link).status_code == 403


def test_sentences_are_read_once_however_many_lines_are_refused(client, ada):
    claim = a_claim(4, funding_status="AgencyClaimed")
    lines = list(claimed_lines(claim))
    address = reverse("admin:funding_claim_change", args=[claim.pk])

    def statements():
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        return [each["sql"] for each in captured if "rejectionsentence" in each["sql"]]

    statements()
    assert statements() == []
    for line in lines:
        ClaimResult.objects.create(file_line=line, is_accepted=False, text="Odd", file_name="r.csv")
    assert len(statements()) == 1


def test_the_queue_of_what_was_refused_says_what_to_do(client, ada, refused):
    claim, path = refused
    RejectionSentence(beginning="Endorsement", sentence="Send the endorsement.").save()
    other = a_claim(funding_status="PaymentProviderRejected", status_reason="By telephone")
    run("import_results", path)
    address = reverse("admin:funding_claim_changelist") + "?status=refused-by-agency"
    rows = {bill.pk: bill.next_steps for bill in client.get(address).context["cl"].result_list}
    assert rows == {claim.pk: f"{REJECTION_CODES['C04']} Send the endorsement.", other.pk: ""}
    assert "Send the endorsement." in client.get(address).content.decode()
    with CaptureQueriesContext(connection) as captured:
        client.get(address)
    assert len([each for each in captured if "rejectionsentence" in each["sql"]]) == 1
