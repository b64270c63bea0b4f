"""What holds for every entity set of the service: one declared tomorrow is tested tomorrow."""

import json
from urllib.parse import quote

import pytest

from apps.base.declaration.resource import Nesting
from apps.base.declaration.service import get_service
from tests.api.caller import JSON_ANSWER, Caller, an_application, ok, refused

ENTITY_SETS = get_service().entity_sets

each = pytest.mark.parametrize("entity_set", ENTITY_SETS, ids=lambda entity_set: entity_set.name)
decided_in_python = pytest.mark.any_engine("addresses, names and scopes are compared in Python")
#: One entity set for each type of key: addresses are read by the type of the key alone.
each_type_of_key = pytest.mark.parametrize(
    "entity_set",
    {entity_set.key.edm.name: entity_set for entity_set in ENTITY_SETS}.values(),
    ids=lambda entity_set: entity_set.name,
)


def share_of(cases, entity_set, size):
    """Some of the cases, others for each entity set: all of them together have all cases, several times."""
    start = ENTITY_SETS.index(entity_set) * size
    return [cases[(start + number) % len(cases)] for number in range(size)]


def item(entity_set, records):
    return f"{entity_set.path}/{records.whole[entity_set.name]}"


def literal(prop, value):
    """A value of an answer as $filter writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) or prop.edm.name in ("Edm.Guid", "Edm.Date", "Edm.DateTimeOffset"):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def some_values(values):
    """A few different values, null among them where there is one."""
    different = {json.dumps(value): value for value in values}
    null = [None] if different.pop("null", 0) is None else []
    return [*null, *list(different.values())[:2]]


def fields_of(entity_set):
    """The (name, property) pairs that are shown; hidden ones are only ever written."""
    return [
        (name, prop) for name, prop in entity_set.type.properties.items() if not prop.declaration.write_only
    ]


def kind_of(prop):
    """Properties of one kind are rendered, compared and ordered by the same code."""
    is_reference, is_of_another_record = prop.source_field.is_relation, len(prop.steps) > 1
    return prop.edm.name, bool(prop.choices), prop.nullable, is_reference, is_of_another_record


def first_of_each_kind():
    """One (entity set, property) for each kind of property in the service."""
    found = {}
    for entity_set in ENTITY_SETS:
        for name, prop in fields_of(entity_set):
            found.setdefault(kind_of(prop), pytest.param(entity_set, prop, id=f"{entity_set.name}-{name}"))
    return found.values()


each_kind = pytest.mark.parametrize(("entity_set", "prop"), first_of_each_kind())


def names_of(entity_set):
    return [name for name, _ in fields_of(entity_set)]


def keys_of(entity_set, rows):
    return sorted(str(row[entity_set.key.name]) for row in rows)


def context(fragment):
    return f"http://testserver/api/$metadata#{fragment}"


def default_list(entity_set, *shown):
    """The select list where complex properties are left out, or nothing; ``shown`` are further items."""
    names = (
        names_of(entity_set) if any(part.is_complex for part in entity_set.type.navigations.values()) else ()
    )
    items = [*names, *shown]
    return f"({','.join(items)})" if items else ""


# --- addresses --------------------------------------------------------------------------------------


@each
def test_a_collection_lists_its_records(api, records, entity_set):
    answer = api.get(entity_set.path)
    assert answer["Content-Type"] == JSON_ANSWER
    body = ok(answer)
    assert list(body) == ["@odata.context", "value"]
    assert body["@odata.context"] == context(entity_set.name + default_list(entity_set))
    key = entity_set.key.name
    assert {str(row[key]) for row in body["value"]} >= {str(records.whole[entity_set.name])}
    assert all(list(row) == names_of(entity_set) for row in body["value"])


@each_type_of_key
def test_every_spelling_of_an_address_names_the_same_record(api, records, entity_set):
    key, name, path = str(records.whole[entity_set.name]), entity_set.key.name, entity_set.path
    expected = ok(api.get(f"{path}/{key}"))
    assert str(expected[name]) == key
    spellings = [
        f"{path}/{key}/",
        f"{path}({key})",
        f"{path}({key})/",
        f"{path}('{key}')",
        f"{path}({name}={key})",
        f"{path}({name.lower()}='{key}')",
        f"{path}({name}%3D{key})",
        f"{path}( {key} )".replace(" ", "%20"),
        f"{path.upper()}/{key.upper()}",
        f"/API/{path.title()}({key.upper()})",
        f"/Api/{path}/{quote(key)}",
    ]
    for spelling in spellings:
        assert ok(api.get(spelling)) == expected, spelling


@each
def test_every_spelling_of_a_collection_names_the_same_one(api, records, entity_set):
    expected = ok(api.get(entity_set.path))
    path = entity_set.path
    for spelling in share_of([entity_set.name, path.upper(), f"{path}/", f"/API/{path}"], entity_set, 1):
        assert ok(api.get(spelling)) == expected, spelling


UNKNOWN_KEYS = {
    "Edm.Int32": "2000000000",
    "Edm.Guid": "00000000-0000-7000-8000-000000000000",
}


@each
def test_an_unknown_key_is_404(api, records, entity_set):
    unknown = UNKNOWN_KEYS[entity_set.key.edm.name]
    refused(api.get(f"{entity_set.path}/{unknown}"), 404, "NotFound")
    refused(api.get(f"{entity_set.path}({unknown})"), 404, "NotFound")


@decided_in_python
@each_type_of_key
def test_a_text_that_is_no_key_is_400(api, records, entity_set):
    key = records.whole[entity_set.name]
    for wrong in ("nothing", "x" * 3000, "%00", "'", "''", "1.0", "-", "9" * 25, f"{key}x", f"Other={key}"):
        refused(api.get(f"{entity_set.path}/{wrong}"), 400)
        refused(api.get(f"{entity_set.path}({wrong})"), 400)
    refused(api.get(f"{entity_set.path}()"), 400)


@decided_in_python
@each
def test_addresses_below_a_record_that_are_not_offered_are_404(api, records, entity_set):
    for below in share_of(["Nothing", "$ref/x", "$value", "address", "x/y", "%2e%2e/"], entity_set, 2):
        refused(api.get(f"{item(entity_set, records)}/{below}"), 404, "NotFound")


@decided_in_python
@each
def test_methods_not_offered_are_405_with_those_that_are(api, records, entity_set):
    offered = {"GET", "HEAD", "OPTIONS"}
    collection = offered | ({"POST"} & set(entity_set.resource.methods))
    single = offered | ({"PUT"} & set(entity_set.resource.methods))
    addresses = {
        entity_set.path: collection,
        item(entity_set, records): single,
        f"{entity_set.path}/$count": offered,
        f"{entity_set.path}/$query": {"POST", "OPTIONS"},
    }
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"]
    for address, allowed in addresses.items():
        for method in share_of([each for each in methods if each not in allowed], entity_set, 2):
            answer = api.call(method, address, body={})
            refused(answer, 405, "MethodNotAllowed")
            assert {word.strip() for word in answer["Allow"].split(",")} == allowed, (method, address)


@decided_in_python
@each
def test_options_tell_what_is_offered(api, records, entity_set):
    answer = api.call("OPTIONS", item(entity_set, records))
    assert answer.status_code == 204
    assert answer.content == b""
    assert ("PUT" in answer["Allow"]) is ("PUT" in entity_set.resource.methods)


@each
def test_head_is_get_without_a_body(api, records, entity_set):
    for address in (entity_set.path, item(entity_set, records)):
        got, head = api.get(address), api.call("HEAD", address)
        assert (head.status_code, head.content) == (200, b"")
        assert head["Content-Type"] == got["Content-Type"]
        assert head.get("ETag") == got.get("ETag")


# --- $count ------------------------------------------------------------------------------------------


@each
def test_counts_are_the_number_of_records(api, records, entity_set):
    rows = api.all(entity_set.path)
    answer = api.get(f"{entity_set.path}/$count")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain")
    assert int(answer.content) == len(rows)
    name = entity_set.key.name
    key = literal(entity_set.key, rows[0][name])
    assert api.get(f"{entity_set.path}/$count", {"$filter": f"{name} eq {key}"}).content == b"1"
    assert api.get(f"{entity_set.path}/$COUNT/", {name: str(rows[0][name])}).content == b"1"
    body = ok(api.get(entity_set.path, {"$count": "true", "$top": "1"}))
    assert list(body)[:2] == ["@odata.context", "@odata.count"]
    assert (body["@odata.count"], len(body["value"])) == (len(rows), 1)
    assert "@odata.count" not in ok(api.get(entity_set.path, {"$count": "false"}))


# --- $expand and $select -----------------------------------------------------------------------------


@each
def test_expanding_everything_adds_every_part_in_order(api, records, entity_set):
    parts = entity_set.type.navigations
    for address, shown in (
        (entity_set.path, [name for name, part in parts.items() if not part.item_only]),
        (item(entity_set, records), list(parts)),
    ):
        body = ok(api.get(address, {"$expand": "*"}))
        rows = body["value"] if address == entity_set.path else [body]
        expanded = [f"{name}()" for name in shown if not parts[name].is_complex]
        told = f"({','.join(expanded)})" if expanded else ""
        entity = "" if address == entity_set.path else "/$entity"
        assert body["@odata.context"] == context(f"{entity_set.name}{told}{entity}")
        for row in rows:
            members = [name for name in row if name != "@odata.context"]
            assert members == [*names_of(entity_set), *shown]


@each
def test_each_part_is_expanded_alone_and_shows_the_same(api, records, entity_set):
    everything = ok(api.get(entity_set.path, {"$expand": "*"}))["value"]
    for name, part in entity_set.type.navigations.items():
        if part.item_only:
            continue
        body = ok(api.get(entity_set.path, {"$expand": name}))
        told = default_list(entity_set, name if part.is_complex else f"{name}()")
        if [other for other in entity_set.type.navigations.values() if other.is_complex] == [part]:
            told = ""  # nothing is left out
        assert body["@odata.context"] == context(entity_set.name + told)
        assert [row[name] for row in body["value"]] == [row[name] for row in everything]
        assert all(list(row) == [*names_of(entity_set), name] for row in body["value"])


@pytest.mark.parametrize("entity_set", [one for one in ENTITY_SETS if len(one.type.navigations) > 2])
def test_parts_named_together_stand_in_the_declared_order(api, records, entity_set):
    names = [name for name, part in entity_set.type.navigations.items() if not part.item_only]
    body = ok(api.get(entity_set.path, {"expand": f"{names[-1]}, {names[0]}"}))
    assert list(body["value"][0])[-2:] == [names[0], names[-1]]


@each_kind
def test_a_property_of_each_kind_can_be_selected_alone(api, records, entity_set, prop):
    single, key = ok(api.get(item(entity_set, records))), entity_set.key.name
    selected = prop.name if prop.name == key else f"{key},{prop.name}"
    assert ok(api.get(item(entity_set, records), {"$select": prop.name})) == {
        "@odata.context": context(f"{entity_set.name}({selected})/$entity"),
        key: single[key],
        prop.name: single[prop.name],
    }


@each
def test_every_property_can_be_selected_in_a_list(api, records, entity_set):
    rows = api.all(entity_set.path)
    names = names_of(entity_set)
    for chosen in (names[::2], [names[0], *names[1::2]]):
        body = ok(api.get(entity_set.path, {"$select": ",".join(chosen)}))
        has_all = len(chosen) == len(names) and not default_list(entity_set)
        told = "" if has_all else f"({','.join(chosen)})"
        assert body["@odata.context"] == context(f"{entity_set.name}{told}")
        assert all(list(row) == chosen for row in body["value"])
        assert body["value"] == [{name: row[name] for name in chosen} for row in rows]


@each
def test_a_star_selects_all_properties_complex_ones_as_well(api, records, entity_set):
    names = [name for name, part in entity_set.type.navigations.items() if part.is_complex]
    everything = ok(api.get(entity_set.path, {"$expand": ",".join(names)} if names else {}))
    assert ok(api.get(entity_set.path, {"$select": "*"})) == everything
    assert everything["@odata.context"] == context(entity_set.name)


# --- unknown names -----------------------------------------------------------------------------------


#: Columns, attributes of models and lookups of the ORM, none of which a caller can name.
HIDDEN_NAMES = (
    *("password", "Password", "unique_code_key", "guid", "pk", "last_login", "role__name", "Nothing"),
)
HIDDEN_PATHS = ("role/permissions", "Teams/staff", "Address/x", "AccountManager/password", "a.b/c")


def queries_with(name):
    yield {"$select": name}
    yield {"$expand": name}
    yield {"$orderby": name}
    yield {"$filter": f"{name} eq null"}
    yield {"$filter": f"startswith({name},'a')"}
    yield {name: "x"}
    yield {f"{name}__startswith": "a"}
    yield {f"${name}": "x"}


@decided_in_python
@each
def test_unknown_names_are_refused_by_name(api, records, entity_set):
    cases = [(name, query) for name in HIDDEN_NAMES for query in queries_with(name)]
    for name, query in share_of(cases, entity_set, len(HIDDEN_NAMES) + 1):
        error = refused(api.get(entity_set.path, query), 400)
        assert name.split("__")[0].lower() in error["message"].lower(), query
    for path in share_of(HIDDEN_PATHS, entity_set, 2):
        refused(api.get(entity_set.path, {"$filter": f"{path} eq null"}), 400)
        refused(api.get(entity_set.path, {"$orderby": path}), 400)


# --- $orderby ----------------------------------------------------------------------------------------


def in_order(values, falling=False):
    return sorted(
        values, key=lambda value: (value is not None, value if value is not None else 0), reverse=falling
    )


@each
def test_every_property_orders(api, records, entity_set):
    total = len(api.all(entity_set.path))
    for name in names_of(entity_set):
        values = [row[name] for row in ok(api.get(entity_set.path, {"$orderby": name}))["value"]]
        assert len(values) == total
        assert values == in_order(values), name


@each_kind
def test_every_kind_of_property_orders_both_ways_with_null_before_all_values(api, records, entity_set, prop):
    values = [row[prop.name] for row in api.all(entity_set.path)]
    rising = ok(api.get(entity_set.path, {"$orderby": prop.name}))["value"]
    falling = ok(api.get(entity_set.path, {"$orderby": f"{prop.name} DESC"}))["value"]
    assert [row[prop.name] for row in rising] == in_order(values)
    assert [row[prop.name] for row in falling] == in_order(values, falling=True)


@each
def test_lists_come_newest_first_and_lookups_by_name(api, records, entity_set):
    rows = ok(api.get(entity_set.path))["value"]
    key = entity_set.key.name
    if entity_set.type.order[0] == "-creation_date":
        # Templates do not show when they were made; their guids tell.
        expected = sorted(rows, key=lambda row: (row.get("CreationDate"), row[key]), reverse=True)
    else:
        expected = sorted(rows, key=lambda row: (row["Name"], row[key]))
    assert rows == expected


def properties_of_single_parts():
    """(entity set, part, properties): all properties where a nested type is used first, then one of them."""
    found, types = [], set()
    for entity_set in ENTITY_SETS:
        for part in entity_set.type.navigations.values():
            if part.many or part.item_only:
                continue
            properties, kind = list(part.type.properties.values()), (part.type.declaration, part.nesting)
            chosen = properties[:1] if kind in types else properties
            found.append(pytest.param(entity_set, part, chosen, id=f"{entity_set.name}-{part.name}"))
            types.add(kind)
    return found


each_single_part = pytest.mark.parametrize(("entity_set", "part", "properties"), properties_of_single_parts())


@each_single_part
def test_columns_of_single_parts_order_as_well(api, records, entity_set, part, properties):
    rows = ok(api.get(entity_set.path, {"$expand": part.name}))["value"]
    for name in (prop.name for prop in properties):
        query = {"$orderby": f"{part.name}/{name}", "$expand": part.name}
        ordered = ok(api.get(entity_set.path, query))["value"]
        values = [row[part.name] and row[part.name][name] for row in ordered]
        assert values == in_order([row[part.name] and row[part.name][name] for row in rows])


# --- $filter and plain filters -----------------------------------------------------------------------


@each
def test_every_property_is_compared_in_a_filter_and_a_plain_filter(api, records, entity_set):
    """All at once: a record is found by all its values, and would not be if one of them was another's."""
    key = str(records.whole[entity_set.name])
    row = next(row for row in api.all(entity_set.path) if str(row[entity_set.key.name]) == key)
    conditions = [f"{name} eq {literal(prop, row[name])}" for name, prop in fields_of(entity_set)]
    assert ok(api.get(entity_set.path, {"$filter": " and ".join(conditions)}))["value"] == [row]
    plain = [
        (f"{name}__isnull", "true") if row[name] is None else (name, plain_literal(row[name]))
        for name in names_of(entity_set)
    ]
    assert ok(api.get(entity_set.path, plain))["value"] == [row]


def plain_literal(value):
    return json.dumps(value) if isinstance(value, bool | int | float) else value


@each_kind
def test_every_kind_of_property_is_compared_with_values_and_with_null(api, records, entity_set, prop):
    rows, name = api.all(entity_set.path), prop.name
    for value in some_values(row[name] for row in rows):
        for operator, meant in (("eq", True), ("ne", False)):
            query = {"$filter": f"{name} {operator} {literal(prop, value)}"}
            found = ok(api.get(entity_set.path, query))["value"]
            assert found == [row for row in rows if (row[name] == value) is meant], query


@each_kind
def test_a_value_in_a_list_and_its_negation_divide_all_records(api, records, entity_set, prop):
    rows, name = api.all(entity_set.path), prop.name
    values = [literal(prop, row[name]) for row in rows if row[name] is not None][:3]
    assert values
    chosen = f"{name} in ({','.join(values)})"
    inside = ok(api.get(entity_set.path, {"$filter": chosen}))["value"]
    outside = ok(api.get(entity_set.path, {"$filter": f"not ({chosen})"}))["value"]
    assert inside == [row for row in rows if row[name] is not None and literal(prop, row[name]) in values]
    assert keys_of(entity_set, inside + outside) == keys_of(entity_set, rows)


@each_kind
def test_every_kind_of_property_is_a_plain_filter(api, records, entity_set, prop):
    rows, name = api.all(entity_set.path), prop.name
    for value in [row[name] for row in rows if row[name] is not None][:2]:
        expected = [row for row in rows if row[name] == value]
        assert ok(api.get(entity_set.path, {name: plain_literal(value)}))["value"] == expected
    for isnull in (True, False):
        found = ok(api.get(entity_set.path, {f"{name}__isnull": json.dumps(isnull)}))["value"]
        assert found == [row for row in rows if (row[name] is None) is isnull]


@each_single_part
def test_what_lies_in_single_parts_can_be_filtered(api, records, entity_set, part, properties):
    rows = ok(api.get(entity_set.path, {"$expand": part.name}))["value"]
    key = entity_set.key.name
    for prop in properties:
        values = [row[part.name] and row[part.name][prop.name] for row in rows]
        for value in some_values(values):
            query = {"$filter": f"{part.name}/{prop.name} eq {literal(prop, value)}", "$select": key}
            found = [row[key] for row in ok(api.get(entity_set.path, query))["value"]]
            assert found == [row[key] for row, shown in zip(rows, values, strict=True) if shown == value], (
                query
            )


@each
def test_lists_can_be_counted_and_asked_about_in_a_filter(api, records, entity_set):
    rows = ok(api.get(entity_set.path, {"$expand": "*"}))["value"]
    key = entity_set.key.name
    for part in entity_set.type.navigations.values():
        if not part.many or part.item_only:
            continue
        inner = next(iter(part.type.properties))
        for condition, meant in (
            (f"{part.name}/any()", lambda listed: bool(listed)),
            (f"not {part.name}/any()", lambda listed: not listed),
            (f"{part.name}/$count eq 0", lambda listed: not listed),
            (f"{part.name}/any(x:x/{inner} eq null)", lambda listed: False),
            (f"{part.name}/all(x:x/{inner} ne null)", lambda listed: True),
        ):
            found = [row[key] for row in ok(api.get(entity_set.path, {"$filter": condition}))["value"]]
            assert found == [row[key] for row in rows if meant(row[part.name])], condition


# --- stamps ------------------------------------------------------------------------------------------


@each
def test_a_stamped_record_has_an_etag_that_spares_reading_it_again(api, records, entity_set):
    assert entity_set.etag_field
    address = item(entity_set, records)
    tag = api.get(address)["ETag"]
    same, other = [tag, f'"other", {tag}', tag.removeprefix("W/"), "*"], ['W/"0"', "W/", '"', ""]
    for sent in share_of(same, entity_set, 1):
        answer = api.get(address, If_None_Match=sent)
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag), sent
    for sent in share_of(other, entity_set, 1):
        assert ok(api.get(address, If_None_Match=sent)), sent
    stamp = entity_set.etag_field
    entity_set.model.objects.filter(pk=records.whole[entity_set.name]).update(
        **{stamp: "2020-01-01T00:00:00Z"}
    )
    answer = api.get(address, If_None_Match=tag)
    assert answer.status_code == 200
    assert answer["ETag"] != tag
    assert "ETag" not in api.get(entity_set.path)


# --- callers -----------------------------------------------------------------------------------------


def addresses(entity_set, records):
    yield "GET", entity_set.path, None
    yield "GET", item(entity_set, records), None
    yield "GET", f"{entity_set.path}/$count", None
    yield "POST", f"{entity_set.path}/$query", b"$top=1"
    if "POST" in entity_set.resource.methods:
        yield "POST", entity_set.path, {"value": []}
    if "PUT" in entity_set.resource.methods:
        yield "PUT", item(entity_set, records), {}


@decided_in_python
@each
def test_without_credentials_that_hold_every_address_is_401(records, nobody, entity_set):
    invalid = [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}]
    for method, address, body in addresses(entity_set, records):
        for credentials in share_of(invalid, entity_set, 1):
            answer = nobody.call(method, address, body=body, **credentials)
            refused(answer, 401, "Unauthenticated")
            assert answer["WWW-Authenticate"].startswith('Bearer realm="api", Basic realm="api"')


@decided_in_python
@each
def test_without_the_scope_every_address_is_403(records, entity_set):
    other = next(one.path for one in ENTITY_SETS if one is not entity_set).lower()
    reader = Caller(an_application("read", name="Reads all"))
    writer = Caller(an_application("write", name="Writes all"))
    elsewhere = Caller(an_application(f"{other}.read", name="Reads another"))
    own = Caller(an_application(f"{entity_set.path.lower()}.read", name="Reads this"))
    for method, address, body in addresses(entity_set, records):
        reads = method == "GET" or address.endswith("$query")
        media = "text/plain" if address.endswith("$query") else "application/json"
        unread = 415 if entity_set.name == "Document" else 400  # documents come as a form

        def status(caller, method=method, address=address, body=body, media=media):
            return caller.call(method, address, body=body, content_type=media).status_code

        assert [status(caller) for caller in (reader, own, elsewhere, writer)] == (
            [200, 200, 403, 403] if reads else [403, 403, 403, unread]
        ), (method, address)


# --- statements --------------------------------------------------------------------------------------


@each
def test_a_page_costs_one_statement_beside_the_callers(api, records, statements, entity_set):
    ok(api.get(entity_set.path))  # the subscriber's settings are read once in a few seconds
    queries = [{"$top": "1"}, {"$skip": "1"}, {"$orderby": entity_set.key.name}]
    for query in [{}, {"$expand": "*"}, *share_of(queries, entity_set, 1)]:
        assert len(statements(lambda query=query: ok(api.get(entity_set.path, query)))) == 2, query
    assert len(statements(lambda: ok(api.get(entity_set.path, {"$count": "true"})))) == 3
    assert len(statements(lambda: api.get(f"{entity_set.path}/$count"))) == 2


@each
def test_a_record_costs_one_statement_beside_the_callers(api, records, statements, entity_set):
    address = item(entity_set, records)
    ok(api.get(address))
    for query in [{}, {"$expand": "*"}]:
        assert len(statements(lambda query=query: ok(api.get(address, query)))) == 2, query


def test_every_nesting_is_served():
    types = [entity_set.type for entity_set in ENTITY_SETS]
    kinds = {part.nesting for type_ in types for part in type_.navigations.values()}
    assert kinds | {Nesting.ENTITY_SET} == set(Nesting)
    assert any(type_.set_navigations for type_ in types)
