"""The checks that name what was left out of a new column or a new record."""

from dataclasses import replace

import pytest
from django.contrib import admin

from apps.base.declaration import service as declaration
from apps.base.declaration.resource import V2_0, V2_1, VERSIONS, ReadOnly
from apps.base.declaration.service import Service, declared_set, get_service
from apps.core import declaration_checks
from apps.core.admin_base import Page
from apps.core.declaration_checks import check_declarations
from apps.core.domains import source_file
from apps.core.file_import_kinds import find_kind
from apps.core.importing.checks import check_imports
from apps.core.models import Responsibility
from apps.core.services import draft_class_of, service_of
from apps.documents.resources import DocumentResource
from apps.engagements.imports import ClientEngagementImport
from apps.odata.checks import check_service
from apps.people.admin.people import ClientAdmin
from apps.people.admin.staff import StaffAdmin
from apps.people.models import Client, Position, Staff
from apps.people.resources import ClientResource, PositionResource, RoleResource
from apps.sales.admin.pages import PipelineAdmin
from apps.sales.models import Opportunity


def test_our_declarations_and_pages_lack_nothing():
    assert check_declarations() == []
    assert [error for page in admin.site._registry.values() for error in page.check()] == []


@pytest.mark.parametrize(
    ("resource", "columns", "file"),
    [
        (
            RoleResource,
            [
                "Role.all_permissions",
                "Role.requires_second_factor",
                "Role.participants",
                "Role.permissions",
            ],
            "apps/people/resources.py",
        ),
        (DocumentResource, ["Document.contact"], "apps/documents/resources.py"),
    ],
)
def test_a_column_without_a_member_is_named_with_the_file(monkeypatch, resource, columns, file):
    monkeypatch.setattr(resource, "unpublished", ())
    errors = check_declarations()
    assert {error.id for error in errors} == {"core.E012"}
    assert [error.msg for error in errors] == [
        f"{resource.__name__} has no member for {each}." for each in columns
    ]
    assert all(file in error.hint for error in errors)


def test_a_short_list_without_a_resource_is_named(monkeypatch):
    others = [each for each in get_service().resources if each is not PositionResource]
    monkeypatch.setattr(declaration_checks, "get_service", lambda version: Service(*others, version=version))
    (error,) = check_declarations()
    assert (error.id, error.msg) == ("core.E003", "Position is a short list without a resource.")
    assert "apps/people/resources" in error.hint


def test_a_resource_without_a_page_in_the_back_office_is_named(monkeypatch):
    monkeypatch.delitem(admin.site._registry, Position)
    (error,) = check_declarations()
    assert (error.id, error.msg) == ("core.E004", "Position has no page in the back office.")
    assert "apps/people/admin" in error.hint


def test_a_column_that_a_form_does_not_show_is_named(monkeypatch):
    monkeypatch.setattr(ClientAdmin, "fieldsets", ClientAdmin.fieldsets[:-1])  # without the postal address
    errors = ClientAdmin(Client, admin.site).check()
    assert {error.id for error in errors} == {"core.E021"}
    assert errors[0].msg == "The form of clients does not show postal_street_address."
    assert len(errors) == 6
    assert "ClientAdmin" in errors[0].hint


def test_a_page_without_a_method_is_named(monkeypatch):
    monkeypatch.delattr(PipelineAdmin, "board_move_page")
    errors = [error for page in admin.site._registry.values() for error in page.check()]
    assert [error.id for error in errors] == ["core.E022"]
    assert errors[0].msg.endswith("has no method board_move_page for the page board/move.")


def test_an_action_for_which_nobody_needs_a_permission_is_named(monkeypatch):
    monkeypatch.delattr(StaffAdmin.disable_logins, "allowed_permissions")
    errors = StaffAdmin(Staff, admin.site).check()
    assert [(error.id, error.msg) for error in errors] == [
        ("core.E023", "StaffAdmin lets everybody who sees the list do disable_logins.")
    ]


def test_a_page_that_asks_for_a_permission_that_is_not_is_named(monkeypatch):
    monkeypatch.setattr(ClientAdmin, "record_pages", (Page("merge", permission="chnage"),))
    errors = ClientAdmin(Client, admin.site).check()
    assert [(error.id, error.msg) for error in errors] == [
        ("core.E024", "ClientAdmin has no method has_chnage_permission for merge.")
    ]


def test_a_list_that_does_not_say_what_it_is_for_is_named(monkeypatch):
    monkeypatch.setattr(ClientAdmin, "purpose", "")
    (error,) = check_declarations()
    assert error.id == "core.E025"
    assert error.msg.startswith("ClientAdmin does not say")


def test_a_misspelt_permission_is_named(monkeypatch):
    kind = replace(find_kind("price-guide"), permissions=["funding.pay_clams"])
    monkeypatch.setattr(declaration_checks, "FILE_KINDS", [kind])
    follow_up = Responsibility("owner", permission="sales.chnage_opportunity")
    monkeypatch.setattr(Opportunity, "responsibilities", (follow_up,))
    errors = check_declarations()
    assert [(error.id, error.msg) for error in errors] == [
        (
            "core.E026",
            "The file kind price-guide asks for funding.pay_clams, a permission that there is not.",
        ),
        (
            "core.E026",
            "Opportunity.owner asks for sales.chnage_opportunity, a permission that there is not.",
        ),
    ]


def test_a_member_without_a_column_is_left_to_the_check_of_the_protocol(monkeypatch):
    class Misspelt(PositionResource):
        """A position."""

        fields = (*PositionResource.fields, ReadOnly("Nome"))

    service = Service(Misspelt)
    monkeypatch.setattr(declaration_checks, "get_service", lambda version: service)
    assert check_declarations() == []
    assert [error.id for error in check_service(service)] == ["odata.E004"]


def test_forms_and_files_know_a_set_that_only_the_later_version_has(monkeypatch):
    """By the interface's first version alone a form would store it without a rule, and no file be read."""

    class Later(ClientResource):
        """A client."""

        since = V2_1

    sets = [Later if each is ClientResource else each for each in get_service().declared]
    versions = {version: Service(*sets, version=version) for version in VERSIONS}
    monkeypatch.setattr(declaration, "get_service", lambda version=V2_0: versions[version])
    assert Client not in versions[V2_0].by_model
    assert declared_set(Client).resource.since == V2_1
    assert service_of(Client, "create") is ClientResource.create
    assert draft_class_of(Client) is ClientResource.draft_class
    assert find_kind("client").model is Client
    assert check_imports() == []


def test_hints_name_the_file_of_a_package():
    assert source_file(ClientEngagementImport) == "apps/engagements/imports/__init__.py"
