"""What an application may be granted: `read` and `write` for everything, `claim.read` for one resource.

A scope is kept as OAuth writes it, words between spaces. `write` does not include `read`: an intake form
may hand in contacts without being able to list those of others. (A POST answers with what it stored.)
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from django.core.exceptions import ValidationError

from apps.odata.declaration import service
from apps.odata.declaration.resource import POST, PUT

READ, WRITE = "read", "write"
EVERYTHING = (READ, WRITE)


def words(scope: str) -> frozenset[str]:
    """The single scopes of a scope string."""
    return frozenset(scope.split())


def spelled(scopes: Iterable[str]) -> str:
    """Scopes as one string, each once, in alphabetical order."""
    return " ".join(sorted(set(scopes)))


def offered() -> list[str]:
    """Every scope of this service: the two wide ones, then those of each entity set."""
    found = list(EVERYTHING)
    for entity_set in service.get_service().entity_sets:
        path = entity_set.path.lower()
        found.append(f"{path}.{READ}")
        if entity_set.supports(POST) or entity_set.supports(PUT):
            found.append(f"{path}.{WRITE}")
    return found


def grants(held: Collection[str], path: str, right: str) -> bool:
    """Whether the scopes held give ``right`` (``read`` or ``write``) on the resource at ``path``."""
    return right in held or f"{path.lower()}.{right}" in held


def lacking(held: Collection[str], wished: Iterable[str]) -> list[str]:
    """The wished scopes that those held do not cover; whoever holds `read` may narrow to `claim.read`."""
    return sorted(one for one in wished if one not in held and one.rpartition(".")[2] not in held)


def check_scope(scope: str) -> None:
    """``ValidationError`` naming every scope that this service does not offer."""
    known = offered()
    unknown = sorted(words(scope) - set(known))
    if unknown:
        raise ValidationError([unknown_scope(one, known) for one in unknown], code="unknown_scope")


def unknown_scope(scope: str, known: list[str]) -> str:
    close = difflib.get_close_matches(scope.lower(), known, n=1)
    return f"{scope} is no scope of this service{f'; is {close[0]} meant?' if close else '.'}"
