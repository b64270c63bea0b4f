"""Whether a caller may use a resource: 401 for nobody, 403 for somebody without the right."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission

from apps.odata.errors import Forbidden


class MayUseResource(BasePermission):
    """Scopes of applications, permissions of people (decisions.md 8)."""

    def has_permission(self, request: Any, view: Any) -> bool:
        caller = request.auth
        if caller is None:
            return False  # DRF answers 401 with the challenge
        entity_set = getattr(view, "entity_set", None)
        if entity_set is None:
            return True
        if request.method in SAFE_METHODS or getattr(view, "action", None) == "query":
            return bool(caller.may_read(entity_set)) or refuse(caller, "read", entity_set.name)
        return bool(caller.may_write(entity_set)) or refuse(caller, "write", entity_set.name)


def refuse(caller: Any, what: str, name: str) -> bool:
    why = getattr(caller, "why_not", lambda *_: "")(what, name)
    raise Forbidden(why or f"{caller.name} may not {what} {name}.")
