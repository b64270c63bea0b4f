"""A warning is complete: its code, its function, its place in the list, its row of the page, its example."""

import ast
import re
from pathlib import Path

import pytest

from apps.funding.validation import plan_warnings, warning_codes, warnings
from apps.funding.validation.warning_codes import WarningCode, warning_label
from tests.funding.test_warnings import ALONE

CODES, SOURCE, PLANS = (
    Path(module.__file__).relative_to(Path.cwd()) for module in (warning_codes, warnings, plan_warnings)
)
PAGE = Path("docs/warnings.md")
LISTS = ("LINE_WARNINGS", "PLAN_WARNINGS", "INVOICE_WARNINGS", "CLAIM_WARNINGS")


def names_in(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def is_code(node):
    """Whether an expression is a code of the enumeration."""
    of_enumeration = isinstance(node, ast.Attribute) and ast.unparse(node.value) == WarningCode.__name__
    return of_enumeration and node.attr.isupper()


def find_missing_steps(texts):
    """A sentence for each step that a warning lacks, with the file that it belongs in."""
    trees = {path: ast.parse(texts[path]) for path in (CODES, SOURCE, PLANS)}
    body = [node for tree in trees.values() for node in tree.body]
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    for path, node in ((path, node) for path, tree in trees.items() for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Issue" and not names_the_code(node):
            yield f"{path}:{node.lineno}: add {ast.unparse(node.args[0])} to WarningCode, and name it so"

    members = {node.attr for each in functions.values() for node in ast.walk(each) if is_code(node)}
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    declared = [node for node in classes[WarningCode.__name__].body if isinstance(node, ast.Assign)]
    codes = {node.targets[0].id: ast.literal_eval(node.value)[0] for node in declared}
    for name in sorted(codes.keys() - members):
        yield f"{CODES}: no function finds WarningCode.{name}: write one, or take the code out"

    lists = [node for node in body if isinstance(node, ast.AnnAssign) and node.target.id in LISTS]
    used = {name for each in (*lists, *functions.values()) for name in names_in(each)}
    finders = {name for name, each in functions.items() if any(map(is_code, ast.walk(each)))}
    for name in sorted(finders - used):
        yield f"{SOURCE}: put {name} into LINE_WARNINGS, PLAN_WARNINGS, CLAIM_WARNINGS or INVOICE_WARNINGS"

    section = texts[PAGE].partition("## Claims and invoices")[2].partition("\n## ")[0]
    rows = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    for code in sorted(set(codes.values()) - rows):
        yield f"{PAGE}: add a row for {code} to the table of claims and invoices"
    for code in sorted(rows - set(codes.values())):
        yield f"{PAGE}: the row {code} is of no warning in {CODES}"


def names_the_code(call):
    """Whether the code of an issue is one of the enumeration, or that of an issue found before."""
    return is_code(call.args[0]) or ast.unparse(call.args[0]) == "issue.code"


def read_all():
    return {path: path.read_text() for path in (CODES, SOURCE, PLANS, PAGE)}


def find_further_steps(texts):
    """Without what a warning lacks that somebody is writing: one test names that."""
    known = set(find_missing_steps(read_all()))
    return [each for each in find_missing_steps(texts) if each not in known]


def test_no_warning_lacks_a_step():
    assert list(find_missing_steps(read_all())) == []


def test_every_warning_is_tested_by_itself():
    missing = set(WarningCode.values) - ALONE.keys()
    assert not missing, f"tests/funding/test_warnings.py: ALONE has no draft that warns of {missing} only"


NEW = """
def quantity_is_small(line, context, bill):
    return Issue(WarningCode.OF_A_TEST, "quantity", "That is a lot.")


#: In the order"""
CODE = 'FUTURE_SERVICE = "FutureService", "Future service"'
LIST = "LINE_WARNINGS: tuple[LineWarning, ...] = ("
STEPS = {
    "the code": (CODES, CODE, f'{CODE}\n    OF_A_TEST = "OfATest", "Of a test"'),
    "the function": (SOURCE, "\n#: In the order", NEW),
    "the place in the list": (SOURCE, LIST, f"{LIST}\n    quantity_is_small,"),
    "the row of the page": (PAGE, "## Claims and invoices", "## Claims and invoices\n| `OfATest` | many |"),
}
TOLD = {
    "the code": "docs/warnings.md: the row OfATest is of no warning",
    "the function": "no function finds WarningCode.OF_A_TEST",
    "the place in the list": "put quantity_is_small into LINE_WARNINGS",
    "the row of the page": "docs/warnings.md: add a row for OfATest",
}


@pytest.mark.parametrize("left_out", [None, *STEPS])
def test_a_step_of_a_new_warning_that_is_left_out_is_named(left_out):
    texts = read_all()
    for step, (path, place, text) in STEPS.items():
        assert place in texts[path]
        if step != left_out:
            texts[path] = texts[path].replace(place, text)
    told = find_further_steps(texts)
    assert len(told) == (left_out is not None)
    assert all(TOLD[left_out] in each for each in told)


def test_a_code_that_is_a_text_is_named_with_its_line():
    texts = read_all()
    texts[PLANS] = texts[PLANS].replace("Issue(WarningCode.OVER_BUDGET,", 'Issue("OverBudget",')
    line, unused = find_further_steps(texts)
    assert re.fullmatch(rf"{PLANS}:\d+: add 'OverBudget' to WarningCode, and name it so", line)
    assert "no function finds WarningCode.OVER_BUDGET" in unused


def test_a_stored_code_of_another_version_is_its_own_label():
    assert warning_label("TooOld") == "Too old"
    assert warning_label("OfLater") == "OfLater"
