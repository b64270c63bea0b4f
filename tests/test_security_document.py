"""docs/security.md names tests that exist, and each requirement of OWASP ASVS 5.0 up to level 2 once."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = (ROOT / "docs" / "security.md").read_text()

#: The requirements of levels 1 and 2 are the first ones of each section: how many of them.
REQUIREMENTS = {
    **{"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2},
    **{"3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3},
    **{"5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4, "7.1": 3},
    **{"7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3},
    **{"9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2},
    **{"11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1},
    **{"13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7},
    **{"16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4, "17.3": 2},
}


def requirements():
    return [f"{section}.{n}" for section, count in REQUIREMENTS.items() for n in range(1, count + 1)]


def listed():
    """The numbers in the first column, `1.2.6 to 1.2.8` as three."""
    for cell in re.findall(r"^\| v5\.0\.0-([^|]+) \|", DOCUMENT, re.MULTILINE):
        for first, last in re.findall(r"(\d+\.\d+\.\d+)(?: to \d+\.\d+\.(\d+))?", cell):
            section, _, number = first.rpartition(".")
            yield from (f"{section}.{n}" for n in range(int(number), int(last or number) + 1))


@cache
def names_of_tests(path):
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_requirement_of_levels_1_and_2_is_listed_once():
    assert len(requirements()) == 253
    assert Counter(listed()) == Counter(requirements())


def test_each_test_that_is_named_exists():
    named = re.findall(r"`([\w/]*(?:\.py)?)::(test_\w+)`", DOCUMENT)
    assert len(named) > 80
    path = ""
    for file, name in named:
        path = file or path  # `::test_…` is of the file named before it
        assert name in names_of_tests(path), f"{path} has no {name}"
