"""The permission to use a resource: 401 without credentials, 403 without the permission."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission

from apps.odata.errors import Forbidden


class ResourcePermission(BasePermission):
    """Scopes of API applications, permissions of staff (decisions.md 8)."""

    def has_permission(self, request: Any, view: Any) -> bool:
        caller = request.auth
        if caller is None:
            return False  # DRF responds with 401
        entity_set = getattr(view, "entity_set", None)
        if entity_set is None:
            return True
        if request.method in SAFE_METHODS or getattr(view, "action", None) == "query":
            operation, allowed = "read", caller.may_read(entity_set)
        else:
            operation, allowed = "write", caller.may_write(entity_set)
        if not allowed:
            reason = getattr(caller, "why_not", lambda *_: "")(operation, entity_set.name)
            raise Forbidden(reason or f"{caller.name} may not {operation} {entity_set.name}.")
        return True
