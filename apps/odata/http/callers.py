"""What the kernel needs to know of whoever calls; ``apps.access`` says who they are."""

from __future__ import annotations

from typing import Protocol

from apps.odata.declaration.schema import EntitySet


class Caller(Protocol):
    """An API application or a signed-in person: ``request.auth`` of every authenticated request."""

    name: str

    def may_read(self, entity_set: EntitySet) -> bool:
        """Whether GET is granted."""
        ...

    def may_write(self, entity_set: EntitySet) -> bool:
        """Whether POST and PUT are granted."""
        ...
