"""The list of a kind of record: its headers, rows and cells as the template shows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unfold.templatetags.unfold_list import result_headers
from unfold.views import ChangeList

from apps.core.admin_base.panels import cell_text


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row shows in a column; with a ``url``, as a link."""

    name: str
    text: Any
    url: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    record: Any
    cells: Sequence[Cell]


class RecordChangeList(ChangeList):
    """A list whose rows lead to the main pages of their records.

    The library's own rows repeat forty class names in each cell, up to 430 KB for fifty records, and make the
    headers again for every row.
    """

    @property
    def headers(self) -> list[dict[str, Any]]:
        return list(result_headers(self))

    @property
    def has_checkboxes(self) -> bool:
        return self.list_display[0] == "action_checkbox"

    @property
    def rows(self) -> Iterator[Row]:
        columns = [name for name in self.list_display if name != "action_checkbox"]
        linked = columns[:1] if self.list_display_links == () else self.list_display_links or ()
        # The form returns to the list with the same filters.
        query = f"?{self.preserved_filters}" if self.preserved_filters else ""
        for record in self.result_list:
            url = self.url_for_result(record) + query if linked else ""
            yield Row(
                record,
                [
                    Cell(name, cell_text(self.model_admin, record, name), url if name in linked else "")
                    for name in columns
                ],
            )

    def url_for_result(self, result: Any) -> str:
        return str(self.model_admin.record_url(result))
