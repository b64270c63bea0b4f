"""What draft classes annotate is compared at start with the declaration, or with the model of the page."""

import ast
import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from django.contrib import admin

from apps.base import draft_checks
from apps.base.declaration.resource import (
    GET,
    POST,
    Contains,
    Embedded,
    Key,
    NestedType,
    Optional,
    RefersTo,
    Required,
    UnrestrictedResource,
)
from apps.base.declaration.service import Service, get_service
from apps.base.drafts import Draft, Extra
from apps.core.admin_base import RecordAdmin
from apps.odata import checks
from apps.people.models import Client, Contact, Role, Staff, Team

ROOT = Path(__file__).resolve().parents[2]
PLACE = "tests/odata/test_draft_checks.py: "


class LineDraft(Draft):
    phone1: str | None


class ContactLine(NestedType):
    model = Contact
    draft_class = LineDraft
    fields = (Key("ContactGuid"), Required("LastName"), Optional("Phone1"))


class RoleBrief(NestedType):
    model = Role
    fields = (Key("RoleGuid"),)


class TeamBrief(NestedType):
    model = Team
    fields = (Key("TeamId", source="id"),)


class AddressType(NestedType):
    fields = (Optional("Country"),)


class Sample(UnrestrictedResource):
    """Of each kind of member one."""

    model = Staff
    path = "sample"
    order = ("last_name",)
    methods = (GET, POST)
    fields = (
        Key("StaffGuid"),
        Required("LastName"),
        Optional("FirstName"),
        Optional("Birthday"),
        Optional("DisableLoginDate"),
        Optional("UsePrimaryEmail"),
        Optional("AccountManagerGuid", source="account_manager"),
        Embedded("Address", AddressType),
        RefersTo("Role", RoleBrief, required=True),
        RefersTo("Teams", TeamBrief, many=True),
        Contains("Contacts", ContactLine, source="contacts"),
    )
    create = dict


class WholeDraft(Draft):
    last_name: str
    birthday: dt.date | None
    disable_login_date: dt.datetime | None
    use_primary_email: bool
    account_manager: Staff | None
    country: str | None
    role: Role
    teams: list[Team]
    contacts: list[LineDraft]
    total: Extra[Decimal]


def messages_about(draft_class: type, **differences: Any) -> list[str]:
    own = {"__doc__": Sample.__doc__, "draft_class": draft_class}
    resource = type("SampleResource", (Sample,), {**own, **differences})
    found = checks.check_service(Service(resource, namespace="Test"))
    assert {message.id for message in found} <= {"odata.E023"}
    return [message.msg for message in found]


def draft_with(annotation: Any, name: str) -> type:
    namespace = {"__annotations__": {name: annotation}, "__module__": __name__}
    return type("SomeDraft", (WholeDraft,), namespace)


def test_annotations_that_fit_the_declaration_have_no_messages():
    assert messages_about(WholeDraft) == []


@pytest.mark.parametrize(
    ("name", "annotation", "types"),
    [
        ("last_name", str | None, "str | None, and its values are str"),
        ("birthday", dt.date, "date, and its values are date | None"),
        ("birthday", dt.datetime | None, "datetime | None, and its values are date | None"),
        ("disable_login_date", dt.date | None, "date | None, and its values are datetime | None"),
        ("use_primary_email", int, "int, and its values are bool"),
        ("use_primary_email", bool | None, "bool | None, and its values are bool"),
        ("account_manager", Contact | None, "Contact | None, and its values are Staff | None"),
        ("account_manager", Staff, "Staff, and its values are Staff | None"),
        ("country", Decimal | None, "Decimal | None, and its values are str | None"),
        ("role", Role | None, "Role | None, and its values are Role"),
        ("teams", list[Role], "list[Role], and its values are list[Team]"),
        ("contacts", list[Contact], "list[Contact], and its values are list[LineDraft]"),
    ],
)
def test_another_type_than_the_fields_is_named(name, annotation, types):
    assert messages_about(draft_with(annotation, name)) == [f"{PLACE}SomeDraft.{name} is declared as {types}"]


@pytest.mark.parametrize("annotation", [str, str | None])
def test_what_services_fill_in_is_annotated_as_rules_find_it(annotation):
    """It is optional, has no default and is not null in the database."""
    assert messages_about(draft_with(annotation, "first_name")) == []


def test_a_member_that_the_declaration_lacks_is_named_with_the_class_that_annotates_it():
    class BaseDraft(Draft):
        last_nmae: str

    class DerivedDraft(BaseDraft):
        last_name: str

    (message,) = messages_about(DerivedDraft)
    assert message.startswith(f"{PLACE}BaseDraft.last_nmae is no member of the declaration")
    assert message.endswith("that DerivedDraft is for")


def test_rows_of_contained_lists_are_checked_as_well():
    class WrongLine(Draft):
        phone1: int

    line = type("WrongContactLine", (ContactLine,), {"draft_class": WrongLine})
    contains = Contains("Contacts", line, source="contacts")
    (message,) = messages_about(Draft, fields=(*Sample.fields[:-1], contains))
    assert message == f"{PLACE}WrongLine.phone1 is declared as int, and its values are str | None"


def test_drafts_of_forms_and_imports_alone_have_the_columns_of_the_model():
    class RoleDraft(Draft):
        all_permissions: bool

    roles = {"model": Role, "fields": (Key("RoleGuid"),), "order": ("name",), "create": None}
    assert messages_about(RoleDraft, methods=(GET,), **roles) == []
    roles["fields"], roles["create"] = (Key("RoleGuid"), Required("Name")), dict
    (message,) = messages_about(RoleDraft, methods=(GET, POST), **roles)
    assert "RoleDraft.all_permissions is no member" in message


def test_the_draft_class_of_a_page_is_compared_with_its_model():
    class ClientDraft(Draft):
        business_name: int

    page = type("ClientPage", (RecordAdmin,), {"draft_class": ClientDraft})(Client, admin.site)
    (message,) = (each for each in page.check() if each.id == "core.E020")
    assert message.msg == f"{PLACE}ClientDraft.business_name is declared as int, and its values are str"
    page.draft_class = None
    assert not [each for each in page.check() if each.id == "core.E020"]


# --- names in quotes, which mypy does not read ------------------------------------------------------------

#: What reads or sets a member by its name, and what drafts are called.
BY_NAME = {"get", "fill", "has", "key_of", "gets_default", "mark_invalid"}
DRAFTS = {"draft", "drafts", "claim", "line", "bill", "invoice", "document"}


def names_in_quotes(tree: ast.AST) -> Iterator[ast.Constant]:
    """The names by which code reads members: ``draft.get("owner")``, ``vars(line)["price"]`` and the like."""
    members = {
        node.targets[0].id  # members = vars(line)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value).startswith("vars(")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver, named = ast.unparse(node.func.value), node.args[:1]
            is_named = node.func.attr in BY_NAME
        elif isinstance(node, ast.Call):
            receiver, named = ast.unparse(node.args[0]) if node.args else "", node.args[1:2]
            is_named = ast.unparse(node.func) == "keys_of"
        elif isinstance(node, ast.Subscript):
            receiver, named = ast.unparse(node.value), [node.slice]
            is_named = receiver.startswith("vars(") or receiver in members
        else:
            continue
        is_draft = receiver in DRAFTS | members or receiver.startswith("vars(")
        for name in named if is_named and is_draft else ():
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name


def all_members() -> set[str]:
    """Every member that some draft has: annotated, declared, or a column."""
    found: set[str] = set()
    classes = [Draft]
    while classes:
        draft_class = classes.pop()
        if draft_class.__module__.startswith("apps."):
            found |= get_type_hints(draft_class).keys()
        classes += draft_class.__subclasses__()
    for entity_set in get_service().entity_sets:
        for type_ in entity_set.type.walk():
            found |= (
                draft_checks.members_of_type(type_).keys() | draft_checks.members_of_model(type_.model).keys()
            )
    return found


def test_names_in_quotes_are_members_of_some_draft():
    known, wrong, seen = all_members(), [], 0
    for path in sorted((ROOT / "apps").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if {"validation", "services"} & set(parts):
            for name in names_in_quotes(ast.parse(path.read_text())):
                seen += 1
                if name.value not in known:
                    wrong.append(f"{'/'.join(parts)}.py:{name.lineno} reads {name.value}")
    assert not wrong, "\n".join(wrong)
    assert seen > 50


@pytest.mark.parametrize(
    "code",
    [
        'draft.get("ownr")',
        'line.fill("ownr", 1)',
        'vars(draft)["ownr"] = 1',
        'vars(draft).get("ownr")',
        'members = vars(claim)\nmembers["ownr"]',
        'keys_of(drafts, "ownr")',
    ],
)
def test_a_name_in_quotes_is_found(code):
    assert [name.value for name in names_in_quotes(ast.parse(code))] == ["ownr"]


def test_what_reads_no_draft_is_left_alone():
    assert not list(names_in_quotes(ast.parse('rows.get("ownr"); counts["ownr"]; draft.get(name)')))
