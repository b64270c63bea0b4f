"""The command that makes mutants: what it changes and leaves alone, and which tests it runs first."""

import ast
import importlib.util

import pytest

from apps import funding
from apps.funding import statuses
from apps.funding.statuses import InvoiceStatus
from tests.mutants.__main__ import accepted
from tests.mutants.mutations import AREAS, ROOT, all_mutants, changes
from tests.mutants.pytest_plugin import MutantFinder
from tests.mutants.selection import LinesOfTests


def mutated_sources(source):
    """The source of each mutant, one line each."""
    tree = ast.parse(source)
    found = []
    for place, node in changes(tree):
        place.put(node)
        found.append("; ".join(ast.unparse(tree).split("\n")))
        place.put(place.node)
    return found


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a >= b", ["a > b", "a < b"]),
        ("a == b", ["a != b"]),
        ("a is not b", ["a is b"]),
        ("a in b", ["a not in b"]),
        ("a and b", ["a or b"]),
        ("not a", ["a"]),
        ("True", ["False"]),
        ("30", ["31", "29"]),
        ("a + b", ["a - b"]),
        ("a | b", ["a & b"]),
        ("[a for a in b if a]", ["[a for a in b if not a]"]),
        ("a if b else c", ["a if not b else c"]),
    ],
)
def test_an_expression_is_changed_in_one_place(source, mutants):
    assert mutated_sources(f"x = {source}") == [f"x = {mutant}" for mutant in mutants]


@pytest.mark.parametrize(
    ("statement", "mutants"),
    [
        ("f(a)", ["pass"]),
        ("a = b", ["pass"]),
        ("a += b", ["a -= b", "pass"]),
        ("raise a", ["pass"]),
        ("return a", ["return None"]),
        ("yield a", ["if False:;         yield a"]),
        ("if a: return", ["if not a:;         return"]),
    ],
)
def test_a_statement_is_left_out_or_turned_round(statement, mutants):
    expected = [f"def g():;     {mutant}" for mutant in mutants]
    assert mutated_sources(f"def g():\n    {statement}") == expected


def test_a_list_of_rules_lacks_one_of_them():
    assert mutated_sources("RULES = (a, b)") == ["RULES = (b,)", "RULES = (a,)"]
    assert mutated_sources("ROWS = {a: b, c: d}") == ["ROWS = {c: d}", "ROWS = {a: b}"]


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""',
        "import a",
        "assert a > 1",
        "x: Annotated[int, 1]",
        'x = f"{1 + 2}"',
        'x = ("OnHold", "On hold")',
        "@cached(1)\ndef f():\n    pass",
        "class A(B[1]):\n    pass",
        "class A:\n\n    def __repr__(self):\n        return a(1)",
        "def f():\n    logger.warning(1)",
        "if TYPE_CHECKING:\n    x = 1",
        "zip(a, b, strict=True)",
    ],
)
def test_what_is_no_rule_is_left_alone(source):
    assert mutated_sources(source) == []


def test_every_area_has_mutants_and_each_has_a_name_of_its_own():
    mutants = all_mutants()
    assert {mutant.area for mutant in mutants} == set(AREAS)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    assert set(accepted()) <= {mutant.name for mutant in mutants}, "survivors.toml names what is no mutant"


def test_a_process_has_the_mutant_of_its_module_and_no_other(monkeypatch):
    mutant = next(each for each in all_mutants() if "statuses:Status.label: return" in each.name)
    monkeypatch.setenv("MUTANT", mutant.name)
    assert MutantFinder.find_spec("apps.funding.models", funding.__path__) is None
    spec = MutantFinder.find_spec("apps.funding.statuses", funding.__path__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    approved = InvoiceStatus.APPROVED
    assert (module.STATUSES[approved].label, statuses.STATUSES[approved].label) == (None, "Approved")


def test_tests_that_execute_the_line_run_with_the_likeliest_first(tmp_path):
    mutant = next(each for each in all_mutants() if ":birthdays_are_of_living_people:" in each.name)
    line = {str(mutant.lines[0]): [0, 1, 2]}
    names = ["test_long", "test_a_birthday_reminder", "test_short", "test_of_another_birthday"]
    lines_of_tests = LinesOfTests(tmp_path / "none")
    lines_of_tests.tests = {
        "a": {
            "seconds": dict.fromkeys(names, 1),
            "lines": {"apps/people/validation.py": line, "apps/people/services.py": {"1": [0, 3]}},
        }
    }
    assert lines_of_tests.tests_for(mutant, 60) == ["test_a_birthday_reminder", "test_short", "test_long"]


def test_a_statement_is_tried_with_tests_of_its_line_and_not_of_its_variables(tmp_path):
    mutant = next(each for each in all_mutants() if "remove_records: [delete_notices(model" in each.name)
    path = "apps/operations/services/erasure.py"
    functions = ast.parse((ROOT / path).read_text()).body
    reader = next(each for each in functions if getattr(each, "name", "") == "hash_rows")
    lines = {str(reader.lineno): [0], str(mutant.lines[0]): [1]}
    names = ["test_model_keys", "test_erasure"]
    lines_of_tests = LinesOfTests(tmp_path / "none")
    lines_of_tests.tests = {"a": {"seconds": dict.fromkeys(names, 1), "lines": {path: lines}}}
    assert lines_of_tests.tests_for(mutant, 60) == ["test_erasure"]


def test_what_reads_the_name_of_a_constant_is_tried_before_what_the_constant_names(tmp_path):
    mutant = next(each for each in all_mutants() if "{SendPaymentTo.CLIENT.[value" in each.name)
    assert mutant.assigned == {"REIMBURSED"}
    path = "apps/funding/services/create.py"
    functions = ast.parse((ROOT / path).read_text()).body
    reader = next(each for each in functions if getattr(each, "name", "") == "apply_claim_defaults")
    lines = {str(reader.lineno): [0, 1], "1": [2]}
    names = ["test_short", "test_a_payment[ClientRepresentative]", "test_client_representative"]
    lines_of_tests = LinesOfTests(tmp_path / "none")
    lines_of_tests.tests = {"a": {"seconds": dict.fromkeys(names, 1), "lines": {path: lines}}}
    assert lines_of_tests.tests_for(mutant, 60) == [names[1], names[0]]
