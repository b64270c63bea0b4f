"""Files beside a SQLite database that ask a worker to stop.

While a worker writes in one long transaction nobody else can write there, also not that it is to stop. Other
databases have no marks: a row says it.
"""

from pathlib import Path
from uuid import UUID

from django.db import connection


def mark_of(guid: UUID) -> Path | None:
    name = str(connection.settings_dict["NAME"])
    is_file = connection.vendor == "sqlite" and not ("mode=memory" in name or name == ":memory:")
    return Path(f"{name}.cancel-{guid}") if is_file else None


def ask_to_stop(guid: UUID) -> None:
    if (mark := mark_of(guid)) is not None:
        mark.touch()


def is_asked_to_stop(guid: UUID) -> bool:
    return (mark := mark_of(guid)) is not None and mark.exists()


def forget(guid: UUID) -> None:
    if (mark := mark_of(guid)) is not None:
        mark.unlink(missing_ok=True)
