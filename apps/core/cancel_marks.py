"""Files beside a SQLite database that ask a worker to stop.

While a worker writes in one long transaction nobody else can write there, also not that it is to stop. Other
databases have no marks: a row says it.
"""

from pathlib import Path
from uuid import UUID

from django.db import connection


def path_of(guid: UUID) -> Path | None:
    name = str(connection.settings_dict["NAME"])
    is_file = connection.vendor == "sqlite" and not ("mode=memory" in name or name == ":memory:")
    return Path(f"{name}.cancel-{guid}") if is_file else None


class CancelMark:
    """The mark of one job; always unset where the database has none."""

    def __init__(self, guid: UUID) -> None:
        self.path = path_of(guid)

    def set(self) -> None:
        if self.path is not None:
            self.path.touch()

    def is_set(self) -> bool:
        return self.path is not None and self.path.exists()

    def clear(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)
