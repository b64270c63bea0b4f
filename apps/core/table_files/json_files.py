"""Tables from JSON: an array of records, an object whose ``value`` is one, or a record to a line.

Notifications of the agency have their array as ``response``, or as ``remittance_advice`` within that.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TextIO

from apps.base.cell_texts import LIST_SEPARATOR
from apps.base.cell_texts import text_of as text_of_json
from apps.core.table_files.delimited import TextLines
from apps.core.table_files.tables import MAX_ROW, ImportFileError, Row, Table, check_width

BLOCK = 1 << 16
#: More than a number of any column has: 1e-99999999 is a cell of a hundred megabytes.
MAX_DIGITS = 1_000
#: The members of an object that lead to its array of records: OData's, and those of the agency.
LIST_MEMBERS = frozenset({"value", "response", "remittance_advice"})


def unique_members(found: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(found)
    if len(record) != len(found):
        raise ValueError("a member is given twice in one object")
    return record


def read_number(text: str) -> Decimal:
    """The number; ``ValueError`` where it has many digits, or would have, written out as a cell."""
    with suppress(InvalidOperation):  # an exponent that no number has
        number = Decimal(text)
        if len(text) <= MAX_DIGITS and abs(number.adjusted()) <= MAX_DIGITS:
            return number
    raise ValueError(f"the number {text[:20]} has more than {MAX_DIGITS:,} digits")


DECODER = json.JSONDecoder(
    object_pairs_hook=unique_members,
    parse_float=read_number,
    parse_int=lambda text: int(read_number(text)),
)


class JsonTable(Table):
    """Records of a JSON array. The header is every member that any record has, parts with ``/``.

    A record that has the list ``list_name`` is a row for each item of it. ``json_members`` are cells of JSON.
    """

    row_word = "record"
    has_cell_addresses = False

    def __init__(
        self,
        path: Path,
        encoding: str | None = None,
        list_name: str | None = None,
        json_members: Sequence[str] = (),
    ) -> None:
        super().__init__(path)
        self.lines, self.list_name, self.json_members = TextLines(path, encoding), list_name, json_members
        names: dict[str, None] = {}
        for _, record in self.records():
            for cells in self.item_rows(record)[0] if isinstance(record, dict) else ():
                names.update(dict.fromkeys(cells))
                check_width(len(names))
        if not names:
            raise ImportFileError(f"{path.name} holds no records.")
        # What is an object in other records may be null in some.
        objects = {name for name in names if any(other.startswith(f"{name}/") for other in names)}
        self.header = [name for name in names if name not in objects]

    def records(self) -> Iterator[tuple[int, object]]:
        """Number and value of each record."""
        number = 0
        with self.lines.opened() as text:
            try:
                for number, item in enumerate(array_items(text), start=1):
                    yield number, item
            except UnicodeError:
                raise
            except (ValueError, RecursionError) as error:
                sentence = json_sentence(error)
                if isinstance(error, json.JSONDecodeError):  # its place is that in a part of the file
                    sentence = f"{error.msg.removesuffix(' starting at')}."
                place = f" behind record {number:,}" if number else ""
                raise ImportFileError(
                    f"{self.path.name} is no JSON list of records{place}: {sentence}"
                ) from None

    def rows(self) -> Iterator[Row]:
        for number, record in self.records():
            if not isinstance(record, dict):
                yield Row(number, [""] * len(self.header), "is no object.")
                continue
            found, defect = self.item_rows(record)
            for at, cells in enumerate(found):
                texts = [cells.get(name, "") for name in self.header]
                yield Row(number, texts, defect, None if self.list_name is None else at)

    def item_rows(self, record: dict[str, object]) -> tuple[list[dict[str, str]], str | None]:
        """The cells of the record with those of an item of its list, for each item; at least once."""
        own: dict[str, object] = {}
        items: object = []
        for name, value in record.items():
            if self.list_name is not None and name.casefold() == self.list_name.casefold():
                items = [] if value is None else value
            elif name in self.json_members and value:
                own[name] = json.dumps(value, default=str)
            else:
                own[name] = value
        cells = flatten(own)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            return [cells], f"gives no list of objects as {self.list_name}."
        return [{**cells, **flatten(item, f"{self.list_name}/")} for item in items or [{}]], None


class JsonLinesTable(JsonTable):
    """NDJSON: one record to a line."""

    row_word = "line"

    def records(self) -> Iterator[tuple[int, object]]:
        for number, line in enumerate(self.lines, start=1):
            if not line.strip():
                continue
            try:
                yield number, DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                raise ImportFileError(f"{self.path.name}, line {number:,}: {json_sentence(error)}") from None


def json_sentence(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno:,}, column {error.colno:,})."
    if isinstance(error, RecursionError):
        return "it is nested too deep."
    return f"{error}."


def flatten(record: dict[str, object], before: str = "") -> dict[str, str]:
    """``{"Address": {"Suburb": "X"}}`` as ``{"Address/Suburb": "X"}``; lists of records cell by cell."""
    found: dict[str, str] = {}
    for name, value in record.items():
        if name.startswith("@") or "@odata." in name:
            continue
        if isinstance(value, dict):
            found |= flatten(value, f"{before}{name}/")
        elif isinstance(value, list):
            found |= flatten_list(value, before + name)
        else:
            found[before + name] = text_of_json(value)
    return found


def flatten_list(items: list[object], name: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for item in items:
        inner = flatten(item, f"{name}/") if isinstance(item, dict) else {name: text_of_json(item)}
        for key, text in inner.items():
            found.setdefault(key, []).append(text)
    return {key: LIST_SEPARATOR.join(texts) for key, texts in found.items()}


# --- an array that is longer than the memory ----------------------------------------------------------


class JsonText:
    """A JSON text read value by value, holding no more of it than one value needs."""

    def __init__(self, text: TextIO) -> None:
        self.text, self.buffer = text, ""

    def read_block(self) -> bool:
        """Read on; ``False`` at the end of the text."""
        block = self.text.read(max(BLOCK, len(self.buffer)))
        self.buffer += block
        return bool(block)

    def peek(self) -> str:
        """The next character after white space, an empty text at the end."""
        while not (found := self.buffer.lstrip(" \t\r\n")) and self.read_block():
            pass
        self.buffer = found
        return found[:1]

    def skip(self, sign: str) -> None:
        found = self.peek()
        if found != sign:
            raise ValueError(f"{sign} expected, not {found or 'the end'}")
        self.buffer = self.buffer[1:]

    def value(self) -> object:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.buffer)
            except json.JSONDecodeError:
                if len(self.buffer) > MAX_ROW:
                    raise ValueError(f"a record is longer than {MAX_ROW:,} characters, or broken") from None
                if not self.read_block():
                    raise
                continue
            # A number at the end of the buffer may go on: 4 could be 4.5, 4e-1.
            if end + 2 < len(self.buffer) or not self.read_block():
                self.buffer = self.buffer[end:]
                return value


def array_items(text: TextIO) -> Iterator[object]:
    """The items of a JSON array, or of the array that an object has as one of ``LIST_MEMBERS``."""
    source = JsonText(text)
    while source.peek() == "{":
        source.skip("{")
        if source.peek() == "}":
            raise ValueError("the object has no member value")
        while source.value() not in LIST_MEMBERS:
            source.skip(":")
            source.value()
            if source.peek() != ",":
                raise ValueError("the object has no member value")
            source.skip(",")
        source.skip(":")
    source.skip("[")
    if source.peek() == "]":
        return
    while True:
        yield source.value()
        if source.peek() == "]":
            return
        source.skip(",")
