"""Records written again for a media type or preference that differs from the JSON of the database.

Control information of ``odata.metadata=full``, numbers as strings (``IEEE754Compatible=true``), and records
without nulls (``omit-values=nulls``). docs/decisions.md has what it costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from apps.odata.declaration.schema import (
    NavigationProperty,
    SetNavigation,
    StructuralProperty,
    StructuredType,
)
from apps.odata.declaration.service import get_service
from apps.odata.metadata.csdl import TypeCollector, is_enumeration

_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode

#: Types whose values a client recognises by their JSON (JSON Format 4.5.3).
_PLAIN_TYPES = ("Edm.String", "Edm.Boolean")
_LONG_NUMBERS = ("Edm.Int64", "Edm.Decimal")


@dataclass(frozen=True, slots=True)
class RecordWriter:
    """Writes records of one collection.

    ``base_url`` is that of the service, which links in records begin with; ``version`` that of the records.
    """

    base_url: str
    version: str
    is_full: bool = False
    has_text_numbers: bool = False
    omits_nulls: bool = False

    def write(self, records: Sequence[str], type_: StructuredType, path: str) -> list[str]:
        """The records of the collection at ``path`` (``Claim``)."""
        return [_encode(self.members(_decode(record), type_, path)).decode() for record in records]

    def members(self, record: dict[str, Any], type_: StructuredType, path: str) -> dict[str, Any]:
        """A record or a nested object with its control information first; a reference has nothing else."""
        if "@odata.id" in record:
            return record
        written: dict[str, Any] = {}
        if self.is_full:
            written["@odata.type"] = f"#{collected_types(self.version).type_names[type_]}"
            if type_.key is not None and type_.key.name in record:
                path = f"{path}({record[type_.key.name]})"
                written["@odata.id"] = written["@odata.editLink"] = self.base_url + path
        for name, value in record.items():
            navigation = type_.find_navigation(name)
            if navigation is not None:
                self.add_navigation(written, navigation, value, path)
            elif value is not None or not self.omits_nulls:
                self.add_property(written, type_.properties.get(name), name, value)
        if self.is_full and type_.key is not None:
            self.add_links(written, type_, path)
        return written

    def add_property(
        self, written: dict[str, Any], prop: StructuralProperty | None, name: str, value: Any
    ) -> None:
        if self.is_full and prop is not None and value is not None:
            type_name = type_name_of(prop, self.version)
            if type_name not in _PLAIN_TYPES:
                written[f"{name}@odata.type"] = f"#{type_name.removeprefix('Edm.')}"
        is_long = prop.edm.name in _LONG_NUMBERS if prop is not None else is_number(value)
        written[name] = str(value) if self.has_text_numbers and is_long and value is not None else value

    def add_navigation(
        self, written: dict[str, Any], navigation: NavigationProperty, value: Any, path: str
    ) -> None:
        nested, name = navigation.type, navigation.name
        path = navigation.entity_set.name if isinstance(navigation, SetNavigation) else f"{path}/{name}"
        if isinstance(value, list):
            written[name] = [self.members(item, nested, path) for item in value]
        elif value is not None:
            written[name] = self.members(value, nested, path)
        elif not self.omits_nulls:
            written[name] = None

    def add_links(self, written: dict[str, Any], type_: StructuredType, path: str) -> None:
        for name, navigation in {**type_.navigations, **type_.set_navigations}.items():
            if not navigation.is_complex:
                link = f"{self.base_url}{path}/{name}"
                if isinstance(navigation, SetNavigation):
                    written[f"{name}@odata.associationLink"] = f"{link}/$ref"
                written[f"{name}@odata.navigationLink"] = link


def is_number(value: Any) -> bool:
    """Whether a member without a declaration (``LineItems@odata.count``) is a number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def type_name_of(prop: StructuralProperty, version: str) -> str:
    return collected_types(version).enumeration(prop) if is_enumeration(prop) else prop.edm.name


@lru_cache
def collected_types(version: str) -> TypeCollector:
    """The names that $metadata has for the types of a version of the service."""
    collector = TypeCollector(get_service(version))
    collector.schema()
    return collector
