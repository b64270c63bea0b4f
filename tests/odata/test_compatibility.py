"""The stored documents of the interface are those that are served, and break no client of a release."""

import json

import pytest

from apps.base.declaration.resource import Enumeration
from apps.base.declaration.schema import bind_resource
from apps.base.declaration.service import get_service
from apps.odata.metadata.csdl import csdl_json
from tests.interface_documents import documents
from tests.interface_documents.compatibility import find_breaking_changes
from tests.odata import sample

CORE, CAPABILITIES = "@Org.OData.Core.V1.", "@Org.OData.Capabilities.V1."
VALIDATION = "@Org.OData.Validation.V1."
RELEASED = documents.released_documents()


def test_the_stored_documents_are_those_that_are_served():
    for name, text in documents.interface_documents().items():
        stored = (documents.FOLDER / name).read_text()
        assert stored == text, f"docs/interface/{name} is not what is served: ./run write_interface writes it"


@pytest.mark.parametrize("version", RELEASED)
def test_no_client_of_a_released_version_breaks(version):
    assert list(find_breaking_changes(RELEASED[version], json.loads(csdl_json(get_service(version))))) == []


def test_a_value_in_the_middle_of_a_choices_class_renumbers_no_other(monkeypatch):
    class Status(Enumeration):
        OPEN = "Open", 0
        ON_HOLD = "OnHold", 2
        DONE = "Done", 1

    monkeypatch.setattr(sample, "Status", Status)
    monkeypatch.setattr(sample.Job._meta.get_field("status"), "choices", Status.choices)
    prop = bind_resource(sample.JobResource).type.properties["Status"]
    assert prop.choices == ("Open", "OnHold", "Done")
    assert prop.member_values == {"Open": 0, "OnHold": 2, "Done": 1}


def test_both_versions_are_released():
    assert [*RELEASED] == ["2.0", "2.1"]


def member(change, *path):
    """A change of the member at a path of the schema."""

    def apply(schema):
        for name in path[:-1]:
            schema = schema[name]
        change(schema, path[-1])

    return apply


def set_to(value):
    return lambda parent, name: parent.__setitem__(name, value)


def remove(parent, name):
    del parent[name]


def add_required(parent, name):
    parent[name] = [*parent[name], "UniqueCode"]


def remove_first(parent, name):
    parent[name] = parent[name][1:]


BREAKING = {
    "a type is removed": (member(remove, "Team"), "Team is gone"),
    "a member is removed": (member(remove, "Client", "BusinessName"), "Client/BusinessName is gone"),
    "an entity set is removed": (member(remove, "Container", "Client"), "Container/Client is gone"),
    "a type changes": (
        member(set_to("Edm.String"), "Claim", "Total", "$Type"),
        "Claim/Total/$Type was Edm.Decimal and is Edm.String",
    ),
    "one becomes a list": (
        member(set_to(True), "Client", "Address", "$Collection"),
        "Client/Address/$Collection is True now",
    ),
    "a value may be null": (
        member(set_to(True), "Client", "IsSelf", "$Nullable"),
        "Client/IsSelf/$Nullable is True now",
    ),
    "a value must not be null": (
        member(remove, "Client", "BusinessNumber", "$Nullable"),
        "Client/BusinessNumber/$Nullable is gone",
    ),
    "a text is shorter": (
        member(set_to(3), "Client", "BusinessName", "$MaxLength"),
        "Client/BusinessName/$MaxLength was 255 and is 3",
    ),
    "a maximum is lower": (
        member(set_to(5), "Staff", "NumberOfChildren", f"{VALIDATION}Maximum"),
        "Maximum was unlimited and is 5",
    ),
    "a minimum is higher": (
        member(set_to(5), "Staff", "NumberOfChildren", f"{VALIDATION}Minimum"),
        "Minimum was 0 and is 5",
    ),
    "a value can no longer be written": (
        member(set_to(True), "Client", "BusinessName", f"{CORE}Computed"),
        "Computed is True now",
    ),
    "a member of an enumeration is removed": (
        member(remove, "ClaimStatus", "OnHold"),
        "ClaimStatus/OnHold is gone",
    ),
    "a member of an enumeration has another value": (
        member(set_to(99), "ClaimStatus", "OnHold"),
        "ClaimStatus/OnHold was",
    ),
    "the first member of an enumeration has another value": (
        member(set_to(99), "ClaimStatus", "AwaitingStaffApproval"),
        "ClaimStatus/AwaitingStaffApproval was 0 and is 99",
    ),
    "the key changes": (member(set_to(["UniqueCode"]), "Client", "$Key"), "Client/$Key has no ClientGuid"),
    "a member becomes required": (
        member(
            add_required, "Container", "Client", f"{CAPABILITIES}InsertRestrictions", "RequiredProperties"
        ),
        "RequiredProperties has UniqueCode now",
    ),
    "a method is removed": (
        member(set_to(False), "Container", "Client", f"{CAPABILITIES}InsertRestrictions", "Insertable"),
        "Insertable was True and is False",
    ),
    "a function of $filter is removed": (
        member(remove_first, "Container", f"{CAPABILITIES}FilterFunctions"),
        "FilterFunctions has no",
    ),
}
COMPATIBLE = {
    "a type is added": member(set_to({"$Kind": "EntityType"}), "Village"),
    "a member is added": member(set_to({"$Nullable": True}), "Client", "Nickname"),
    "a member of an enumeration is added": member(set_to(99), "ClaimStatus", "Lost"),
    "a text is longer": member(set_to(9_000), "Client", "BusinessName", "$MaxLength"),
    "a limit is removed": member(remove, "Client", "BusinessName", "$MaxLength"),
    "a method is added": member(
        set_to(True), "Container", "Client", f"{CAPABILITIES}DeleteRestrictions", "Deletable"
    ),
    "a value can be written": member(remove, "Claim", "CreationDate", f"{CORE}Computed"),
    "a text for people changes": member(set_to("Different"), "Client", f"{CORE}Description"),
}


def changes_of(change):
    released, current = (json.loads(csdl_json(get_service())) for _ in range(2))
    change(current["Records"])
    return list(find_breaking_changes(released, current))


@pytest.mark.parametrize(("change", "sentence"), BREAKING.values(), ids=BREAKING)
def test_what_breaks_a_client_is_named(change, sentence):
    [found] = changes_of(change)
    assert sentence in found


@pytest.mark.parametrize("change", COMPATIBLE.values(), ids=COMPATIBLE)
def test_what_breaks_no_client_is_allowed(change):
    assert changes_of(change) == []


def test_the_command_writes_the_documents_and_names_what_breaks(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "FOLDER", tmp_path)
    assert documents.write_documents() == []
    assert (tmp_path / "openapi.json").stat().st_size > 100_000

    released = json.loads((tmp_path / "metadata.json").read_text())
    released["Records"]["Client"]["Nickname"] = {}
    (tmp_path / "1.9").mkdir()
    (tmp_path / "1.9" / "metadata.json").write_text(json.dumps(released))
    assert documents.write_documents() == ["1.9: Records/Client/Nickname is gone"]
