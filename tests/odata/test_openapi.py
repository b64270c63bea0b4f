"""The OpenAPI document and the page that shows it: valid, complete, and true of what is served."""

import json
import re

import jsonschema
import pytest
import yaml
from django.core.management import call_command
from django.db import connection
from drf_spectacular.generators import SchemaGenerator
from openapi_spec_validator import validate

from apps.access.callers import offered_scopes
from apps.base.clock import set_database_zone
from apps.base.declaration.resource import (
    POST,
    PUT,
    V2_1,
    Contains,
    Key,
    NestedType,
    Optional,
    Property,
    Required,
    Resource,
)
from apps.base.declaration.schema import bind_resource as bind
from apps.base.declaration.service import Service, get_service
from apps.odata.http import docs_urls
from apps.odata.metadata import csdl, json_schema, openapi
from apps.odata.metadata.openapi import VersionSchemaGenerator
from apps.odata.query.options import OPTION_PARSERS as OPTIONS
from apps.odata.query.options import SERVICE_PARAMETERS
from apps.odata.query.plain_filters import filterset_for
from apps.odata.read.record_json import RecordJson, select_all
from apps.people.models import Client
from tests.odata import sample

ENTITY_SETS = pytest.mark.parametrize("entity_set", get_service().entity_sets, ids=lambda found: found.name)


@pytest.fixture(scope="module")
def document():
    """The document as readers get it."""
    made = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(made))


@pytest.fixture(scope="module")
def operations(document):
    return {
        (method.upper(), address): operation
        for address, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def checker(schema, components=None):
    """A validator of JSON against a schema that may refer to the document's."""
    schemas = components or {
        **json_schema.read_schemas(get_service()),
        **json_schema.write_schemas(get_service()),
    }
    whole = {**schema, "components": {"schemas": schemas}}
    class_ = jsonschema.Draft202012Validator
    class_.check_schema(whole)
    return class_(whole, format_checker=class_.FORMAT_CHECKER)


def one_of_each_kind(paths):
    """The addresses of one resource for each set of operations: those of the others differ by names only."""
    resources = {}
    for address, operations in paths.items():
        root, _, rest = address.removeprefix("/api/").partition("/")
        resources.setdefault(root, {})[address] = (rest.partition("{")[0], *operations)
    kinds = {tuple(addresses.values()): addresses for addresses in resources.values()}
    return {address: paths[address] for addresses in kinds.values() for address in addresses}


def test_the_document_is_valid(document):
    assert document["openapi"] == "3.1.0"
    assert not {address for address in document["paths"] if not address.startswith("/api/")}
    validate({**document, "paths": one_of_each_kind(document["paths"])})


def test_the_generator_has_nothing_to_warn_of(tmp_path):
    written = tmp_path / "openapi.json"
    call_command("spectacular", "--format=openapi-json", "--fail-on-warn", "--file", str(written))
    assert json.loads(written.read_text())["paths"]["/api/staff"]["get"]["operationId"] == "listStaff"


@ENTITY_SETS
def test_exactly_the_methods_that_are_offered_are_described(document, entity_set):
    actions = {
        "Document": {"/{DocumentGuid}/Download": {"get"}},
        "ProviderInvoice": {"/{ProviderInvoiceGuid}/Action": {"post"}},
    }
    root = f"/api/{entity_set.path}"
    found = {
        address.removeprefix(root): set(methods)
        for address, methods in document["paths"].items()
        if address == root or address.startswith(f"{root}/")
    }
    assert found == {
        "": {"get", "post"} if entity_set.supports(POST) else {"get"},
        "/$count": {"get"},
        "/$query": {"post"},
        f"/{{{entity_set.key.name}}}": {"get", "put"} if entity_set.supports(PUT) else {"get"},
        **actions.get(entity_set.name, {}),
    }


def test_the_service_document_and_the_metadata_are_described(operations):
    assert ("GET", "/api/") in operations
    assert ("GET", "/api/$metadata") in operations


def test_no_two_operations_have_the_same_id(operations):
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(ids) == len(set(ids))


def test_every_operation_has_a_tag_and_says_how_to_present_oneself(document, operations):
    tags = {tag["name"] for tag in document["tags"]}
    for operation in operations.values():
        assert set(operation["tags"]) <= tags
        assert operation["security"]
        assert operation["summary"]


def test_every_operation_can_refuse(operations):
    for operation in operations.values():
        assert {"401", "429", "500", "503"} <= set(operation["responses"])


def test_only_reading_is_open_to_secrets_and_sessions(operations):
    for (method, address), operation in operations.items():
        ways = {name for way in operation["security"] for name in way}
        reads = method == "GET" or address.endswith("$query")
        if address.endswith("$batch"):  # a POST, which may hold nothing but reads
            assert ways == {"oauth2", "basic"}
        else:
            assert ways == ({"oauth2", "basic", "session"} if reads else {"oauth2"})


def test_the_scopes_are_those_that_applications_can_have(document):
    """But for those of sets that only a later version has or changes, which its own document names."""
    flow = document["components"]["securitySchemes"]["oauth2"]["flows"]["clientCredentials"]
    later = [each.path.lower() for each in get_service(V2_1).entity_sets if each.resource.since == V2_1]
    offered = set(offered_scopes())
    written_later = {
        f"{each.path.lower()}.write" for each in get_service().entity_sets if not each.is_written
    }
    expected = {each for each in offered if each.partition(".")[0] not in later}
    assert set(flow["scopes"]) == expected - written_later
    of_later = VersionSchemaGenerator(api_version=V2_1).get_schema(request=None, public=True)
    scheme = of_later["components"]["securitySchemes"]["oauth2"]
    assert set(scheme["flows"]["clientCredentials"]["scopes"]) == offered
    assert flow["tokenUrl"] == "/connect/token"


def parameters_of(document, operation):
    """The parameters of an operation, those it refers to looked up, as (in, name)."""
    shared = document["components"]["parameters"]
    found = [shared[p["$ref"].rpartition("/")[2]] if "$ref" in p else p for p in operation["parameters"]]
    return [(parameter["in"], parameter["name"]) for parameter in found]


@ENTITY_SETS
def test_every_filter_and_option_of_a_list_is_described(document, entity_set):
    told = parameters_of(document, document["paths"][f"/api/{entity_set.path}"]["get"])
    assert len(told) == len(set(told))
    names = {name for where, name in told if where == "query"}
    options = {f"${name}" for name in OPTIONS} - (set() if entity_set.resource.search else {"$search"})
    plain = {name for name in filterset_for(entity_set).base_filters if "__" not in name}
    assert names == options | plain | {"version"}


def test_every_shared_parameter_is_known_to_the_service(document):
    told = {p["name"] for p in document["components"]["parameters"].values() if p["in"] == "query"}
    assert told == {f"${name}" for name in OPTIONS} | {"version", "ignoreWarnings"}
    assert {"version", "ignoreWarnings"} < set(SERVICE_PARAMETERS)


def test_writing_is_made_safe_by_headers(document):
    create = parameters_of(document, document["paths"]["/api/staff"]["post"])
    replace = parameters_of(document, document["paths"]["/api/staff/{StaffGuid}"]["put"])
    assert ("header", "Idempotency-Key") in create
    assert ("header", "If-Match") in replace
    assert ("path", "StaffGuid") in replace
    assert ("query", "ignoreWarnings") not in create


def test_warnings_can_be_ignored_where_there_are_any():
    class WarningResource(sample.JobResource):
        has_warnings = True

    warned = bind(WarningResource)
    for action in ("create", "update"):
        parameters = openapi.OPERATIONS[action].describe(warned)["parameters"]
        assert {"$ref": "#/components/parameters/ignoreWarnings"} in parameters


# --- schemas ------------------------------------------------------------------------------------------


@ENTITY_SETS
def test_what_is_read_is_described_as_in_the_metadata(entity_set):
    model = csdl.document(get_service())[get_service().namespace][entity_set.name]
    described = json_schema.read_schemas(get_service())[entity_set.name]["properties"]
    assert list(described) == [name for name in model if name[0] not in "$@"]


@pytest.mark.django_db
@pytest.mark.parametrize("item", [False, True])
def test_records_are_as_described(a_client, item):
    set_ = get_service().by_resource[next(r for r in get_service().resources if r.model is Client)]
    set_database_zone(a_client)
    shown = RecordJson(set_.type, select_all(set_.type, item))
    (text,) = Client.objects.values_list(shown, flat=True)
    record = json.loads(text)
    assert record["Address"]["Suburb"] == "Perth"
    checker(json_schema.reference("Client")).validate(record)
    with pytest.raises(jsonschema.ValidationError):
        checker(json_schema.reference("Client")).validate({**record, "CreationDate": None})


@pytest.fixture
def a_client(db):
    Client.objects.create(business_name="Bright Side", suburb="Perth", country="Australia")
    return connection


@ENTITY_SETS
def test_the_example_of_a_body_is_one(operations, entity_set):
    schemas = json_schema.write_schemas(get_service())
    if not entity_set.supports(POST):
        assert f"{entity_set.name}Body" not in schemas
        return
    contents = operations["POST", f"/api/{entity_set.path}"]["requestBody"]["content"]
    if entity_set.name == "Document":
        assert list(contents) == ["multipart/form-data"]
        return
    content = contents["application/json"]
    for example in content["examples"].values():
        checker(content["schema"]).validate(example["value"])


def test_a_body_must_hold_what_is_required():
    body = json_schema.write_schemas(get_service())["StaffBody"]
    assert set(body["required"]) == {"FirstName", "LastName", "PrimaryEmail", "PrimaryRole"}
    assert body["properties"]["PrimaryRole"]["required"] == ["RoleGuid"]
    assert "StaffGuid" not in body["properties"]
    assert "CustomFields" not in body["properties"]


def test_a_body_may_use_either_spelling():
    body = json_schema.write_schemas(get_service())["StaffBody"]
    address = body["properties"]["PostalAddress"]["properties"]
    assert address["PostalStreetAddress"] == address["PostalAddress"]


def test_limits_of_values_are_reported():
    members = json_schema.write_schemas(get_service())["StaffBody"]["properties"]
    assert members["FirstName"]["maxLength"] == 90
    assert (members["WorkingHoursPerWeek"]["minimum"], members["WorkingHoursPerWeek"]["maximum"]) == (0, 168)
    assert members["PrimaryEmail"]["format"] == "email"
    assert members["Gender"]["enum"] == ["Male", "Female", "Unspecified", None]


@pytest.mark.parametrize(
    ("value", "holds"),
    [("Open", True), (100, True), (None, True), ("open", False), (101, False), (True, False)],
)
def test_an_enumeration_is_given_by_name_or_number(value, holds):
    status = json_schema.property_schema(sample.JOBS.type.properties["Status"])
    assert checker(status).is_valid(value) is holds


@pytest.mark.parametrize(("value", "holds"), [(8.5, True), ("8.50", True), (None, True), ([], False)])
def test_a_decimal_is_a_number_or_a_string(value, holds):
    price = json_schema.property_schema(sample.JOBS.type.properties["Price"])
    assert checker(price).is_valid(value) is holds


class LineType(NestedType):
    model = sample.Line
    fields = (Key("LineId", source="id"), Required("Note"))


class OrderResource(Resource):
    """Orders, with what the people's resources have none of."""

    model = sample.Job
    path = "order"
    methods = (POST,)
    fields = (
        Key("OrderGuid"),
        Required("Code", aliases=("CodeId",)),
        Optional("Total"),
        Property(name="Secret", source="secret", behaviour=Optional("x").behaviour, write_only=True),
        Contains("Lines", LineType, required=True),
    )


ORDERS = Service(OrderResource, namespace="Test")


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ({"Code": "a", "Lines": [{"Note": "x"}]}, True),
        ({"CodeId": "a", "Lines": [{"Note": "x"}], "Secret": "s", "Unknown": 1}, True),
        ({"Lines": [{"Note": "x"}]}, False),
        ({"Code": "a"}, False),
        ({"Code": "a", "Lines": []}, False),
        ({"Code": "a", "Lines": [{}]}, False),
        ({"Code": "a", "Lines": [{"Note": "x"}] * 101}, False),
        ({"Code": None, "Lines": [{"Note": "x"}]}, False),
        ({"Code": "x" * 21, "Lines": [{"Note": "x"}]}, False),
    ],
)
def test_a_required_member_may_be_given_under_any_of_its_names(body, holds):
    schemas = json_schema.write_schemas(ORDERS)
    assert checker(json_schema.reference("OrderBody"), schemas).is_valid(body) is holds


def test_what_is_hidden_is_written_and_never_read():
    assert "Secret" in json_schema.write_schemas(ORDERS)["OrderBody"]["properties"]
    assert "Secret" not in json_schema.read_schemas(ORDERS)["Order"]["properties"]


@pytest.mark.parametrize(
    "set_", [*get_service().entity_sets, bind(OrderResource), sample.JOBS], ids=lambda s: s.name
)
def test_the_smallest_body_is_valid(set_):
    checker(json_schema.body_schema(set_.type)).validate(json_schema.example_of(set_.type))


# --- the page -----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_document_is_served_in_both_formats_under_the_name_of_the_service(client, settings):
    settings.ALLOWED_HOSTS = ["records.example"]
    docs_urls.rendered.cache_clear()
    client.defaults["HTTP_HOST"] = "records.example"
    as_json, as_yaml = client.get("/docs/openapi.json"), client.get("/docs/openapi.yaml")
    assert as_json["Content-Type"] == "application/json"
    assert json.loads(as_json.content)["paths"] == yaml.load(as_yaml.content, yaml.CSafeLoader)["paths"]
    assert client.post("/docs/openapi.json").status_code == 405


@pytest.mark.django_db
def test_the_page_has_no_script_of_its_own_and_no_outside_address(client):
    page = client.get("/docs/").content.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(addresses) >= 4
    assert all(address.startswith(("/static/", "/docs/")) for address in addresses)


@pytest.mark.django_db
def test_the_script_of_the_page_names_the_document(client):
    script = client.get("/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert 'url: "/docs/openapi.json"' in script.content.decode().replace("\\u002D", "-")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_page_shows_every_resource_under_the_sites_content_policy(open_window):
    page = open_window()
    page.goto("/docs/")
    page.wait_for_selector("#operations-Staff-listStaff, [id='operations-tag-Staff']")
    shown = page.locator(".opblock-tag").evaluate_all("tags => tags.map(tag => tag.dataset.tag)")
    assert shown == ["Service", *(found.name for found in get_service().entity_sets)]
    assert (page.errors, page.elsewhere) == ([], [])
