"""Renderers: JSON, NDJSON and CSV of records, the metadata in XML and JSON, plain text.

The database writes the JSON of each record, so a renderer only joins texts and never encodes a record again.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rest_framework.renderers import BaseRenderer

from apps.odata.declaration.schema import StructuredType
from apps.odata.read.flattening import cells, columns, formula_safe
from apps.odata.read.record_json import Selection


@dataclass(frozen=True, slots=True)
class RenderedRecords:
    """Records of a response, each the text of its JSON; ``bare``: it is one record, without ``value``."""

    context_url: str
    records: Sequence[str]
    bare: bool = False
    count: int | None = None
    next_link: str = ""


class ODataJSONRenderer(BaseRenderer):
    """``{"@odata.context", "@odata.count"?, "value": [...], "@odata.nextLink"?}``, or one record."""

    media_type = "application/json; odata.metadata=minimal"
    format = "json"
    charset = None

    def render(
        self,
        data: RenderedRecords | bytes | None,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if not isinstance(data, RenderedRecords):
            return data or b""
        start = f'{{"@odata.context":{json.dumps(data.context_url)}'
        if data.bare:
            (record,) = data.records
            return f"{start}{',' if len(record) > 2 else ''}".encode() + record[1:].encode()
        count = "" if data.count is None else f'"@odata.count":{data.count},'
        end = f'],"@odata.nextLink":{json.dumps(data.next_link)}}}' if data.next_link else "]}"
        # Record by record: one letter beyond ASCII in a page would make encoding all of it slow.
        records = b",".join([record.encode() for record in data.records])
        return f'{start},{count}"value":['.encode() + records + end.encode()


class NDJSONRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, the JSON of a record on each line."""

    media_type = "application/x-ndjson"
    format = "ndjson"

    def stream(self, type_: StructuredType, selection: Selection, records: Iterable[str]) -> Iterator[str]:
        return ndjson_lines(records)


def ndjson_lines(records: Iterable[str]) -> Iterator[str]:
    """The JSON of a record on each line."""
    for record in records:
        yield record.replace("\n", " ") + "\n"  # PostgreSQL puts line breaks between the items of lists


class CSVRenderer(BaseRenderer):
    """A whole collection as a stream of constant memory, nested members flattened (``Address/Suburb``)."""

    media_type = "text/csv"
    format = "csv"

    def stream(self, type_: StructuredType, selection: Selection, records: Iterable[str]) -> Iterator[str]:
        """A header of member names, then a line for each record (RFC 4180).

        Numbers keep their digits; cells that a spreadsheet would run as a formula are made text.
        """
        selected = columns(type_, selection)
        writer: Any = csv.writer(Echo())
        yield writer.writerow(column.name for column in selected)
        for record in records:
            values = cells(json.loads(record, parse_float=Decimal), selected)
            yield writer.writerow(formula_safe(value) for value in values)


class Echo:
    """A file that returns what is written to it, with which Django's documentation streams CSV."""

    def write(self, text: str) -> str:
        return text


class BytesRenderer(BaseRenderer):
    """Bytes as they are."""

    charset = None

    def render(
        self,
        data: bytes,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return data


class PlainTextRenderer(BytesRenderer):
    """The number of records (``/$count``)."""

    media_type = "text/plain"
    format = "txt"


class CSDLXMLRenderer(BytesRenderer):
    """``$metadata`` in XML."""

    media_type = "application/xml"
    format = "xml"


class CSDLJSONRenderer(BytesRenderer):
    """``$metadata`` in JSON."""

    media_type = "application/json"
    format = "json"
