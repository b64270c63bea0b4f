"""Several files that are imported in one go: results, remittances, returned payments."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.core.admin.file_imports import MOST_FILES
from apps.core.models import FileImport
from apps.funding.models import Claim, Remittance
from tests.core.test_file_imports import CONTACTS, IMPORTS, an_import, press
from tests.funding.answer_files import REMITTANCE, a_payment, as_csv
from tests.funding.builders import a_claim
from tests.funding.claim_files import claimed_lines
from tests.people.records import get_unrendered
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def today(at):
    at("2026-11-24 12:00")


@pytest.fixture
def paid(tmp_path):
    """The contents of remittances that each pay another claim."""

    def contents(count):
        for number in range(count):
            (line,) = claimed_lines(a_claim(1, funding_status="AgencyClaimed"))
            row = a_payment(line.reference, "140.00", f"40{number}")
            yield as_csv(tmp_path / "paid.csv", [row]).read_bytes()

    return contents


def choose(client, files, kind="remittances"):
    """The answer to a form with the files, by their names."""
    chosen = [SimpleUploadedFile(name, content) for name, content in files.items()]
    return client.post(f"{IMPORTS}add/", {"kind": kind, "file": chosen})


def listed(client, address):
    """The imports of the list as it shows them, by the names of their files: status and result."""
    changes = get_unrendered(client, address).context_data["cl"]
    shown = changes.model_admin
    return {each.file_name: (each.status, shown.result(each)) for each in changes.result_list}


def said(client, address):
    return [str(message) for message in client.get(address).context["messages"]]


def import_certain(client, address):
    keys = [str(key) for key in FileImport.objects.values_list("pk", flat=True)]
    return client.post(address, {"action": "import_certain", "_selected_action": keys})


SUMS = "1 row (140.00) = 1 applied (140.00)."


def test_one_bad_file_among_five_says_its_fault_and_the_others_go_in(client, ada, paid):
    an_import(client, text="First name,Surname\nIda,Quill")
    files = {f"r{number}.csv": content for number, content in enumerate(paid(5))}
    files["r2.csv"] = files["r2.csv"].replace(b"140.00", b"14O.00")
    answer = choose(client, files)
    assert answer.status_code == 302
    run_tasks()
    shown = listed(client, answer["Location"])
    assert shown.pop("r2.csv") == ("Checked", "row 2, K2: AmountPaid must be a number. It is “14O.00”.")
    assert shown == {f"r{number}.csv": ("Checked", SUMS) for number in (0, 1, 3, 4)}
    assert not Remittance.objects.exists()
    assert import_certain(client, answer["Location"])["Location"] == answer["Location"]
    run_tasks()
    assert said(client, answer["Location"]) == [
        "r2.csv was left: open it to see its faults.",
        "4 files will be imported.",
    ]
    assert Remittance.objects.count() == 4
    assert Claim.objects.filter(funding_status="AgencyFullyPaid").count() == 4
    assert [status for status, _ in listed(client, answer["Location"]).values()].count("Imported") == 4
    import_certain(client, answer["Location"])
    run_tasks()
    assert "r0.csv was left: its status is Imported." in said(client, answer["Location"])


def test_a_file_that_cannot_be_taken_is_named_and_the_others_are_read(client, ada, paid):
    (content,) = paid(1)
    answer = choose(client, {"paid.csv": content, "paid.pdf": content + b"x", "none.csv": b""})
    run_tasks()
    assert set(listed(client, answer["Location"])) == {"paid.csv"}
    first, second = said(client, answer["Location"])
    assert (first[:16], second) == ("paid.pdf is none", "none.csv is empty.")
    answer = choose(client, {"a.pdf": content, "none.csv": b""})
    assert answer.status_code == 200
    assert [str(each)[:9] for each in answer.context["messages"]] == ["a.pdf is ", "none.csv "]
    assert FileImport.objects.count() == 1


def test_the_same_file_twice_is_one_import(client, ada, paid):
    one, other = paid(2)
    answer = choose(client, {"a.csv": one, "b.csv": other, "c.csv": one})
    run_tasks()
    assert set(listed(client, answer["Location"])) == {"a.csv", "b.csv"}
    assert said(client, answer["Location"]) == ["c.csv is the same file as a.csv: it is read once."]


def test_files_of_records_are_read_one_at_a_time(client, ada):
    people = CONTACTS.encode()
    answer = choose(client, {"a.csv": people, "b.csv": people + b"\n"}, kind="contact")
    assert answer.context["error"] == "Files of this kind are read one at a time; you chose 2."
    record = an_import(client)
    import_certain(client, IMPORTS)
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Checked"
    (text,) = said(client, IMPORTS)
    assert text == "people.csv was left: files of this kind are imported on their own page."


def test_no_more_files_are_read_than_a_page_of_the_list_shows(client, ada):
    files = {f"{number}.csv": str(number).encode() for number in range(MOST_FILES + 1)}
    answer = choose(client, files)
    assert answer.context["error"] == "Files of this kind are read at most 50 at once; you chose 51."
    assert not FileImport.objects.exists()


def test_a_file_that_may_be_of_other_lines_is_left(client, ada, tmp_path):
    first, second = claimed_lines(a_claim(2, funding_status="AgencyClaimed"))
    files = {
        name: as_csv(tmp_path / name, [a_payment(line.reference, "40.00", AmountClaimed=claimed)])
        for name, line, claimed in (("short.csv", first, "140.00"), ("other.csv", second, "99.00"))
    }
    answer = choose(client, {name: path.read_bytes() for name, path in files.items()})
    run_tasks()
    import_certain(client, answer["Location"])
    run_tasks()
    assert {name: status for name, (status, _) in listed(client, answer["Location"]).items()} == {
        "short.csv": "Imported",
        "other.csv": "Checked",
    }
    assert "other.csv was left: open it to see its warnings." in said(client, answer["Location"])


def test_a_file_with_a_row_that_is_not_certain_is_left(client, ada, tmp_path, paid):
    (line,) = claimed_lines(a_claim(1, funding_status="AgencyClaimed"))
    rows = [a_payment(line.reference, "140.00"), a_payment(line.reference, "-5.00", "401")]
    back = as_csv(tmp_path / "back.csv", rows).read_bytes()
    none = (",".join(REMITTANCE) + "\r\n" + ",".join(a_payment("X", "1.00").values())).encode()
    (good,) = paid(1)
    answer = choose(client, {"back.csv": back, "none.csv": none, "good.csv": good})
    run_tasks()
    import_certain(client, answer["Location"])
    run_tasks()
    assert {name: status for name, (status, _) in listed(client, answer["Location"]).items()} == {
        "back.csv": "Checked",
        "none.csv": "Checked",
        "good.csv": "Imported",
    }
    assert "none.csv was left: there is nothing to import in it." in said(client, answer["Location"])
    record = FileImport.objects.get(file_name="back.csv")
    press(client, record, "import")
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Imported"


def test_the_form_takes_several_files_of_the_kinds_that_allow_it(client, ada):
    text = client.get(f"{IMPORTS}add/?kind=results").content.decode()
    assert '<option value="results" data-many selected>' in text
    assert '<option value="contact">' in text
    assert " multiple>" in text
    assert '<option value="returned-payments" data-many>' in text
