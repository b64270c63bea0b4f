"""Callers of the API and their rights: applications by scopes, staff by the permissions of their role."""

import uuid
from dataclasses import dataclass, field
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
    """An API application.

    ``scopes`` are sets that must each grant a right: the application's own, and those its token was
    narrowed to. So what is taken from the application is taken from its tokens. ``has_token`` is false for
    one that sends its secret with every request, and so may only read. ``identity`` is what its requests
    and idempotency keys are stored under.
    """

    guid: uuid.UUID
    name: str
    scopes: tuple[frozenset[str], ...]
    requests_per_minute: int | None = None
    requests_per_day: int | None = None
    has_token: bool = True
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        self.identity = f"application:{self.guid.hex}"

    @property
    def limits(self) -> Limits:
        minute, day = self.requests_per_minute, self.requests_per_day
        return Limits(
            settings.API_REQUESTS_PER_MINUTE if minute is None else minute,
            settings.API_REQUESTS_PER_DAY if day is None else day,
        )

    def may_read(self, entity_set: EntitySet) -> bool:
        return grants(self.scopes, entity_set.path, READ)

    def may_write(self, entity_set: EntitySet) -> bool:
        return self.has_token and grants(self.scopes, entity_set.path, WRITE)

    def why_not(self, right: str, name: str) -> str:
        """The sentence of a refusal to ``read`` or ``write`` the entity set of that name."""
        if right == WRITE and not self.has_token:
            return (
                "A client id and secret may only read. To write, get a token from /connect/token "
                "and send it as Authorization: Bearer."
            )
        return f"This needs the scope {right} or {name.lower()}.{right}."


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
