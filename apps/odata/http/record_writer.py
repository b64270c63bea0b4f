"""Records written again for a media type or preference that differs from the JSON of the database.

Control information of ``odata.metadata=full``, numbers as strings (``IEEE754Compatible=true``), and records
without nulls (``omit-values=nulls``). What it costs:
docs/decisions.md, "Other forms of the JSON are for requests that name them".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from apps.base.declaration.schema import (
    NavigationProperty,
    SetNavigation,
    StructuralProperty,
    StructuredType,
)
from apps.odata.metadata.csdl import name_of_type, type_of_values
from apps.odata.query.operands import EDM_OF_KIND, Operand

_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode

#: Types whose values a client recognises by their JSON (JSON Format 4.5.3).
_PLAIN_TYPES = ("Edm.String", "Edm.Boolean")
_LONG_NUMBERS = ("Edm.Int64", "Edm.Decimal")


@dataclass(frozen=True, slots=True)
class RecordWriter:
    """Writes records of one collection.

    ``base_url`` is that of the service, which links in records begin with; ``version`` that of the records.
    ``computed`` are values and objects without a declaration, by their paths (``LineItems/Amount``);
    ``metadata`` is the level that the request names: the types of these values are in ``minimal``, those of
    all members in ``full``.
    """

    base_url: str
    version: str
    metadata: str = ""
    has_text_numbers: bool = False
    omits_nulls: bool = False
    computed: Mapping[str, Operand | NavigationProperty] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return self.metadata == "full"

    def write(self, records: Sequence[str], type_: StructuredType, path: str) -> list[str]:
        """The records of the collection at ``path`` (``Claim``)."""
        return [_encode(self.members(_decode(record), type_, path)).decode() for record in records]

    def members(
        self, record: dict[str, object], type_: StructuredType, path: str, prefix: str = ""
    ) -> dict[str, object]:
        """A record or a nested object with its control information first; a reference has nothing else.

        ``prefix`` is the path from the record to a nested object (``LineItems/``).
        """
        if "@odata.id" in record:
            return record
        written: dict[str, object] = {}
        has_address = False
        if self.is_full:
            written["@odata.type"] = f"#{name_of_type(type_, self.version)}"
        if self.is_full and type_.key is not None:
            # A row that $apply makes of several records has no address, nor has a part of it.
            has_address = bool(path) and type_.key.name in record
            path = f"{path}({record[type_.key.name]})" if has_address else ""
            written["@odata.id"] = self.base_url + path if has_address else None
            if has_address:
                written["@odata.editLink"] = self.base_url + path
        for name, value in record.items():
            computed = self.computed.get(prefix + name)
            navigation = type_.find_navigation(name)
            if isinstance(computed, NavigationProperty):
                navigation, computed = computed, None
            if navigation is not None:
                self.add_navigation(written, navigation, name, value, path, prefix)
            elif value is not None or not self.omits_nulls:
                self.add_property(written, type_.properties.get(name), computed, name, value)
        if has_address:
            self.add_links(written, type_, path)
        return written

    def add_property(
        self,
        written: dict[str, object],
        prop: StructuralProperty | None,
        operand: Operand | None,
        name: str,
        value: object,
    ) -> None:
        type_name = self.type_name(prop, operand)
        names_type = self.is_full if operand is None else self.metadata in ("minimal", "full")
        if names_type and type_name not in _PLAIN_TYPES and value is not None:
            written[f"{name}@odata.type"] = f"#{type_name.removeprefix('Edm.')}"
        is_long = type_name in _LONG_NUMBERS or name.endswith("@odata.count")
        written[name] = str(value) if self.has_text_numbers and is_long and value is not None else value

    def type_name(self, prop: StructuralProperty | None, operand: Operand | None) -> str:
        """The type of a member; plain of a link or a count."""
        if operand is not None and operand.prop is None:
            return EDM_OF_KIND.get(operand.kind, "Edm.String")
        prop = prop if operand is None else operand.prop
        return "Edm.String" if prop is None else type_of_values(prop, self.version)

    def add_navigation(
        self,
        written: dict[str, object],
        navigation: NavigationProperty,
        name: str,
        value: Any,
        path: str,
        prefix: str,
    ) -> None:
        nested, prefix = navigation.type, f"{prefix}{name}/"
        path = f"{path}/{name}" if path else ""
        if isinstance(navigation, SetNavigation):
            path = navigation.entity_set.name
        if isinstance(value, list):
            written[name] = [self.members(item, nested, path, prefix) for item in value]
        elif value is not None:
            written[name] = self.members(value, nested, path, prefix)
        elif not self.omits_nulls:
            written[name] = None

    def add_links(self, written: dict[str, object], type_: StructuredType, path: str) -> None:
        for name, navigation in {**type_.navigations, **type_.set_navigations}.items():
            if not navigation.is_complex:
                link = f"{self.base_url}{path}/{name}"
                if isinstance(navigation, SetNavigation):
                    written[f"{name}@odata.associationLink"] = f"{link}/$ref"
                written[f"{name}@odata.navigationLink"] = link
