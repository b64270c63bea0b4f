"""The data model of a service as CSDL, in JSON and in XML (OData 4.01, CSDL; architecture.md, "Metadata").

The JSON document is made from the declarations, the XML document from the JSON. A nested object with a key is
an entity type and its member a contained navigation property; one without a key (an address) is a complex
type. Responses have either only when it is expanded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from django.core import validators
from django.utils.encoding import force_str

from apps.base.declaration.resource import DELETE, PATCH, PUT, V2_1, Behaviour
from apps.base.declaration.schema import (
    EntitySet,
    NavigationProperty,
    SetNavigation,
    StructuralProperty,
    StructuredType,
)
from apps.base.declaration.service import Service, get_service
from apps.odata.query.parser import FUNCTIONS
from apps.odata.query.transformations import TRANSFORMATIONS

CONTAINER = "Container"
#: Times have microseconds.
TIME_PRECISION = 6

_AGGREGATION = "Org.OData.Aggregation.V1"
_CORE = "Org.OData.Core.V1"
_CAPABILITIES = "Org.OData.Capabilities.V1"
_VALIDATION = "Org.OData.Validation.V1"
_VOCABULARIES = "https://oasis-tcs.github.io/odata-vocabularies/vocabularies"
_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"


class PropertyPath(str):
    """The path of a property in an annotation; a string in JSON, an expression of its own in XML."""


class NavigationPath(PropertyPath):
    """The path of a navigation property in an annotation."""


class VocabularyMember(str):
    """Members of a vocabulary's enumeration in an annotation; ``type`` is the name of the enumeration."""

    type: str

    def __new__(cls, type_: str, name: str) -> VocabularyMember:
        member = super().__new__(cls, name)
        member.type = type_
        return member


@lru_cache(maxsize=4)
def csdl_json(service: Service) -> bytes:
    """``$metadata`` as a CSDL JSON document."""
    text = json.dumps(document(service), ensure_ascii=False, separators=(",", ":"), default=float)
    return text.encode()


@lru_cache(maxsize=4)
def csdl_xml(service: Service) -> bytes:
    """``$metadata`` as a CSDL XML document of version 4.0, the version of the responses."""
    root = ElementTree.Element("edmx:Edmx", {"xmlns:edmx": _EDMX, "Version": "4.0"})
    model = document(service)
    for uri, reference in model["$Reference"].items():
        element = ElementTree.SubElement(root, "edmx:Reference", Uri=uri.replace(".json", ".xml"))
        for include in reference["$Include"]:
            ElementTree.SubElement(element, "edmx:Include", Namespace=include["$Namespace"])
    services = ElementTree.SubElement(root, "edmx:DataServices")
    schema = ElementTree.SubElement(services, "Schema", xmlns=_EDM, Namespace=service.namespace)
    for name, definition in model[service.namespace].items():
        write_definition(schema, definition["$Kind"], name, definition)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def document(service: Service) -> dict[str, Any]:
    """The CSDL JSON document of a service as Python objects."""
    return {
        "$Version": "4.01",
        "$EntityContainer": f"{service.namespace}.{CONTAINER}",
        "$Reference": {
            f"{_VOCABULARIES}/{namespace}.json": {"$Include": [{"$Namespace": namespace}]}
            for namespace in (_AGGREGATION, _CORE, _CAPABILITIES, _VALIDATION)
        },
        service.namespace: TypeCollector(service).schema(),
    }


# --- the model ----------------------------------------------------------------------------------------


class TypeCollector:
    """Collects the named types of a service.

    A nested type that is equal everywhere (an address) is one type with the name of its declaration; where
    two differ, the later one has the name of its member (``StaffAddress``).
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.entity_types: dict[str, dict[str, object]] = {}
        self.nested_types: dict[str, dict[str, object]] = {}
        self.enum_types: dict[str, dict[str, object]] = {}
        #: The qualified names of the types of the declarations.
        self.type_names: dict[StructuredType, str] = {}
        self.names = {entity_set.name for entity_set in service.entity_sets} | {CONTAINER}

    def schema(self) -> dict[str, object]:
        for entity_set in self.service.entity_sets:
            self.type_names[entity_set.type] = self.qualified(entity_set.name)
            described = self.structured(entity_set.type, has_expand_notes=True)
            self.entity_types[entity_set.name] = {
                **described,
                **description(entity_set.type.declaration.__doc__),
            }
        return {**self.entity_types, **self.nested_types, **self.enum_types, CONTAINER: self.container()}

    def qualified(self, name: str) -> str:
        return f"{self.service.namespace}.{name}"

    # --- types ----------------------------------------------------------------------------------------

    def structured(self, type_: StructuredType, has_expand_notes: bool = False) -> dict[str, object]:
        """An entity type or a complex type with its members, in their order in responses.

        ``has_expand_notes``: its navigation properties need $expand; those of nested objects do not.
        """
        members = {name: self.property(prop) for name, prop in type_.readable_properties.items()}
        members.update(
            (name, self.navigation(navigation, has_expand_notes))
            for name, navigation in type_.navigations.items()
        )
        members.update(
            (name, self.set_navigation(navigation)) for name, navigation in type_.set_navigations.items()
        )
        if type_.key is None:
            return {"$Kind": "ComplexType", **members}
        return {"$Kind": "EntityType", "$Key": [type_.key.name], **members}

    def property(self, prop: StructuralProperty) -> dict[str, object]:
        # A key is made by the service too, but clients that see it annotated leave it out of what they read.
        is_computed = not prop.writable and prop.behaviour is not Behaviour.KEY
        return {
            **({"$Type": self.enumeration(prop)} if is_enumeration(prop) else primitive_type(prop)),
            **({"$Nullable": True} if prop.nullable else {}),
            **description(prop.declaration.description or force_str(prop.source_field.help_text)),
            **({f"@{_CORE}.Computed": True} if is_computed else {}),
            **limits(prop),
        }

    def enumeration(self, prop: StructuralProperty) -> str:
        """The qualified name of the enumeration type of a property."""
        class_ = prop.enum
        described = {
            "$Kind": "EnumType",
            **prop.member_values,
            **description(vars(class_).get("__doc__") if class_ is not None else ""),
        }
        name = class_.__name__ if class_ is not None else prop.name
        model = prop.field.model._meta
        return self.add_type(name, f"{model.object_name}{prop.name}", described, self.enum_types)

    def navigation(self, navigation: NavigationProperty, has_expand_note: bool) -> dict[str, object]:
        """A member with a nested object: with a key a contained entity, without one a complex value."""
        type_ = navigation.type
        described = self.structured(type_)
        described.update(description(vars(type_.declaration).get("__doc__")))
        name = type_.declaration.type_name or type_.declaration.__name__.removesuffix("Type")
        if name in described:  # in many clients' languages a class cannot have a member of its own name
            name += "Type"
        self.type_names[type_] = self.add_type(name, type_.name, described, self.nested_types)
        nullable = not navigation.many and (not navigation.steps or navigation.relation.null)
        has_key = not navigation.is_complex
        where = " on one record, never on a collection" if navigation.item_only else ""
        expand_note = f"Left out until it is asked for with $expand={navigation.name}{where}."
        return {
            **({"$Kind": "NavigationProperty"} if has_key else {}),
            "$Type": self.type_names[type_],
            **({"$Collection": True} if navigation.many else {}),
            **({"$Nullable": True} if nullable else {}),
            **({"$ContainsTarget": True} if has_key else {}),
            **description(navigation.declaration.description),
            **({f"@{_CORE}.LongDescription": expand_note} if has_expand_note else {}),
            **({} if navigation.writable or has_key else {f"@{_CORE}.Computed": True}),
        }

    def set_navigation(self, navigation: SetNavigation) -> dict[str, object]:
        """A member that leads to one record of another entity set, or back to a list of them."""
        nullable = not navigation.many and any(step.null for step in navigation.steps)
        dependent, key = navigation.dependent, navigation.entity_set.key
        return {
            "$Kind": "NavigationProperty",
            "$Type": self.qualified(navigation.entity_set.name),
            **({"$Collection": True} if navigation.many else {}),
            **({"$Nullable": True} if nullable else {}),
            **({"$Partner": navigation.partner} if navigation.partner else {}),
            **({"$ReferentialConstraint": {dependent.name: key.name}} if dependent else {}),
            f"@{_CORE}.LongDescription": f"Shown with $expand={navigation.name}, and not with $expand=*.",
        }

    def add_type(
        self, name: str, other_name: str, described: dict[str, object], types: dict[str, dict[str, object]]
    ) -> str:
        """The qualified name of a type: ``name``, or ``other_name`` when another type has that name."""
        if name in self.names and types.get(name) != described:
            name = other_name
        self.names.add(name)
        types.setdefault(name, described)
        return self.qualified(name)

    # --- the container --------------------------------------------------------------------------------

    def container(self) -> dict[str, object]:
        return {
            "$Kind": "EntityContainer",
            f"@{_CAPABILITIES}.SupportedFormats": [
                "application/json;odata.metadata=minimal",
                "application/x-ndjson",
                "text/csv",
            ],
            f"@{_CAPABILITIES}.SupportedMetadataFormats": ["application/xml", "application/json"],
            f"@{_CAPABILITIES}.KeyAsSegmentSupported": True,
            f"@{_CAPABILITIES}.QuerySegmentSupported": True,
            f"@{_CAPABILITIES}.AsynchronousRequestsSupported": False,
            f"@{_CAPABILITIES}.CrossJoinSupported": False,
            f"@{_CAPABILITIES}.BatchSupported": True,
            f"@{_CAPABILITIES}.BatchContinueOnErrorSupported": True,
            f"@{_CAPABILITIES}.BatchSupport": {
                "Supported": True,
                "ContinueOnErrorSupported": True,
                "ReferencesInRequestBodiesSupported": True,
                "ReferencesAcrossChangeSetsSupported": True,
                "EtagReferencesSupported": True,
                "RequestDependencyConditionsSupported": False,
                "SupportedFormats": ["multipart/mixed", "application/json"],
            },
            f"@{_CAPABILITIES}.FilterFunctions": sorted(FUNCTIONS),
            **{entity_set.name: self.entity_set(entity_set) for entity_set in self.service.entity_sets},
        }

    def entity_set(self, entity_set: EntitySet) -> dict[str, object]:
        bindings = dict(navigation_bindings(entity_set.type))
        has_changes = any(map(entity_set.supports, (PUT, PATCH, DELETE)))
        requires_etag = has_changes and entity_set.resource.version == V2_1
        return {
            "$Collection": True,
            "$Type": self.qualified(entity_set.name),
            **({"$NavigationPropertyBinding": bindings} if bindings else {}),
            **description(entity_set.type.declaration.__doc__),
            **{f"@{_CAPABILITIES}.{term}": value for term, value in capabilities(entity_set).items()},
            **({f"@{_CORE}.OptimisticConcurrency": []} if requires_etag else {}),
            **({f"@{_CORE}.AlternateKeys": alternate_keys(entity_set)} if entity_set.alternate_keys else {}),
            f"@{_AGGREGATION}.ApplySupported": {
                "Transformations": list(TRANSFORMATIONS),
                "Rollup": VocabularyMember(f"{_AGGREGATION}.RollupType", "MultipleHierarchies"),
            },
        }


@lru_cache
def collected_types(version: str) -> TypeCollector:
    collector = TypeCollector(get_service(version))
    collector.schema()
    return collector


def name_of_type(type_: StructuredType, version: str) -> str:
    """The qualified name of an entity type or a complex type."""
    return collected_types(version).type_names[type_]


def type_of_values(prop: StructuralProperty, version: str) -> str:
    """The qualified name of the primitive type or the enumeration type of a property."""
    return collected_types(version).enumeration(prop) if is_enumeration(prop) else prop.edm.name


def capabilities(entity_set: EntitySet) -> dict[str, object]:
    """The capabilities of an entity set by their terms."""
    required = [p.name for p in entity_set.type.properties.values() if p.behaviour is Behaviour.REQUIRED]
    insert: dict[str, object] = {"Insertable": entity_set.supports("POST")}
    if entity_set.supports("POST"):
        insert["RequiredProperties"] = [PropertyPath(name) for name in required]
        insert["NonInsertableProperties"] = [PropertyPath(entity_set.key.name)]
    methods = [method for method in (PATCH, PUT) if entity_set.supports(method)]
    update: dict[str, object] = {"Updatable": bool(methods)}
    if methods:
        update["UpdateMethod"] = VocabularyMember(f"{_CAPABILITIES}.HttpMethod", ",".join(methods))
    if entity_set.alternate_keys:
        update |= {"Upsertable": True, "DeltaUpdateSupported": True}
    expand: dict[str, object] = {"Expandable": True}
    of_one_record = [part.name for part in entity_set.type.navigations.values() if part.item_only]
    if of_one_record:
        expand["NonExpandableProperties"] = [NavigationPath(name) for name in of_one_record]
    navigation = VocabularyMember(f"{_CAPABILITIES}.NavigationType", "Recursive")
    return {
        "TopSupported": True,
        "SkipSupported": True,
        "CountRestrictions": {"Countable": True},
        "FilterRestrictions": {"Filterable": True},
        "SortRestrictions": {"Sortable": True},
        "ExpandRestrictions": expand,
        "ChangeTracking": {"Supported": entity_set.resource.is_tracked},
        "SearchRestrictions": {"Searchable": bool(entity_set.resource.search)},
        "NavigationRestrictions": {"Navigability": navigation},
        "InsertRestrictions": insert,
        "UpdateRestrictions": update,
        "DeleteRestrictions": {"Deletable": entity_set.supports(DELETE)},
    }


def alternate_keys(entity_set: EntitySet) -> list[dict[str, list[dict[str, str]]]]:
    names = [key.prop.name for key in entity_set.alternate_keys.values()]
    return [{"Key": [{"Name": PropertyPath(name), "Alias": name}]} for name in names]


def navigation_bindings(type_: StructuredType, path: str = "") -> Iterator[tuple[str, str]]:
    """The paths of the navigation properties to other entity sets, and the names of those sets."""
    for name, navigation in type_.set_navigations.items():
        yield path + name, navigation.entity_set.name
    for name, part in type_.navigations.items():
        yield from navigation_bindings(part.type, f"{path}{name}/")


def is_enumeration(prop: StructuralProperty) -> bool:
    """True when the values of a property are the members of an enumeration type, which are identifiers."""
    return bool(prop.member_values)


def primitive_type(prop: StructuralProperty) -> dict[str, object]:
    """The primitive type of a property with its facets."""
    edm = prop.edm
    precision = TIME_PRECISION if edm.name == "Edm.DateTimeOffset" else edm.precision
    facets = {"$MaxLength": edm.max_length, "$Precision": precision, "$Scale": edm.scale}
    return {"$Type": edm.name, **{name: n for name, n in facets.items() if n is not None}}


def description(text: str | None) -> dict[str, str]:
    """The first paragraph of a docstring on one line, as an annotation."""
    paragraph = " ".join((text or "").strip().partition("\n\n")[0].split())
    return {f"@{_CORE}.Description": paragraph} if paragraph else {}


def limits(prop: StructuralProperty) -> dict[str, object]:
    """The limits of a value beyond its type."""
    annotations: dict[str, object] = {}
    # Those of the declaration: ``validators`` adds the limits of the database, which the type has already.
    _, _, _, options = prop.field.deconstruct()
    for validator in options.get("validators", ()) if prop.writable else ():
        if isinstance(validator, validators.MinValueValidator):
            annotations[f"@{_VALIDATION}.Minimum"] = validator.limit_value
        if isinstance(validator, validators.MaxValueValidator):
            annotations[f"@{_VALIDATION}.Maximum"] = validator.limit_value
    if prop.choices and not is_enumeration(prop):
        annotations[f"@{_VALIDATION}.AllowedValues"] = [{"Value": name} for name in prop.choices]
    return annotations


# --- XML ----------------------------------------------------------------------------------------------

_FACETS = ("$MaxLength", "$Precision", "$Scale")


def write_definition(
    parent: ElementTree.Element, kind: str, name: str, definition: Mapping[str, Any]
) -> None:
    """A type, a member of one, the container or an entity set, with its members and annotations."""
    element = ElementTree.SubElement(parent, kind, {"Name": name, **xml_attributes(kind, definition)})
    if "$Key" in definition:
        key = ElementTree.SubElement(element, "Key")
        for path in definition["$Key"]:
            ElementTree.SubElement(key, "PropertyRef", Name=path)
    for path, target in definition.get("$NavigationPropertyBinding", {}).items():
        ElementTree.SubElement(element, "NavigationPropertyBinding", Path=path, Target=target)
    for dependent, principal in definition.get("$ReferentialConstraint", {}).items():
        constraint = {"Property": dependent, "ReferencedProperty": principal}
        ElementTree.SubElement(element, "ReferentialConstraint", constraint)
    default_kind = "EntitySet" if kind == "EntityContainer" else "Property"
    for member, value in definition.items():
        if member.startswith("@"):
            write_value(ElementTree.SubElement(element, "Annotation", Term=member[1:]), value)
        elif kind == "EnumType" and not member.startswith("$"):
            ElementTree.SubElement(element, "Member", Name=member, Value=str(value))
        elif not member.startswith("$"):
            write_definition(element, value.get("$Kind", default_kind), member, value)


def xml_attributes(kind: str, definition: Mapping[str, Any]) -> dict[str, str]:
    if kind == "EntitySet":
        return {"EntityType": definition["$Type"]}
    if kind not in ("Property", "NavigationProperty"):
        return {}
    type_, collection = definition["$Type"], definition.get("$Collection", False)
    attributes = {"Type": f"Collection({type_})" if collection else type_}
    attributes |= {facet[1:]: str(definition[facet]) for facet in _FACETS if facet in definition}
    # The standard forbids it on collection-valued navigation properties.
    if not definition.get("$Nullable") and not (collection and kind == "NavigationProperty"):
        attributes["Nullable"] = "false"
    if definition.get("$ContainsTarget"):
        attributes["ContainsTarget"] = "true"
    if "$Partner" in definition:
        attributes["Partner"] = definition["$Partner"]
    return attributes


def write_value(element: ElementTree.Element, value: object) -> None:
    """The value of an annotation: a constant as an attribute, a collection or record as elements."""
    if isinstance(value, list):
        collection = ElementTree.SubElement(element, "Collection")
        for item in value:
            write_item(collection, item)
    elif isinstance(value, dict):
        write_record(element, value)
    else:
        element.set(*constant(value))


def write_item(collection: ElementTree.Element, item: object) -> None:
    if isinstance(item, dict):
        write_record(collection, item)
        return
    kind, text = constant(item)
    ElementTree.SubElement(collection, kind).text = text


def write_record(element: ElementTree.Element, record: Mapping[str, object]) -> None:
    written = ElementTree.SubElement(element, "Record")
    for name, value in record.items():
        write_value(ElementTree.SubElement(written, "PropertyValue", Property=name), value)


def constant(value: object) -> tuple[str, str]:
    """The name and the text of a constant."""
    if isinstance(value, bool):
        return "Bool", "true" if value else "false"
    if isinstance(value, int):
        return "Int", str(value)
    if isinstance(value, Decimal | float):
        return "Decimal", str(value)
    if isinstance(value, VocabularyMember):
        return "EnumMember", " ".join(f"{value.type}/{name}" for name in value.split(","))
    if isinstance(value, NavigationPath):
        return "NavigationPropertyPath", str(value)
    if isinstance(value, PropertyPath):
        return "PropertyPath", str(value)
    return "String", str(value)
