"""The log of changes that deltas are read from; the project names it in ``ODATA_CHANGE_LOG``."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

#: JSON values that name a moment between transactions; only the log itself reads them.
Moment = Sequence[Any]
#: The place of an entry in the log.
Cursor = Sequence[int]


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change of one record.

    ``record_type`` is the label of its model, ``differences`` are the changed columns as
    ``{column: [before, after]}``, ``None`` where any may have changed. ``is_new``: it was created.
    """

    cursor: Cursor
    record_type: str
    key: str
    differences: Mapping[str, Any] | None
    is_new: bool = False


class ChangeLog(Protocol):
    """Entries of committed transactions."""

    def moment(self) -> Moment:
        """Now: what is committed is before it, everything else after."""

    def entries(
        self,
        since: Moment,
        until: Moment,
        record_types: Collection[str],
        after: Cursor | None,
        limit: int | None,
        last: Cursor | None = None,
    ) -> list[LoggedChange]:
        """The first entries between two moments, behind ``after`` and up to ``last``; those of one record in
        their order.

        An entry that is committed after ``until`` may be among them. ``Gone`` when the log does not reach
        back to ``since``, or is another database's.
        """

    def earlier(self, moment: Moment, other: Moment) -> Moment:
        """A moment before which nothing is that is not before both."""


def get_change_log() -> ChangeLog:
    log: ChangeLog = import_string(settings.ODATA_CHANGE_LOG)()
    return log
