"""Context URLs keep to the ABNF and say what the records beside them have."""

import pytest

from apps.base.declaration.service import get_service
from tests.api.caller import ok
from tests.api.context_grammar import assert_agrees, derived


def navigations_by_set():
    """(entity set, navigation properties): those that no set before has, of the same type and as many."""
    found, kinds = [], set()
    for entity_set in get_service().entity_sets:
        members = {**entity_set.type.navigations, **entity_set.type.set_navigations}
        kind_of = {part: (part.type.declaration, part.nesting, part.many) for part in members.values()}
        chosen = {name: part for name, part in members.items() if kind_of[part] not in kinds}
        kinds.update(kind_of.values())
        found.append(pytest.param(entity_set, chosen, id=entity_set.name))
    return found


def queries(type_, chosen, item):
    """Every way to choose members of records of a type."""
    last = list(type_.readable_properties)[-1]
    if not item:
        yield from ({"$compute": "1 add 1 as ComputedTwo", **q} for q in ({}, {"$select": "ComputedTwo"}))
    yield from ({}, {"$expand": "*"}, {"$select": "*"}, {"$select": last}, {"$select": last, "$expand": "*"})
    for name, part in type_.navigations.items():
        if name not in chosen:
            continue
        yield {"$select": name}
        yield {"$select": f"{last},{name}"}
        if part.item_only and not item:
            continue
        inner = list(part.type.readable_properties)[-1]
        yield {"$expand": name}
        yield {"$expand": f"{name}($select={inner})", "$select": last}
        yield {"$expand": f"{name}($select={inner})"}
        if part.is_complex:
            yield {"$select": f"{name}/{inner},{last}"}
        for other in part.type.navigations:
            yield {"$expand": f"{name}($expand={other})"}
            yield {"$expand": f"{name}($select={inner},{other})"}
    for name, navigation in type_.set_navigations.items():
        if name not in chosen:
            continue
        key = navigation.entity_set.key.name
        yield {"$expand": name, "$select": f"{last},{name}"}
        yield {"$expand": f"{name}($expand=*)"}
        yield {"$expand": f"{name}($select={key}),*"}
        yield {"$expand": f"{name}($compute=1 add 1 as ComputedTwo;$select=ComputedTwo)"}
        yield {"$expand": f"{name}($compute=1 add 1 as ComputedTwo)"}


@pytest.mark.parametrize(("entity_set", "chosen"), navigations_by_set())
def test_a_context_is_derived_by_the_grammar_and_agrees_with_the_records(api, records, entity_set, chosen):
    addresses = {entity_set.path: False, f"{entity_set.path}/{records.whole[entity_set.name]}": True}
    for address, item in addresses.items():
        for query in queries(entity_set.type, chosen, item):
            body = ok(api.get(address, query))
            fragment = body.pop("@odata.context").partition("/api/$metadata#")[2]
            assert fragment.endswith("/$entity") is item
            found, selected = derived(fragment)
            assert found is entity_set
            rows = [body] if item else body["value"]
            assert rows
            assert_agrees(rows, selected, entity_set.type)


@pytest.mark.parametrize(
    "fragment",
    ["Client(Address(Suburb))", "Client(Address())", "Client(BusinessName,)", "Client(Suburb)", "Client()x"],
)
def test_the_grammar_refuses_what_is_outside_the_rule(fragment):
    with pytest.raises((AssertionError, KeyError, TypeError)):
        derived(fragment)
