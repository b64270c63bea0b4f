"""Who calls, and what they may: applications by their scopes, staff by the permissions of their role."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from apps.access.scopes import READ, WRITE, grants
from apps.odata.declaration.schema import EntitySet


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests granted in a minute and in any 24 hours; 0 is no limit."""

    per_minute: int
    per_day: int


@dataclass(slots=True)
class ApplicationCaller:
    """An API application (see ``apps.odata.http.callers.Caller``).

    ``scopes`` are sets that must each grant a right: the application's own, and those its token was
    narrowed to. So what is taken from the application is taken from the tokens it holds. ``by_token``
    is false for one that sends its secret with every request, and so may only read.
    """

    guid: uuid.UUID
    name: str
    scopes: tuple[frozenset[str], ...]
    requests_per_minute: int | None = None
    requests_per_day: int | None = None
    by_token: bool = True

    @property
    def identity(self) -> str:
        """What its requests and idempotency keys are counted under."""
        return f"application:{self.guid.hex}"

    @property
    def limits(self) -> Limits:
        minute, day = self.requests_per_minute, self.requests_per_day
        return Limits(
            settings.API_REQUESTS_PER_MINUTE if minute is None else minute,
            settings.API_REQUESTS_PER_DAY if day is None else day,
        )

    def may_read(self, entity_set: EntitySet) -> bool:
        return all(grants(held, entity_set.path, READ) for held in self.scopes)

    def may_write(self, entity_set: EntitySet) -> bool:
        return self.by_token and all(grants(held, entity_set.path, WRITE) for held in self.scopes)

    def why_not(self, what: str, name: str) -> str:
        """The sentence that goes with a refusal to ``read`` or ``write`` the entity set of that name."""
        if what == WRITE and not self.by_token:
            return (
                "A client id and secret may only read. To write, get a token from /connect/token "
                "and send it as Authorization: Bearer."
            )
        return f"This needs the scope {what} or {name.lower()}.{what}."


@dataclass(slots=True)
class StaffCaller:
    """A signed-in member of staff, who reads what the back office would show them and writes there."""

    staff: Any

    @property
    def name(self) -> str:
        return str(self.staff)

    @property
    def identity(self) -> str:
        return f"staff:{self.staff.pk.hex}"

    @property
    def limits(self) -> Limits:
        return Limits(settings.API_REQUESTS_PER_MINUTE, settings.API_REQUESTS_PER_DAY)

    def may_read(self, entity_set: EntitySet) -> bool:
        model: Any = entity_set.model
        app, name = model._meta.label_lower.split(".")
        return bool(self.staff.has_perm(f"{app}.view_{name}"))

    def may_write(self, entity_set: EntitySet) -> bool:
        return False
