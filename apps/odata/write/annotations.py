"""Control information in request bodies: ``Contact@odata.bind`` names a record, the rest is not stored."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import models

from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import StructuredType
from apps.base.declaration.service import get_service
from apps.base.declaration.values import WireValueError, parse_value

#: Reports a fault: the attribute in drafts, the code, the target and the sentence.
Refuse = Callable[[str, str, str, str], None]

#: What clients send back of a response or say about types; nothing of it is stored.
ACCEPTED = frozenset(
    (
        *("context", "metadataEtag", "type", "etag", "id", "editLink", "readLink", "count", "nextLink"),
        *("navigationLink", "associationLink", "mediaEditLink", "mediaReadLink", "mediaContentType"),
        *("mediaEtag",),
    )
)
#: Names without ``odata.`` that are understood nowhere else (OData 4.01 allows the short form).
_REFUSED_SHORT_NAMES = frozenset({"bind", "delta", "removed"})

#: What names the record that an object stands for (OData 4.01, JSON Format 4.5.8).
_IDS = ("@id", "@odata.id")

_ADDRESS = re.compile(
    r"(?:(?:https?://[^/]+)?/api/)?(?P<set>[A-Za-z]\w*)(?:\((?:\w+=)?(?P<key>[^()]+)\)|/(?P<segment>[^/()]+))/?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Link:
    """A member that an annotation can set; ``key_name`` is the key in its object, empty for a bare key."""

    member: str
    attribute: str
    key_name: str
    many: bool
    model: type[models.Model]

    def value_of(self, key: object) -> object:
        return {self.key_name: key} if self.key_name else key


def links_of(type_: StructuredType) -> dict[str, Link]:
    """The members by the names of the navigation properties that request bodies may bind."""
    links: dict[str, Link] = {}
    for part in type_.writable_navigations:
        if part.nesting is Nesting.REFERENCE and part.type.key is not None:
            links[part.name] = Link(part.name, part.attribute, part.type.key.name, part.many, part.type.model)
    links = {name: link for name, link in links.items() if link.model in get_service().by_model}
    by_attribute = {link.attribute: link for link in links.values()}
    for name, navigation in type_.set_navigations.items():
        dependent = navigation.dependent
        if dependent is not None and dependent.writable:
            links[name] = Link(dependent.name, dependent.attribute, "", False, navigation.type.model)
        elif not navigation.many and navigation.path in by_attribute:
            links[name] = by_attribute[navigation.path]
    return links


def read_annotations(
    links: Mapping[str, Link], value: Mapping[str, object], prefix: str, refuse: Refuse
) -> tuple[dict[str, object], set[str]]:
    """The object with the members that annotations set, and the names of those that could not be set."""
    members: dict[str, object] = dict(value)
    invalid: set[str] = set()
    for name, content in value.items():
        navigation, mark, term = name.rpartition("@")
        link = links.get(navigation if mark else name)
        if not mark:
            # A member is read by its own reader; a navigation property to another set has none.
            address = address_in(content) if link is not None and name != link.member else None
            if link and address is not None and not set_link(members, link, address, prefix + name, refuse):
                invalid.add(link.member)
            continue
        short = term.removeprefix("odata.")
        if short == "bind" and link is not None:
            members.pop(name)
            if not set_link(members, link, content, prefix + name, refuse):
                invalid.add(link.member)
        elif short not in ACCEPTED and (term != short or short in _REFUSED_SHORT_NAMES):
            sentence = f"{name[:60]} is not understood, and would have no effect."
            if short == "bind" and navigation:
                sentence = f"{navigation[:60]} is no navigation property that a body can set."
            refuse(name, "UnknownAnnotation", prefix + name, sentence)
    return members, invalid


def refuse_other_type(
    type_: StructuredType, value: Mapping[str, object], prefix: str, refuse: Refuse
) -> None:
    """Refuse a record that says to be one of another entity set."""
    for name in ("@odata.type", "@type"):
        type_name = str(value.get(name, "")).rpartition(".")[2]
        entity_set = get_service().by_path.get(type_name.lower())
        if entity_set is not None and entity_set.name != type_.name:
            sentence = f"Records of {type_.name} are stored here, not of {entity_set.name}."
            refuse(name, "WrongType", prefix + name, sentence)


def set_link(members: dict[str, object], link: Link, content: object, target: str, refuse: Refuse) -> bool:
    """Set the member to the record or records at the addresses; whether they are addresses of its kind."""
    if link.member in members:
        refuse(link.attribute, "Duplicate", target, f"{link.member} is given already.")
        return False
    if content is None and not link.many:
        members[link.member] = None
        return True
    addresses = content if link.many else [content]
    keys = [key_in(address, link.model) for address in addresses] if isinstance(addresses, list) else [None]
    values = [link.value_of(key) for key in keys if key is not None]
    if len(values) < len(keys):
        sentence = must_be_address(link.model, link.many)
        refuse(link.attribute, "InvalidAddress", target, f"{link.member} {sentence}")
        return False
    members[link.member] = values if link.many else values[0]
    return True


def must_be_address(model: type[models.Model], many: bool = False) -> str:
    path = get_service().by_model[model].path
    addresses = "a list of addresses" if many else "an address"
    return f"must be given by {addresses} such as {path}(…)."


def address_in(value: object) -> object:
    """The address in an object that stands for a record, such as ``{"@id": "client(…)"}``, else ``None``."""
    return next((value[name] for name in _IDS if name in value), None) if isinstance(value, dict) else None


def key_in(address: object, model: type[models.Model]) -> object:
    """The key in the address of a record of the model's entity set, else ``None``.

    A text that is no key is returned as it is, since the member itself reports it.
    """
    match = _ADDRESS.fullmatch(address.strip()) if isinstance(address, str) else None
    entity_set = get_service().by_path.get(match["set"].lower()) if match else None
    if match is None or entity_set is None or entity_set.model is not model:
        return None
    text: str = (match["key"] or match["segment"]).strip("'")
    try:
        return parse_value(text, entity_set.key)
    except WireValueError:
        return text
