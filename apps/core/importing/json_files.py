"""Tables from JSON: an array of records, an object whose ``value`` is one, or a record to a line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from apps.core.importing.delimited import bounded_lines, check_text, encoding_of
from apps.core.importing.tables import MAX_ROW, ImportFileError, Row, check_width
from apps.odata.read.flattening import LIST_SEPARATOR
from apps.odata.read.flattening import text_of as text_of_json

BLOCK = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]*")


class RepeatedMember(ValueError):
    """One object gives a member twice."""


def unique_members(found: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(found)
    if len(record) != len(found):
        raise RepeatedMember("a member is given twice in one object")
    return record


DECODER = json.JSONDecoder(object_pairs_hook=unique_members, parse_float=Decimal)


class JsonTable:
    """Records of a JSON array. The header is every member that any record has, parts with ``/``.

    A record that has one of ``lists`` is a row for each item of it.
    """

    row_word: ClassVar[str] = "record"
    has_cell_addresses: ClassVar[bool] = False
    has_formula_guards: ClassVar[bool] = False

    def __init__(
        self,
        path: Path,
        encoding: str | None = None,
        lists: Sequence[str] = (),
        json_members: Sequence[str] = (),
    ) -> None:
        self.json_members = json_members
        self.path = path
        self.list_names = lists
        self.encoding = encoding or encoding_of(path)
        check_text(path, self.encoding, guessed=encoding is None)
        names: dict[str, None] = {}
        for _, record in self.records():
            for item in self.item_rows(record) if isinstance(record, dict) else ():
                names.update(dict.fromkeys(flatten(item)))
                check_width(len(names))
        if not names:
            raise ImportFileError(f"{path.name} holds no records.")
        self.header = [name for name in names if not is_object_name(name, names)]

    def records(self) -> Iterator[tuple[int, Any]]:
        """Number and value of each record."""
        with self.path.open(encoding=self.encoding) as text:
            try:
                yield from enumerate(array_items(text), start=1)
            except (ValueError, RecursionError) as error:
                raise ImportFileError(
                    f"{self.path.name} is no JSON list of records: {json_sentence(error)}"
                ) from None

    def rows(self) -> Iterator[Row]:
        width = len(self.header)
        for number, record in self.records():
            if not isinstance(record, dict):
                yield Row(number, [""] * width, "is no object.")
                continue
            lists = self.lists_of(record)
            wrong = [name for name, items in lists.items() if not is_list_of_objects(items)]
            defect = f"gives no list of objects as {wrong[0]}." if wrong else None
            for at, item in enumerate(self.item_rows(record)):
                values = flatten(item)
                cells = [values.get(name, "") for name in self.header]
                yield Row(number, cells, defect, at if self.list_names else None)

    def lists_of(self, record: dict[str, Any]) -> dict[str, Any]:
        """The lists that the record gives, in any case, by their own names."""
        return {name: value for key, value in record.items() if (name := self.list_name(key))}

    def list_name(self, key: str) -> str | None:
        return next((name for name in self.list_names if name.casefold() == key.casefold()), None)

    def item_rows(self, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The record with an item of its list in the place of the list, for each item; at least once."""
        own = {
            key: json.dumps(value, default=str) if key in self.json_members and value else value
            for key, value in record.items()
            if not self.list_name(key)
        }
        lists = self.lists_of(record)
        if not lists:
            yield own
        for name, items in lists.items():
            for item in items if items and is_list_of_objects(items) else [None]:
                yield {**own, name: item}

    def notices(self) -> list[str]:
        return []


def is_list_of_objects(value: Any) -> bool:
    """Whether the value is one, or null."""
    return value is None or (isinstance(value, list) and all(isinstance(one, dict) for one in value))


def is_object_name(name: str, names: Iterable[str]) -> bool:
    """Whether the name is an object's in other records; here it was null."""
    return any(other.startswith(f"{name}/") for other in names)


class JsonLinesTable(JsonTable):
    """NDJSON: one record to a line."""

    row_word: ClassVar[str] = "line"

    def records(self) -> Iterator[tuple[int, Any]]:
        with self.path.open(encoding=self.encoding) as text:
            for number, line in enumerate(bounded_lines(text), start=1):
                if not line.strip():
                    continue
                try:
                    yield number, DECODER.decode(line)
                except (ValueError, RecursionError) as error:
                    raise ImportFileError(
                        f"{self.path.name}, line {number:,}: {json_sentence(error)}"
                    ) from None


def json_sentence(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno:,}, column {error.colno:,})."
    if isinstance(error, RecursionError):
        return "it is nested too deep."
    return f"{error}."


def flatten(record: dict[str, Any], before: str = "") -> dict[str, str]:
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


def flatten_list(items: list[Any], name: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for item in items:
        inner = flatten(item, f"{name}/") if isinstance(item, dict) else {name: text_of_json(item)}
        for key, text in inner.items():
            found.setdefault(key, []).append(text)
    return {key: LIST_SEPARATOR.join(texts) for key, texts in found.items()}


# --- an array that is longer than the memory ----------------------------------------------------------


class Scanner:
    """A JSON text read value by value, holding no more of it than one value needs."""

    def __init__(self, text: io.TextIOBase) -> None:
        self.text = text
        self.buffer = ""
        self.position = 0
        self.is_ended = False

    def read_block(self) -> bool:
        """Read on; ``False`` at the end of the text."""
        block = self.text.read(max(BLOCK, len(self.buffer) - self.position))
        self.is_ended = not block
        self.buffer, self.position = self.buffer[self.position :] + block, 0
        return not self.is_ended

    def peek(self) -> str:
        """The next character after white space, an empty text at the end."""
        while True:
            space = _SPACE.match(self.buffer, self.position)
            assert space is not None
            self.position = space.end()
            if self.position < len(self.buffer) or not self.read_block():
                return self.buffer[self.position : self.position + 1]

    def skip(self, sign: str) -> None:
        found = self.peek()
        if found != sign:
            raise ValueError(f"{sign} expected, not {found or 'the end'}")
        self.position += 1

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.buffer, self.position)
            except json.JSONDecodeError:
                if len(self.buffer) - self.position > MAX_ROW:
                    raise ValueError(f"a record is longer than {MAX_ROW:,} characters, or broken") from None
                if not self.read_block():
                    raise
                continue
            # A number at the end of the buffer may go on: 4 could be 4.5, 4e-1.
            start = self.position
            if end + 2 >= len(self.buffer) and not self.is_ended:
                if self.read_block():
                    continue
                end -= start
            self.position = end
            return value


def array_items(text: io.TextIOBase) -> Iterator[Any]:
    """The items of a JSON array, or of the array called ``value`` in an object."""
    scanner = Scanner(text)
    sign = scanner.peek()
    if not sign:
        raise ValueError("it is empty")
    if sign == "{":
        find_value(scanner)
    yield from list_items(scanner)


def find_value(scanner: Scanner) -> None:
    """Go to the array of an object's member ``value``."""
    scanner.skip("{")
    while True:
        name = scanner.value()
        scanner.skip(":")
        if name == "value":
            return
        scanner.value()
        if scanner.peek() != ",":
            raise ValueError("the object has no member value")
        scanner.skip(",")


def list_items(scanner: Scanner) -> Iterator[Any]:
    scanner.skip("[")
    if scanner.peek() == "]":
        return
    while True:
        yield scanner.value()
        if scanner.peek() == "]":
            return
        scanner.skip(",")
