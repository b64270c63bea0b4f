"""A warning is complete: its code beside its function, its place in the list, its row of the page."""

import ast
import re
from pathlib import Path

import pytest

from apps.funding.validation import duplicates, plan_warnings, warnings
from apps.funding.validation.warning_codes import WARNING_LABELS, warning_code, warning_label
from tests.funding.test_warnings import ALONE

SOURCE, PLANS, DUPLICATES = SOURCES = [
    Path(module.__file__).relative_to(Path.cwd()) for module in (warnings, plan_warnings, duplicates)
]
PAGE = Path("docs/warnings.md")
LISTS = ("LINE_WARNINGS", "PLAN_WARNINGS", "INVOICE_WARNINGS", "CLAIM_WARNINGS")


def names_in(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def find_missing_steps(texts):
    """A sentence for each step that a warning lacks, with the file that it belongs in."""
    trees = {path: ast.parse(texts[path]) for path in SOURCES}
    body = [node for tree in trees.values() for node in tree.body]
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    codes = {name: code for tree in trees.values() for name, code in declared_in(tree)}
    for path, node in ((path, node) for path, tree in trees.items() for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Issue":
            code = ast.unparse(node.args[0])
            if code not in codes and code != "issue.code":
                yield f"{path}:{node.lineno}: declare {code} by {warning_code.__name__}, and name it here"

    for name in sorted(codes.keys() - {name for each in functions.values() for name in names_in(each)}):
        yield f"no function finds {name}: write one, or take the code out"

    lists = [node for node in body if isinstance(node, ast.AnnAssign) and node.target.id in LISTS]
    used = {name for each in (*lists, *functions.values()) for name in names_in(each)}
    finders = {name for name, each in functions.items() if codes.keys() & names_in(each)}
    of_provider_invoices = {node.name for node in trees[DUPLICATES].body if isinstance(node, ast.FunctionDef)}
    for name in sorted(finders - used - of_provider_invoices):
        yield f"{SOURCE}: put {name} into LINE_WARNINGS, PLAN_WARNINGS, CLAIM_WARNINGS or INVOICE_WARNINGS"

    section = texts[PAGE].partition("## Claims and invoices")[2].partition("\n## ")[0]
    rows = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    for code in sorted(set(codes.values()) - rows):
        yield f"{PAGE}: add a row for {code} to the table of claims and invoices"
    for code in sorted(rows - set(codes.values())):
        yield f"{PAGE}: the row {code} is of no warning"


def declared_in(tree):
    """Name and value of each code that a module declares."""
    for node in tree.body:
        is_call = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if is_call and ast.unparse(node.value.func) == warning_code.__name__:
            yield node.targets[0].id, ast.literal_eval(node.value.args[0])


def read_all():
    return {path: path.read_text() for path in (*SOURCES, PAGE)}


def find_further_steps(texts):
    """Without what a warning lacks that somebody is writing: one test names that."""
    known = set(find_missing_steps(read_all()))
    return [each for each in find_missing_steps(texts) if each not in known]


def test_no_warning_lacks_a_step():
    assert list(find_missing_steps(read_all())) == []


def test_every_warning_is_tested_by_itself():
    missing = WARNING_LABELS.keys() - ALONE.keys()
    assert not missing, f"tests/funding/test_warnings.py: ALONE has no draft that warns of {missing} only"


NEW = """
def quantity_is_small(line, context, bill):
    return Issue(OF_A_TEST, "quantity", "That is a lot.")


#: In the order"""
CODE = 'FUTURE_SERVICE = warning_code("FutureService", "Future service")'
LIST = "LINE_WARNINGS: tuple[LineWarning, ...] = ("
STEPS = {
    "the code": (SOURCE, CODE, f'{CODE}\nOF_A_TEST = warning_code("OfATest", "Of a test")'),
    "the function": (SOURCE, "\n#: In the order", NEW),
    "the place in the list": (SOURCE, LIST, f"{LIST}\n    quantity_is_small,"),
    "the row of the page": (PAGE, "## Claims and invoices", "## Claims and invoices\n| `OfATest` | many |"),
}
TOLD = {
    "the code": "docs/warnings.md: the row OfATest is of no warning",
    "the function": "no function finds OF_A_TEST",
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
    # Its name is unknown where it is used as well.
    assert len(told) == {None: 0, "the code": 2}.get(left_out, 1)
    assert left_out is None or TOLD[left_out] in told[-1]


def test_a_code_that_is_a_text_is_named_with_its_line():
    texts = read_all()
    texts[PLANS] = texts[PLANS].replace("Issue(OVER_BUDGET,", 'Issue("OverBudget",')
    line, unused = find_further_steps(texts)
    assert re.fullmatch(rf"{PLANS}:\d+: declare 'OverBudget' by warning_code, and name it here", line)
    assert "no function finds OVER_BUDGET" in unused


def test_a_stored_code_of_another_version_is_its_own_label():
    assert warning_label("TooOld") == "Too old"
    assert warning_label("OfLater") == "OfLater"
