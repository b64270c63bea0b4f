"""What $metadata says, held against the standard's rules and against what the service really has."""

import json
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from apps.base.declaration.resource import (
    POST,
    V2_1,
    Contains,
    Embedded,
    Key,
    NestedType,
    Nesting,
    Required,
    Resource,
)
from apps.base.declaration.service import Service, get_service
from apps.odata.metadata import csdl
from apps.odata.query.parser import FUNCTIONS
from tests.odata import sample

GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).parent / "schemas" / "csdl.rng"))
EDM = "{http://docs.oasis-open.org/odata/ns/edm}"
CORE, CAPABILITIES = "Org.OData.Core.V1", "Org.OData.Capabilities.V1"
PRIMITIVE = {
    *("Edm.Guid", "Edm.String", "Edm.Boolean", "Edm.Date", "Edm.DateTimeOffset", "Edm.Decimal"),
    *("Edm.Int16", "Edm.Int32", "Edm.Int64"),
}

SAMPLE = Service(sample.JobResource, namespace="Sample")
SERVICES = pytest.mark.parametrize(
    "service", [get_service(), get_service(V2_1), SAMPLE], ids=["2.0", "2.1", "sample"]
)


def types_of(service):
    """Every definition but the container, by its name."""
    schema = csdl.document(service)[service.namespace]
    return {name: type_ for name, type_ in schema.items() if type_["$Kind"] != "EntityContainer"}


def members_of(definition):
    return {name: value for name, value in definition.items() if name[0] not in "$@"}


def sample_type(name):
    return types_of(SAMPLE)[name]


@SERVICES
def test_the_xml_keeps_to_the_standards_grammar(service):
    GRAMMAR.assertValid(etree.fromstring(csdl.csdl_xml(service)))


@pytest.mark.parametrize(
    ("written", "broken"),
    [
        (b'Name="JobGuid" Type', b'Name="Job-Guid" Type'),
        (b'Name="Open" Value="100"', b'Name="Open" Value="many"'),
        (b"<Key>", b"<Key><Annotation/>"),
        (b'Version="4.0"', b'Version="3.0"'),
        (b"<Record>", b"<Record/><Record>"),
    ],
)
def test_the_grammar_would_notice(written, broken):
    """So that the test above does not pass because its grammar lets anything through."""
    text = csdl.csdl_xml(SAMPLE)
    assert written in text
    assert not GRAMMAR.validate(etree.fromstring(text.replace(written, broken, 1)))


@SERVICES
def test_every_type_that_is_named_is_there_and_every_one_there_is_used(service):
    named = {
        member["$Type"]
        for definition in csdl.document(service)[service.namespace].values()
        if definition["$Kind"] != "EnumType"
        for member in members_of(definition).values()
    }
    ours = {f"{service.namespace}.{name}" for name in types_of(service)}
    assert named - PRIMITIVE == ours


@SERVICES
def test_what_has_no_key_is_a_value_and_what_has_one_is_navigated_to(service):
    types = {f"{service.namespace}.{name}": type_ for name, type_ in types_of(service).items()}
    sets = {entity_set.name for entity_set in service.entity_sets}
    for name, type_ in types.items():
        for member in members_of(type_).values() if type_["$Kind"] != "EnumType" else ():
            is_entity = types.get(member["$Type"], {}).get("$Kind") == "EntityType"
            assert is_entity is (member.get("$Kind") == "NavigationProperty"), name
            is_of_a_set = member["$Type"].rpartition(".")[2] in sets
            assert is_entity is (member.get("$ContainsTarget", False) or is_of_a_set), name


@SERVICES
def test_keys_are_never_null(service):
    for name, type_ in types_of(service).items():
        assert (type_["$Kind"] == "EntityType") is ("$Key" in type_), name
        for key in type_.get("$Key", ()):
            assert "$Nullable" not in type_[key], name


@SERVICES
def test_the_two_formats_say_the_same(service):
    root = etree.fromstring(csdl.csdl_xml(service))
    model = json.loads(csdl.csdl_json(service))[service.namespace]
    (schema,) = root.iter(f"{EDM}Schema")
    assert [element.get("Name") for element in schema] == list(model)
    for element in schema:
        definition = model[element.get("Name")]
        assert element.tag == EDM + definition["$Kind"]
        written = [child for child in element if child.tag != f"{EDM}Key" and child.get("Name")]
        assert [child.get("Name") for child in written] == list(members_of(definition))
        terms = [child.get("Term") for child in element if child.get("Term")]
        assert terms == [name[1:] for name in definition if name.startswith("@")]
        if definition["$Kind"] == "EnumType":
            continue
        for child, member in zip(written, members_of(definition).values(), strict=True):
            told = child.get("Type") or child.get("EntityType")
            is_list = member.get("$Collection", False) and element.tag != f"{EDM}EntityContainer"
            assert told == (f"Collection({member['$Type']})" if is_list else member["$Type"])
            if child.tag == f"{EDM}Property":
                assert (child.get("Nullable") != "false") is member.get("$Nullable", False)


def test_every_entity_set_of_the_service_is_described_with_all_its_members():
    service = get_service()
    schema = csdl.document(service)[service.namespace]
    assert list(members_of(schema["Container"])) == [entity_set.name for entity_set in service.entity_sets]
    for entity_set in service.entity_sets:
        described = schema[schema["Container"][entity_set.name]["$Type"].rpartition(".")[2]]
        shown = [name for name, p in entity_set.type.properties.items() if not p.declaration.write_only]
        navigations = (*entity_set.type.navigations, *entity_set.type.set_navigations)
        assert list(members_of(described)) == [*shown, *navigations]
        assert described["$Key"] == [entity_set.key.name]


def test_a_part_has_the_members_it_shows():
    service = get_service()
    types = types_of(service)
    for entity_set in service.entity_sets:
        for part in entity_set.type.navigations.values():
            name = types[entity_set.name][part.name]["$Type"].rpartition(".")[2]
            members = (*part.type.properties, *part.type.navigations, *part.type.set_navigations)
            assert list(members_of(types[name])) == [*members]


def test_no_type_has_a_member_of_its_own_name():
    """Clients make classes of the types, and a class cannot have such a member in C#."""
    for name, type_ in types_of(get_service()).items():
        assert type_["$Kind"] == "EnumType" or name not in members_of(type_)


def test_an_address_is_one_type_wherever_it_stands():
    types = types_of(get_service())
    assert {types[name]["Address"]["$Type"] for name in ("Staff", "Client", "Contact")} == {"Records.Address"}
    assert types["Address"]["$Kind"] == "ComplexType"
    assert types["Staff"]["Address"]["$Nullable"]


def test_facets_come_from_the_columns():
    job = sample_type("Job")
    assert job["Total"] | {f"@{CORE}.Computed": 0} == {
        "$Type": "Edm.Decimal",
        "$Precision": 14,
        "$Scale": 2,
        f"@{CORE}.Computed": 0,
    }
    assert job["Code"] == {"$Type": "Edm.String", "$MaxLength": 20}
    assert job["Price"] == {"$Type": "Edm.Decimal", "$Precision": 14, "$Scale": 4, "$Nullable": True}
    assert job["Rank"] == {"$Type": "Edm.Int16"}
    assert job["Moment"] == {"$Type": "Edm.DateTimeOffset", "$Precision": 6, "$Nullable": True}
    assert job["OwnerGuid"] == {"$Type": "Edm.Guid", "$Nullable": True}


def test_limits_of_values_are_reported():
    hours = types_of(get_service())["Staff"]["WorkingHoursPerWeek"]
    assert hours["@Org.OData.Validation.V1.Minimum"] == 0
    assert hours["@Org.OData.Validation.V1.Maximum"] == 168


def test_an_enumeration_has_the_numbers_bodies_may_use():
    assert members_of(sample_type("Status")) == {"Open": 100, "OnHold": 200, "Done": 300}
    assert sample_type("Job")["Status"]["$Type"] == "Sample.Status"


def test_an_enumeration_without_numbers_counts_from_nought():
    assert members_of(types_of(get_service())["Gender"]) == {"Male": 0, "Female": 1, "Unspecified": 2}


def test_names_that_are_no_identifiers_stay_text_with_its_choices():
    region = types_of(get_service())["Contact"]["SchemePriceGuideRegion"]
    assert region["$Type"] == "Edm.String"
    assert {"Value": "ACT/NSW/QLD/VIC"} in region["@Org.OData.Validation.V1.AllowedValues"]


def test_what_bodies_cannot_set_is_computed():
    staff = types_of(get_service())["Staff"]
    computed = {name for name, member in members_of(staff).items() if member.get(f"@{CORE}.Computed")}
    assert computed == {"CreationDate", "ModifyDate", "ArchiveDate"}


@SERVICES
def test_a_key_is_never_computed_and_cannot_be_inserted(service):
    types = types_of(service)
    assert not any(
        f"@{CORE}.Computed" in type_[key] for type_ in types.values() for key in type_.get("$Key", ())
    )
    assert types_of(get_service())["RoleBrief"]["Name"][f"@{CORE}.Computed"] is True
    for entity_set in service.entity_sets:
        insert = csdl.capabilities(entity_set)["InsertRestrictions"]
        assert insert.get("NonInsertableProperties", [entity_set.key.name]) == [entity_set.key.name]


def test_what_one_record_alone_shows_cannot_be_expanded_in_lists():
    (job,) = SAMPLE.entity_sets
    assert csdl.capabilities(job)["ExpandRestrictions"]["NonExpandableProperties"] == ["Answers"]
    assert b"<NavigationPropertyPath>Answers</NavigationPropertyPath>" in csdl.csdl_xml(SAMPLE)


def test_a_hidden_member_is_not_described():
    assert "Secret" not in sample_type("Job")
    assert b"Secret" not in csdl.csdl_xml(SAMPLE)


def test_a_part_says_how_it_is_shown():
    told = sample_type("Job")["Answers"][f"@{CORE}.LongDescription"]
    assert "$expand=Answers on one record" in told
    assert f"@{CORE}.LongDescription" not in sample_type("Line")["Picks"]


def test_capabilities_are_those_of_the_methods():
    service = get_service()
    sets = members_of(csdl.document(service)[service.namespace]["Container"])
    for entity_set in service.entity_sets:
        told = sets[entity_set.name]
        assert told[f"@{CAPABILITIES}.InsertRestrictions"]["Insertable"] is (
            "POST" in entity_set.resource.methods
        )
        assert told[f"@{CAPABILITIES}.UpdateRestrictions"]["Updatable"] is (
            "PUT" in entity_set.resource.methods
        )
        assert told[f"@{CAPABILITIES}.DeleteRestrictions"] == {"Deletable": False}
    required = sets["Staff"][f"@{CAPABILITIES}.InsertRestrictions"]["RequiredProperties"]
    assert required == ["FirstName", "LastName", "PrimaryEmail"]


def test_paths_and_members_of_enumerations_are_expressions_of_their_own_in_xml():
    root = etree.fromstring(csdl.csdl_xml(get_service()))
    assert [found.text for found in root.iter(f"{EDM}PropertyPath")][:2] == ["FirstName", "LastName"]
    named = {found.get("EnumMember") for found in root.iter(f"{EDM}PropertyValue") if found.get("EnumMember")}
    assert named == {
        f"{CAPABILITIES}.NavigationType/Recursive",
        f"{CAPABILITIES}.HttpMethod/PUT",
        "Org.OData.Aggregation.V1.RollupType/MultipleHierarchies",
    }


def test_exactly_the_functions_of_the_grammar_are_offered():
    container = csdl.document(get_service())["Records"]["Container"]
    assert set(container[f"@{CAPABILITIES}.FilterFunctions"]) == set(FUNCTIONS)


def test_two_shapes_of_one_name_are_two_types():
    class PlaceType(NestedType):
        fields = (Required("Code"),)

    class LineType(NestedType):
        model = sample.Line
        fields = (Key("LineId", source="id"),)

    class TaskResource(Resource):
        model = sample.Job
        path = "task"
        fields = (Key("JobGuid"), Embedded("Place", PlaceType), Contains("Lines", LineType))

    types = types_of(Service(sample.JobResource, TaskResource, namespace="Sample"))
    assert list(members_of(types["Place"])) == ["Suburb", "State"]
    assert list(members_of(types["TaskPlace"])) == ["Code"]
    assert types["Task"]["Place"]["$Type"] == "Sample.TaskPlace"
    assert types["Task"]["Lines"]["$Type"] == "Sample.TaskLines"


def test_a_part_never_takes_the_name_of_an_entity_set():
    class Person(NestedType):
        fields = (Required("Code"),)

    class PersonResource(Resource):
        model = sample.Job
        path = "person"
        methods = (POST,)
        fields = (Key("JobGuid"), Embedded("Agent", Person))

    types = types_of(Service(PersonResource, namespace="Sample"))
    assert types["Person"]["$Kind"] == "EntityType"
    assert types["PersonAgent"]["$Kind"] == "ComplexType"


def test_types_of_lists_and_objects_are_distinguished():
    job, line = sample_type("Job"), sample_type("Line")
    assert job["Tags"] == {
        "$Kind": "NavigationProperty",
        "$Type": "Sample.Tag",
        "$Collection": True,
        "$ContainsTarget": True,
        f"@{CORE}.LongDescription": job["Tags"][f"@{CORE}.LongDescription"],
    }
    assert line["Picks"] == {"$Type": "Sample.Pick", "$Collection": True}
    assert job["Owner"]["$Nullable"] is True


@SERVICES
def test_metadata_is_written_once(service):
    assert csdl.csdl_xml(service) is csdl.csdl_xml(service)
    assert csdl.csdl_json(service) is csdl.csdl_json(service)


@SERVICES
def test_no_two_names_differ_in_case_only(service):
    """Addresses are matched without regard to case."""
    for definition in (types_of(service), *types_of(service).values()):
        counted = Counter(name.lower() for name in definition)
        assert max(counted.values()) == 1


def test_the_sample_has_every_nesting():
    """So that the tests over it pass over nothing."""
    nestings = {part.nesting for part in sample.JOBS.type.navigations.values()}
    assert nestings | {Nesting.ENTITY_SET} == set(Nesting)


def test_navigation_between_sets_has_partners_and_bindings_that_fit():
    schema = csdl.document(get_service())["Records"]
    container, types = schema["Container"], types_of(get_service())
    claim = types["Claim"]
    assert claim["Contact"]["$Partner"] == "Claims"
    assert claim["Contact"]["$ReferentialConstraint"] == {"ContactGuid": "ContactGuid"}
    assert (claim["Staff"].get("$Nullable"), claim["Provider"]["$Type"]) == (None, "Records.Client")
    assert container["Claim"]["$NavigationPropertyBinding"]["Provider"] == "Client"
    bindings = container["ClientEngagement"]["$NavigationPropertyBinding"]
    assert bindings["ServiceBookings/BudgetManagerStaff"] == "Staff"
    for entity_set in get_service().entity_sets:
        for name, target in container[entity_set.name].get("$NavigationPropertyBinding", {}).items():
            assert container[target]["$Collection"]
            member = types[entity_set.name].get(name)
            if member is None:
                continue
            assert member["$Type"] == container[target]["$Type"]
            partner = types[target][member["$Partner"]] if "$Partner" in member else None
            assert partner is None or partner["$Type"] == container[entity_set.name]["$Type"]
            assert partner is None or partner.get("$Partner", name) == name
