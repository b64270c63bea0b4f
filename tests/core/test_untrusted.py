"""Processes that read files of strangers: what they have, and what ends them."""

import ast
import os
import tempfile

import pytest

from apps.core import untrusted
from apps.core.table_files import opening
from apps.core.table_files.formats import read_table
from apps.core.table_files.tables import ImportFileError
from apps.core.untrusted import ProcessEnded, ProcessLimits, Reason, run_limited

pytestmark = pytest.mark.usefixtures("reader_process")

MODULE = "tests.core.untrusted_process"
LIMITS = ProcessLimits(memory=256 << 20, seconds=1, output=1 << 20)


def answer_to(do):
    with tempfile.TemporaryFile() as output:
        run_limited(MODULE, {"do": do}, LIMITS, output)
        output.seek(0)
        return output.read()


def test_the_process_has_no_secret_no_connection_and_no_django(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    with tempfile.TemporaryFile() as other:
        os.set_inheritable(other.fileno(), True)
        variables, files, modules = ast.literal_eval(answer_to("tell").decode())
    assert set(variables) <= {"PATH", "LC_CTYPE"}
    assert len(files) == 4  # three, and the folder that was listed
    assert "django" not in modules


ENDS = {
    "allocate": Reason.MEMORY,
    "abort": Reason.MEMORY,
    "compute": Reason.TIME,
    "write": Reason.OUTPUT,
    "leave": Reason.FAULT,
}


@pytest.mark.parametrize(("do", "reason"), ENDS.items(), ids=ENDS)
def test_a_process_that_goes_beyond_its_limits_is_ended(do, reason):
    with pytest.raises(ProcessEnded) as ended:
        answer_to(do)
    assert ended.value.reason == reason


def test_a_process_that_only_waits_is_ended_too(monkeypatch):
    monkeypatch.setattr(untrusted, "PATIENCE", 1)
    with pytest.raises(ProcessEnded) as ended:
        answer_to("wait")
    assert ended.value.reason == Reason.TIME


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may start processes beyond any limit")
def test_a_process_starts_no_other():
    with pytest.raises(ProcessEnded):
        answer_to("start")


# --- the reader of imports


def a_file(folder, text="A,B\n1,2\n", name="a.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("setting", "value", "reason", "sentence"),
    [
        ("IMPORT_MEMORY_MB", 4, "allocate", r"a.csv needs more memory than imports may use \(4 MB\)"),
        ("IMPORT_READ_SECONDS", 1, "compute", r"a.csv takes longer to read than imports may \(1 s\)"),
        ("IMPORT_MEMORY_MB", 256, "write", "a.csv unpacks into too much; save it as CSV"),
        ("IMPORT_MEMORY_MB", 256, "leave", "a.csv cannot be read: its reader ended unexpectedly"),
    ],
)
def test_a_reader_that_is_ended_is_a_sentence_with_advice(
    tmp_path, settings, monkeypatch, setting, value, reason, sentence
):
    setattr(settings, setting, value)
    monkeypatch.setattr(
        opening, "run_limited", lambda _, __, ___, output: run_limited(MODULE, {"do": reason}, LIMITS, output)
    )
    with pytest.raises(ImportFileError, match=sentence):
        opening.open_table(a_file(tmp_path))


ANSWERS = {
    "nothing": b"",
    "no outcome": b'[[2,["1"],null,null]]\n',
    "an outcome of another type": b'{"header": 7}',
    "text that is none": b"\xff\xfe\xfd",
    "nested without end": b"[" * 1_000_000,
    "a long line": b"x" * 100_000,
}
BAD_ROWS = {
    "cells that are no texts": b'[[2,[{"a":1}],null,null]]\n',
    "a number that is none": b'[["x",["1"],null,null]]\n',
    "an object": b'{"__class__":"os.system"}\n',
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_a_reader_answers_is_not_trusted(tmp_path, monkeypatch, answer):
    monkeypatch.setattr(opening, "run_limited", lambda _, __, ___, output: output.write(answer))
    with pytest.raises(ImportFileError, match=r"a.csv cannot be read\."):
        opening.open_table(a_file(tmp_path))


@pytest.mark.parametrize("answer", BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_of_another_type_are_refused(tmp_path, monkeypatch, answer):
    outcome = b'{"header":["A"]}'
    monkeypatch.setattr(opening, "run_limited", lambda _, __, ___, output: output.write(answer + outcome))
    with pytest.raises(ImportFileError, match=r"a.csv cannot be read\."):
        list(opening.open_table(a_file(tmp_path)).rows())


def test_a_table_that_is_handed_over_is_the_table_that_was_read(tmp_path):
    rows = "".join(f"{number};Zoë {number}\n" for number in range(2_000))
    path = a_file(tmp_path, f"sep=;\nTitle\nA;B\n{rows}only one\n")
    read, opened = read_table(path), opening.open_table(path)
    assert list(opened.rows()) == list(read.rows())
    assert opened.notices() == read.notices()
    for name in ("header", "header_row", "encoding", "delimiter", "sheets"):
        assert getattr(opened, name) == getattr(read, name)
    assert opened.first_rows == read.first_rows
    for name in ("has_cell_addresses", "has_formula_guards"):
        assert getattr(opened, name) is getattr(read, name) is True
    assert [row.number for row in opening.open_table(path, max_rows=2).rows()] == [3, 4]


def test_rows_can_be_read_side_by_side(tmp_path):
    path = a_file(tmp_path, "A\n" + "".join(f"{number}\n" for number in range(1_500)))
    table = opening.open_table(path)
    assert all(one == other for one, other in zip(table.rows(), table.rows(), strict=True))


def test_half_a_character_is_a_defect_of_its_row(tmp_path):
    path = a_file(tmp_path, '[{"A": "x"}, {"A": "\\ud800"}]', "a.json")
    assert [row.defect for row in opening.open_table(path).rows()] == [
        None,
        "has half a character in a text.",
    ]


def test_a_name_with_half_a_character_is_refused(tmp_path):
    with pytest.raises(ImportFileError, match=r"a\.json cannot be read"):
        opening.open_table(a_file(tmp_path, '[{"\\ud800": "x"}]', "a.json"))
