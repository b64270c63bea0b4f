"""The example of apps/odata/README.md: an app that has nothing of ours but the protocol."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "tests" / "odata" / "example"
README = ROOT / "apps" / "odata" / "README.md"


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, "-m", "tests.odata.example"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_the_example_answers(answers):
    created, refused, filtered, page, metadata, batch, _ = answers
    assert created["status"] == 201
    assert [book["Pages"] for book in created["body"]["value"]] == [604, None]
    assert refused["status"] == 400
    (fault,) = refused["body"]["error"]["details"]
    assert (fault["code"], fault["target"]) == ("OutOfRange", "Pages")
    assert filtered["body"]["@odata.count"] == 1
    assert [book["Title"] for book in filtered["body"]["value"]] == ["Dune"]
    assert len(page["body"]["value"]) == 1
    assert page["body"]["@odata.nextLink"].startswith("http://testserver/api/Book?")
    assert metadata["body"]["Library"]["Book"]["$Key"] == ["BookId"]
    assert batch["body"]["responses"][0]["body"] == "2"


def test_the_example_needs_no_other_app_of_ours(answers):
    assert answers[-1] == ["base", "odata"]


@pytest.mark.parametrize("name", ["library.py", "settings.py"])
def test_the_readme_shows_the_example(name):
    assert (EXAMPLE / name).read_text() in README.read_text()
