"""The issues of an import as a file and by kind; what values mean, kept for the next file."""

import csv
import io

import openpyxl
import pytest
from django.core.management import CommandError, call_command

from apps.core.file_imports import delete_import_files
from apps.core.importing.rejected_rows import WorkbookRejectedRows
from apps.core.models import FileImport, FileImportPage, ImportMapping
from apps.core.table_files.tables import Row, Table
from apps.people.models import Contact
from tests.core.test_file_imports import IMPORTS, an_import, chosen, page, press, upload
from tests.funding.import_claims import GOOD as CLAIMS
from tests.funding.import_claims import HEADER as CLAIM_HEADER
from tests.funding.import_claims import an_office
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

HEADER = "First name,Surname,Sex,Email,Home state"
#: One good row, and as many of each kind of fault as the pages of the back office must turn.
ROWS = [
    "Ida,Quill,female,ida@example.org,TAS",
    *(f"Al{number},Orr,Herr,al{number}@example.org,TAS" for number in range(150)),
    *(f"Bo{number},Orr,Frau,bo{number}-at-home,TAS" for number in range(90)),
    "Cy,Orr,=HERR(),cy@example.org,TAS",
]


def imported(tmp_path, *words, rows=ROWS, header=HEADER):
    """What the command printed, and the lines of its file of issues."""
    path, issues, out = tmp_path / "people.csv", tmp_path / "issues.csv", io.StringIO()
    path.write_text("\n".join([header, *rows]))
    errors = io.StringIO()
    status = 0
    try:
        call_command("import_records", "contact", path, "--errors", tmp_path / "bad.csv", "--issues", issues,
                     *words, stdout=out, stderr=errors)  # fmt: skip
    except SystemExit as end:
        status = end.code
    with issues.open(encoding="utf-8-sig", newline="") as file:
        return status, out.getvalue(), list(csv.DictReader(file))


def test_the_command_writes_every_issue_and_counts_their_kinds(tmp_path):
    status, printed, lines = imported(tmp_path, "--ignore-unknown")
    assert status == 1
    assert len(lines) == 150 + 2 * 90 + 1
    assert lines[0] == {
        "Severity": "error",
        "Row": "3",
        "Column": "Sex",
        "Value": "Herr",
        "Code": "NotAChoice",
        "Sentence": lines[0]["Sentence"],
    }
    assert "must be one of" in lines[0]["Sentence"]
    assert lines[-1]["Value"] == "'=HERR()"  # no formula for a spreadsheet
    assert "241 × Sex, NotAChoice: " in printed
    assert "“Herr” 150 ×, “Frau” 90 ×, “=HERR()” 1 ×" in printed
    assert "90 × Email, InvalidEmail: " in printed


def test_what_a_spreadsheet_would_run_stays_a_text_in_what_comes_back(tmp_path):
    imported(tmp_path, "--ignore-unknown", rows=["Al,Orr,=HERR(),,TAS,x"], header=f"{HEADER},=1+1")
    header, row = (tmp_path / "bad.csv").read_text(encoding="utf-8-sig").splitlines()
    assert header.endswith(",'=1+1,Reason")
    assert row.startswith("Al,Orr,'=HERR(),")


def test_a_workbook_that_comes_back_has_texts_alone_and_no_character_that_none_can_have(tmp_path):
    table = Table(tmp_path / "people.xlsx")
    table.header = ["First name", "=1+1"]
    rejected = WorkbookRejectedRows(tmp_path / "bad.xlsx", table)
    rejected.add([(Row(2, ["A\x0bl", "=HERR()"]), "-1")])
    rejected.close()
    rows = list(openpyxl.load_workbook(tmp_path / "bad.xlsx").active.iter_rows())
    assert {cell.data_type for row in rows for cell in row} == {"s"}
    assert [cell.value for cell in rows[1]] == ["Al", "=HERR()", "-1"]


def test_values_mean_others_by_command_and_are_kept_under_a_name(tmp_path):
    words = ["--ignore-unknown", "--value", "sex:herr=Male", "--value", "Sex:FRAU=Female"]
    words += ["--map", "Home state=State", "--mapping", "The former system"]
    _, _, lines = imported(tmp_path, *words)
    assert {line["Column"] for line in lines if line["Value"] != "'=HERR()"} == {"Email"}
    assert set(Contact.objects.values_list("gender", flat=True)) == {"Male", "Female"}
    assert set(Contact.objects.values_list("state", flat=True)) == {"TAS"}
    more = ["Di,Orr,HERR,,NSW", "Ed,Orr,n/k,,NSW"]
    words = ["--mapping", "The former system", "--value", "Sex:n/k="]
    header = HEADER.replace("Surname,", "Surname,") + ",Not there before"
    status, _, lines = imported(
        tmp_path, "--ignore-unknown", *words, rows=[f"{row}," for row in more], header=header
    )
    assert (status, lines) == (0, [])
    found = Contact.objects.filter(state="NSW").order_by("first_name").values_list("first_name", "gender")
    assert list(found) == [("Di", "Male"), ("Ed", None)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--value", "Sex=Male"], 'write --value "Header:text=other text"'),
        (["--value", "Colour:red=blue"], "--value: the file has no column Colour."),
        (["--mapping", "unknown"], "No mapping is kept as unknown; there are: none."),
        (["--value", "Sex:a=Male", "--mapping", "x" * 61], "The name of a mapping has 1 to 60 letters."),
    ],
)
def test_what_says_nothing_is_refused(tmp_path, words, message):
    with pytest.raises(CommandError, match=message.replace("(", ".")):
        imported(tmp_path, "--ignore-unknown", *words)
    assert not ImportMapping.objects.exists()


def test_the_file_of_issues_is_another_than_that_of_the_records(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    with pytest.raises(CommandError, match="--issues must name another"):
        call_command("import_records", "contact", path, "--ignore-unknown", "--issues", path)
    assert path.read_text().startswith(HEADER)


# --- in the back office ---------------------------------------------------------------------------------


def test_the_page_shows_kinds_and_turns_over_all_rows(client, ada):
    record = an_import(client, text="\n".join([HEADER, *ROWS]))
    context = page(client, record)
    assert [(kind["header"], kind["count"], kind["values"][0]) for kind in context["kinds"]] == [
        ("Sex", 241, ("Herr", 150)),
        ("Email", 90, ("bo0-at-home", 1)),
    ]
    assert context["pages"] == [1, 2, 3]
    seen = []
    for number in (1, 2, 3):
        shown = client.get(f"{IMPORTS}{record.pk}/file/?page={number}").context
        seen += [row["number"] for row in shown["rows"]]
        assert shown["page_number"] == number
    assert seen == list(range(3, 244))
    for odd in ("0", "99", "x", "-1", "1" * 30):
        assert client.get(f"{IMPORTS}{record.pk}/file/?page={odd}").status_code == 200
    answer = client.get(f"{IMPORTS}{record.pk}/issues/")
    lines = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert len(lines) == 150 + 2 * 90 + 1
    assert answer["Content-Disposition"] == 'attachment; filename="people.issues.csv"'


def test_what_values_mean_is_said_once_and_kept_for_the_next_file(client, ada):
    record = an_import(client, text="\n".join([HEADER, *ROWS[:200]]))
    values = page(client, record)["values"]
    assert [(value["header"], value["text"], value["count"]) for value in values[:2]] == [
        ("Sex", "Herr", 150),
        ("Sex", "Frau", 49),
    ]
    assert values[0]["choices"] == ("Male", "Female", "Unspecified")
    said = {
        "text_2": ["Herr", "Frau"],
        "means_2": ["Male", ""],
        "empty_2": ["Frau"],
        "column_4": "Address/State",
    }
    press(client, record, "check", **chosen(record, **said, keep=" The former  system "))
    run_tasks()
    record.refresh_from_db()
    assert (record.status, record.counts["new"], record.counts["rejected"]) == ("Checked", 151, 49)
    means = {value["text"]: (value["means"], value["is_emptied"]) for value in page(client, record)["values"]}
    assert (means["Herr"], means["Frau"]) == (("Male", False), ("", True))
    mapping = ImportMapping.objects.get()
    assert (mapping.kind, mapping.name) == ("contact", "The former system")

    text = "\n".join([HEADER, "Di,Orr,HERR,di@example.org,NSW", "Ed,Orr,Frau,ed@example.org,NSW"])
    assert upload(client, text=text, mapping=mapping.pk).status_code == 302
    run_tasks()
    record = FileImport.objects.exclude(pk=record.pk).get()
    assert (record.status, record.counts["new"]) == ("Checked", 2)
    press(client, record, "import")
    run_tasks()
    found = Contact.objects.order_by("first_name").values_list("first_name", "gender", "state")
    assert list(found) == [("Di", "Male", "NSW"), ("Ed", None, "NSW")]


def test_a_mapping_of_another_kind_of_file_is_refused(client, ada):
    mapping = ImportMapping.objects.create(kind="client", name="Providers")
    answer = upload(client, mapping=mapping.pk)
    assert answer.status_code == 200
    assert "“Providers” was kept for files of another kind." in answer.content.decode()
    assert not FileImport.objects.exists()


def test_an_empty_cell_can_mean_a_value(client, ada):
    rows = [f"P{number},Orr,,p{number}@example.org," for number in range(3)]
    record = an_import(client, text="\n".join([HEADER, *rows]))
    press(client, record, "check", **chosen(record, text_2=[""], means_2=["Female"]))
    run_tasks()
    press(client, FileImport.objects.get(), "import")
    run_tasks()
    assert set(Contact.objects.values_list("gender", flat=True)) == {"Female"}


def test_shown_rows_and_the_file_of_issues_go_with_the_file(client, ada, settings):
    record = an_import(client, text="\n".join([HEADER, *ROWS]))
    assert FileImportPage.objects.count() == 2
    settings.IMPORT_FILE_DAYS = -1
    assert delete_import_files() == 1
    record.refresh_from_db()
    assert (record.content, record.all_issues, record.issues, record.issue_kinds) == (None, None, [], [])
    assert not FileImportPage.objects.exists()


def test_sentences_that_name_their_own_record_are_one_kind_with_an_example(client, ada):
    names = ("Acme", "Bell", "Cone", "Dune", "Elm", "Fig", "Gull")
    rows = [f"Ida,Quill,{name}" for name in (*names[:5], "Acme", *names[5:])]
    text = "\n".join(["First name,Surname,Company", *rows])
    record = an_import(client, text=text)
    (kind,) = page(client, record)["kinds"]
    assert (kind["count"], kind["is_example"], kind["example"]) == (8, True, "Acme")
    assert "Acme" in kind["message"]
    assert dict(kind["values"])["Acme"] == 2
    shown = client.get(f"{IMPORTS}{record.pk}/file/").content.decode()
    assert f"For example “Acme”: {kind['message']}" in shown


def test_a_sentence_that_all_rows_have_is_no_example(client, ada):
    context = page(client, an_import(client, text="\n".join([HEADER, *ROWS])))
    assert [kind["is_example"] for kind in context["kinds"]] == [False, False]


def test_the_command_names_the_cell_of_a_sentence_that_is_about_it(tmp_path):
    header = "First name,Surname,Sex,Email,Mob"
    rows = [f"Ida,Quill,female,ida{number}@example.org,41234567{number}" for number in range(3)]
    _, printed, _ = imported(tmp_path, rows=rows, header=header)
    assert (
        "3 × warning Mob, LeadingZeroRestored: for example “412345670”: It is taken as 0412345670" in printed
    )


def test_no_other_value_is_offered_for_what_is_understood(client, ada, at):
    at("2025-08-20 10:00")
    an_office()
    rows = [CLAIMS[0].replace("guide,2", "guide,two"), *CLAIMS[2:]]
    record = an_import(client, kind="claim", name="claims.csv", text="\n".join([CLAIM_HEADER, *rows]))
    context = page(client, record)
    warned = [kind["code"] for kind in context["kinds"] if kind["is_warning"]]
    assert "NoEngagement" in warned
    assert [(value["header"], value["text"]) for value in context["values"]] == [("Qty", "two")]
