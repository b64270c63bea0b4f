"""JSON Schemas of records in responses and in request bodies.

Schemas of responses are made from the CSDL document, so that the two cannot disagree; schemas of request
bodies from the declarations, which alone have aliases, numbers of enumerations and required members.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models

from apps.base.declaration.edm import INTEGER_RANGES
from apps.base.declaration.resource import V2_1, Behaviour, BodyKind, Nesting
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.base.declaration.service import Service
from apps.odata.metadata.csdl import document, is_enumeration, limits, primitive_type

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
GUID: Json = {"type": "string", "format": "uuid"}
URI: Json = {"type": "string", "format": "uri"}
COUNT: Json = {"type": "integer", "minimum": 0}
YES_OR_NO: Json = {"type": "boolean"}

EXAMPLES: dict[str, object] = {
    "Edm.Guid": "0190163d-8694-739b-aea5-966c26f8ad91",
    "Edm.Date": "2026-07-01",
    "Edm.DateTimeOffset": "2026-07-01T09:30:00+10:00",
    "Edm.Boolean": True,
    "Edm.Decimal": 12.5,
    **dict.fromkeys(INTEGER_RANGES, 12),
}


def object_schema(properties: Json, required: Sequence[str] = ()) -> Json:
    return {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
    }


def list_schema(items: Json, **more: int | str) -> Json:
    return {"type": "array", "items": items, **more}


def reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


# --- responses ----------------------------------------------------------------------------------------


def read_schemas(service: Service) -> Json:
    """A schema of every type of the data model, and of a page of every entity set."""
    types = document(service)[service.namespace]
    schemas = {
        name: type_schema(definition)
        for name, definition in types.items()
        if definition["$Kind"] != "EntityContainer"
    }
    for entity_set in service.entity_sets:
        schemas[f"{entity_set.name}Page"] = page_schema(entity_set)
    return schemas


def type_schema(definition: Json) -> Json:
    """An entity type, a complex type or an enumeration of the data model as JSON Schema."""
    members = {name: value for name, value in definition.items() if name[0] not in "$@"}
    notes = described(definition)
    if definition["$Kind"] == "EnumType":
        return {**TEXT, "enum": list(members), **notes}
    return object_schema({name: member_schema(member) for name, member in members.items()}) | notes


def member_schema(member: Json) -> Json:
    """A member of a type: its value, a list of values, or null."""
    notes = described(member)
    if member.get("@Org.OData.Core.V1.Computed"):
        notes["readOnly"] = True
    type_ = member["$Type"]
    name = type_.rpartition(".")[2]
    schema = primitive(member) if type_.startswith("Edm.") else reference(name)
    if member.get("$Kind") == "NavigationProperty" and "$ContainsTarget" not in member:
        # By name only: the sets refer to each other in circles. Not as a title: generators name a model after
        # it, and two members of one type would be two models of one name.
        schema = {"type": "object"}
        notes["description"] = f"{name}. {notes.get('description', '')}".strip()
    if member.get("$Collection"):
        return list_schema(schema) | notes
    if member.get("$Nullable"):
        schema = or_null(schema)
    return {**schema, **notes}


def described(definition: Json) -> Json:
    texts = [
        definition[term]
        for term in ("@Org.OData.Core.V1.Description", "@Org.OData.Core.V1.LongDescription")
        if term in definition
    ]
    return {"description": " ".join(texts)} if texts else {}


_FORMATS = {"Edm.Guid": "uuid", "Edm.Date": "date", "Edm.DateTimeOffset": "date-time"}


def primitive(member: Json) -> Json:
    """The JSON of a primitive type with its facets and limits."""
    type_ = member["$Type"]
    least, greatest = INTEGER_RANGES.get(type_, (None, None))
    bounds = {
        "minimum": member.get("@Org.OData.Validation.V1.Minimum", least),
        "maximum": member.get("@Org.OData.Validation.V1.Maximum", greatest),
    }
    bounded = {name: bound for name, bound in bounds.items() if bound is not None}
    if type_ in INTEGER_RANGES:
        return {"type": "integer", **bounded}
    if type_ == "Edm.Decimal":
        digits = f"{member['$Precision'] - member['$Scale']} digits and {member['$Scale']} decimal places"
        return {"type": "number", "format": "decimal", "title": f"A number of at most {digits}", **bounded}
    if type_ == "Edm.Boolean":
        return dict(YES_OR_NO)
    if type_ in _FORMATS:
        return {**TEXT, "format": _FORMATS[type_]}
    allowed = [item["Value"] for item in member.get("@Org.OData.Validation.V1.AllowedValues", ())]
    if allowed:
        return {**TEXT, "enum": allowed}
    return {**TEXT, **({"maxLength": member["$MaxLength"]} if "$MaxLength" in member else {})}


def or_null(schema: Json) -> Json:
    """The schema, or null."""
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    nullable = {**schema, "type": [*kinds, "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def page_schema(entity_set: EntitySet) -> Json:
    properties = {
        "@odata.context": {**URI, "description": "The members of the records, as a fragment of $metadata."},
        "@odata.count": {**COUNT, "description": "With $count=true: how many are found in all."},
        "value": list_schema(reference(entity_set.name)),
        "@odata.nextLink": {**URI, "description": "Where the next page is; not there on the last."},
    }
    return object_schema(properties, required=["@odata.context", "value"])


def item_schema(entity_set: EntitySet) -> Json:
    context = object_schema({"@odata.context": URI}, required=["@odata.context"])
    return {"allOf": [context, reference(entity_set.name)]}


# --- request bodies -----------------------------------------------------------------------------------


def write_schemas(service: Service) -> Json:
    """Schemas of the request bodies of every entity set with POST or PUT; in version 2.1 of all changes."""
    schemas: Json = {}
    for entity_set in service.entity_sets:
        for method, kind in (("PUT", BodyKind.WHOLE), ("PATCH", BodyKind.PARTIAL)):
            if service.version == V2_1 and entity_set.supports(method):
                name = f"{entity_set.name}{CHANGE_SCHEMAS[kind]}"
                schemas[name] = body_schema(entity_set.type, kind)
        if not entity_set.supports("POST") and not entity_set.supports("PUT"):
            continue
        schemas[f"{entity_set.name}Body"] = body_schema(entity_set.type)
        records = list_schema(
            reference(f"{entity_set.name}Body"), minItems=1, maxItems=settings.API_MAX_RECORDS
        )
        schemas[f"{entity_set.name}Bodies"] = object_schema({"value": records}, required=["value"])
    return schemas


#: How the schemas of bodies that change a record are called, behind the name of the entity set.
CHANGE_SCHEMAS = {BodyKind.WHOLE: "Replacement", BodyKind.PARTIAL: "Change"}


def body_schema(type_: StructuredType, kind: BodyKind = BodyKind.NEW) -> Json:
    """The members that request bodies may hold, each under all its names; others are ignored."""
    members: Json = {}
    required: list[str] = []
    alternatives: list[Json] = []
    for prop in type_.writable_properties:
        if kind is not BodyKind.NEW and prop.declaration.write_only:
            continue
        names = prop.body_names
        members.update(dict.fromkeys(names, property_schema(prop)))
        if prop.behaviour is Behaviour.REQUIRED and len(names) == 1:
            required.append(prop.name)
        elif prop.behaviour is Behaviour.REQUIRED:
            alternatives.append({"anyOf": [{"required": [name]} for name in names]})
    for navigation in type_.writable_navigations:
        members[navigation.name] = navigation_schema(navigation, kind)
        if navigation.declaration.required:
            required.append(navigation.name)
    if kind is BodyKind.PARTIAL:
        return object_schema(members)
    return object_schema(members, required) | ({"allOf": alternatives} if alternatives else {})


def property_schema(prop: StructuralProperty) -> Json:
    """A value in a request body; null when it is optional."""
    schema = {**value_schema(prop), "examples": [example_value(prop)]}
    note = FORMAT_NOTES.get(prop.edm.name)
    texts = [text for text in (prop.declaration.description, note) if text]
    if texts:
        schema["description"] = " ".join(texts)
    if prop.edm.name == "Edm.Decimal":
        schema["type"] = ["number", "string"]
    if prop.numbers:
        numbers = ", ".join(f"{number} {name}" for number, name in prop.numbers.items())
        schema = {
            "anyOf": [schema, {"type": "integer", "enum": list(prop.numbers)}],
            "description": f"By its name, or by its number: {numbers}.",
        }
    return schema if prop.behaviour is Behaviour.REQUIRED else or_null(schema)


#: Other formats of values in request bodies.
FORMAT_NOTES = {
    "Edm.Date": "Also with a time, which is cut off: 2026-07-01 09:30:00.",
    "Edm.DateTimeOffset": "Without an offset it is the subscriber's local time: 2026-07-01 09:30:00.",
    "Edm.Decimal": "Also as a string of digits.",
}


def value_schema(prop: StructuralProperty) -> Json:
    """The JSON Schema of the values of a property."""
    if prop.choices:
        title = {"title": prop.enum.__name__} if is_enumeration(prop) and prop.enum else {}
        return {**TEXT, "enum": list(prop.choices), **title}
    schema = primitive({**primitive_type(prop), **limits(prop)})
    if isinstance(prop.field, models.EmailField):
        schema["format"] = "email"
    return schema


def navigation_schema(navigation: NavigationProperty, kind: BodyKind = BodyKind.NEW) -> Json:
    """A nested object in a request body: a reference by its key, any other with its members."""
    key = navigation.type.key
    if navigation.nesting is Nesting.CONTAINED and kind is not BodyKind.NEW and key is not None:
        schema = body_schema(navigation.type, kind)
        note = "An existing item; without it the item is new."
        schema["properties"][key.name] = {**value_schema(key), "description": note}
    elif navigation.nesting is not Nesting.REFERENCE:
        schema = body_schema(navigation.type, kind)
    elif key is None:
        schema = {"type": "object"}
    else:
        value = {**value_schema(key), "examples": [example_value(key)]}
        schema = object_schema({key.name: value}, required=[key.name])
    if navigation.many:
        schema = list_schema(schema)
        if navigation.nesting is Nesting.CONTAINED:
            schema["maxItems"] = settings.API_MAX_LINES
        if navigation.declaration.required:
            schema["minItems"] = 1
    if navigation.declaration.description:
        schema["description"] = navigation.declaration.description
    return schema if navigation.declaration.required else or_null(schema)


# --- examples -----------------------------------------------------------------------------------------


def example_value(prop: StructuralProperty) -> object:
    """A possible value of the property."""
    if prop.choices:
        return prop.choices[0]
    if prop.edm.name != "Edm.String":
        return EXAMPLES[prop.edm.name]
    if "email" in prop.name.lower():
        return "kim.lee@records.example"
    name = str(getattr(prop.source_field, "verbose_name", prop.name))
    return f"{name[:1].upper()}{name[1:]}"[: prop.edm.max_length]


def example_of(type_: StructuredType) -> Json:
    """The smallest body with all required members."""
    required = (p for p in type_.writable_properties if p.behaviour is Behaviour.REQUIRED)
    members = {p.body_names[0]: example_value(p) for p in required}
    for navigation in type_.writable_navigations:
        if not navigation.declaration.required:
            continue
        key = navigation.type.key
        one = (
            {key.name: example_value(key)}
            if navigation.nesting is Nesting.REFERENCE and key
            else example_of(navigation.type)
        )
        members[navigation.name] = [one] if navigation.many else one
    return members


def example_filter(entity_set: EntitySet) -> str:
    name = next(
        (n for n, p in entity_set.type.properties.items() if p.edm.name == "Edm.DateTimeOffset"), None
    )
    return f"{name} ge 2026-07-01T00:00:00Z" if name else f"{entity_set.key.name} ne null"
