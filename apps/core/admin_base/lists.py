"""The list of a kind of record: its headers, rows and cells as the template shows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Model
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.text import capfirst
from unfold.templatetags.unfold_list import result_headers
from unfold.views import ChangeList

from apps.core.admin_base.filters import COUNT_LIMIT
from apps.core.admin_base.panels import cell_classes, cell_text, column_kind


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a row in a column; with a ``url``, as a link."""

    text: object
    url: str
    classes: str


@dataclass(frozen=True, slots=True)
class ListRow:
    record: Model
    cells: Sequence[Cell]


class RecordChangeList(ChangeList):
    """A list whose rows lead to the main pages of their records.

    The library's own rows repeat forty class names in each cell, up to 430 KB for fifty records, and make the
    headers again for every row.
    """

    page_num: int
    is_facets_optional: bool
    result_list: Any  # a queryset, or a list where a page makes one

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        if not self.is_popup:
            self.title = capfirst(self.opts.verbose_name_plural)  # not "Select claim to change"

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
        except IncorrectLookupParameters:
            first = f"The list has pages for its first {COUNT_LIMIT:,} records: search, filter or sort it."
            messages.warning(request, f"There is no page {self.page_num:,}. {first}")
            self.page_num = 1
            super().get_results(request)
        if self.multi_page:
            # Joined are the records of this page alone, not all that are sorted before it.
            keys = list(self.result_list.values_list("pk", flat=True))
            self.result_list = self.queryset.filter(pk__in=keys)
        self.full_result_count = self.result_count  # else the library shows the count in the heading too
        if self.is_facets_optional and self.is_long:
            self.is_facets_optional = self.add_facets = False

    @property
    def is_long(self) -> bool:
        """True when there are too many records, without any filter, to count those of each filter's choices.

        Beside 1,250,000 entries of the history these counts took PostgreSQL more than four minutes.
        """
        if self.result_count < COUNT_LIMIT and (self.query or self.has_active_filters):
            return bool(self.root_queryset.order_by()[:COUNT_LIMIT].count() == COUNT_LIMIT)
        return self.result_count >= COUNT_LIMIT

    @property
    def count_label(self) -> str:
        """``1,234``, and ``10,000+`` where nobody counts further."""
        text = number_format(self.result_count, force_grouping=True)
        return f"{text}+" if self.result_count >= COUNT_LIMIT else text

    @property
    def headers(self) -> list[dict[str, object]]:
        return [
            {"name": name, "kind": self.kinds.get(name), **header}
            for name, header in zip(self.list_display, result_headers(self), strict=True)
        ]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column with a name."""
        names = [name for name in self.list_display if isinstance(name, str) and name != "action_checkbox"]
        return {name: column_kind(self.model_admin, name) for name in names}

    @property
    def has_checkboxes(self) -> bool:
        return self.list_display[0] == "action_checkbox"

    @property
    def rows(self) -> Iterator[ListRow]:
        columns = [name for name in self.list_display if name != "action_checkbox"]
        linked: Sequence[str] = ()
        if self.list_display_links is not None:
            linked = [name for name in columns if name in self.list_display_links] or columns[:1]
        # The form returns to the list with the same filters.
        query = f"?{self.preserved_filters}" if self.preserved_filters else ""
        for record in self.result_list:
            url = self.url_for_result(record) + query if linked else ""
            cells = []
            for name in columns:
                text = cell_text(self.model_admin, record, name)
                classes = cell_classes(self.model_admin, self.kinds.get(name, ""), text)
                cells.append(Cell(text, url if name in linked else "", classes))
            yield ListRow(record, cells)

    def url_for_result(self, result: object) -> str:
        return str(self.model_admin.record_url(result))
