"""The lists of records: the items that rows give, and those that stand already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core.importing.additions import Importing
from apps.core.importing.cells import is_same
from apps.core.importing.headers import Column
from apps.core.importing.records import Candidate
from apps.core.importing.rows import ReadRow, RowReader
from apps.odata.declaration.schema import NavigationProperty
from apps.odata.write.drafts import Draft


class Items:
    """The items of one list: what rows say of them, against what stands."""

    def __init__(
        self, part: NavigationProperty, columns: Sequence[Column], reader: RowReader, importing: Importing
    ) -> None:
        self.part, self.reader = part, reader
        self.key_column = next((column for column in columns if column.member.is_key), None)
        meta = part.type.model._meta
        self.compared: dict[str, Any] = {
            column.member.attribute: meta.get_field(column.member.attribute)
            for column in columns
            if not column.member.is_key
        }
        self.filled_in = {c.member.attribute for c in columns if c.member.name in importing.filled_in}

    # --- which of the standing items each is

    def find_standing(self, one: Candidate) -> None:
        """Find the standing item that each row speaks of; a key that no item has is told."""
        one.standing = self.paired(one.record, one.items)
        for item, held in zip(one.items, one.standing, strict=True):
            if item.key is not None and held is None:
                item.refuse(self.key_column, "NotFound", self.no_such_item())

    def paired(self, record: Any, items: Sequence[ReadRow]) -> list[Any]:
        """The standing item for each of the rows, ``None`` for a new one.

        That is the one whose key the row gives; else one that equals it; else the next that is left, in
        their order. What none speaks of is to go.
        """
        left = self.of_record(record)
        found: dict[int, Any] = {
            number: left.pop(item.key, None) for number, item in enumerate(items) if item.key is not None
        }
        for number, item in enumerate(items):
            if number not in found:
                same = next((key for key, held in left.items() if self.holds(held, item)), None)
                if same is not None:
                    found[number] = left.pop(same)
        rest = iter(left.values())
        return [found[number] if number in found else next(rest, None) for number in range(len(items))]

    def of_record(self, record: Any) -> dict[Any, Any]:
        """The items that the record holds, by key."""
        return {} if record is None else {item.pk: item for item in getattr(record, self.part.path).all()}

    def no_such_item(self) -> str:
        name = self.part.type.model._meta.verbose_name
        return (
            f"The record has no {name} of this key; leave it empty for a new one, or give --by-name"
            " for a file of another database."
        )

    # --- against what stands

    def hold(self, record: Any, items: Sequence[ReadRow]) -> bool:
        """Whether the record has these items and no others; none say nothing where there must be one."""
        if not items and self.part.declaration.required:
            return True
        return len(self.of_record(record)) == len(items) and all(
            held is not None and self.holds(held, item)
            for held, item in zip(self.paired(record, items), items, strict=True)
        )

    def holds(self, held: Any, item: ReadRow) -> bool:
        return all(
            name not in item.invalid
            and (
                self.says_nothing(field, item.values[name])
                or is_same(getattr(held, field.attname), item.values[name])
            )
            for name, field in self.compared.items()
        )

    def says_nothing(self, field: Any, value: Any) -> bool:
        """Whether an empty cell says nothing: of a column that cannot be empty, or that the verb fills in."""
        return value is None and (not field.null or field.name in self.filled_in)

    # --- as drafts

    def require(self, one: Candidate) -> None:
        for item, held in zip(one.items, one.standing, strict=True):
            self.reader.missing(item, only_told=held is not None)

    def give(self, draft: Draft, one: Candidate) -> None:
        """Give a draft its list: drafts of the items, those that stand with their key."""
        if not one.items and self.part.declaration.required:
            return
        name = self.part.attribute
        draft.fill(name, [self.draft(*pair) for pair in zip(one.items, one.standing, strict=True)])
        draft.given |= {name}
        draft.invalid |= {f"{name}[{number}]" for number, item in enumerate(one.items) if item.invalid}

    def draft(self, item: ReadRow, held: Any) -> Draft:
        if held is None:
            return self.reader.draft(item)
        given = {
            name: item.values[name]
            for name, field in self.compared.items()
            if name in item.values and not self.says_nothing(field, item.values[name])
        }
        return Draft(given, given, item.invalid, key=held.pk)
