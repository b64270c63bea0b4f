"""Scopes of API applications: `read` and `write` for everything, `claim.read` for one resource.

A scope is stored as OAuth writes it, words between spaces. `write` does not include `read`: an intake form
may hand in contacts without being able to list those of others. (A POST answers with what it stored.)
"""

import difflib
from collections.abc import Collection, Iterable

from django.core.exceptions import ValidationError

from apps.odata.declaration.resource import POST, PUT
from apps.odata.declaration.service import get_service

READ, WRITE = "read", "write"
EVERYTHING = (READ, WRITE)


def split_scope(scope: str) -> frozenset[str]:
    """The single scopes of a scope string."""
    return frozenset(scope.split())


def join_scopes(scopes: Iterable[str]) -> str:
    """Scopes as one string, each once, in alphabetical order."""
    return " ".join(sorted(set(scopes)))


def offered_scopes() -> list[str]:
    """Every scope of this service: the two wide ones, then those of each entity set."""
    found = list(EVERYTHING)
    for entity_set in get_service().entity_sets:
        path = entity_set.path.lower()
        found.append(f"{path}.{READ}")
        if entity_set.supports(POST) or entity_set.supports(PUT):
            found.append(f"{path}.{WRITE}")
    return found


def grants(scopes: Iterable[Collection[str]], path: str, right: str) -> bool:
    """Whether each of the sets gives ``right`` (``read`` or ``write``) on the resource at ``path``."""
    narrow = f"{path.lower()}.{right}"
    return all(right in granted or narrow in granted for granted in scopes)


def missing_scopes(granted: Collection[str], requested: Iterable[str]) -> list[str]:
    """The requested scopes that those granted do not cover; `read` may be narrowed to `claim.read`."""
    return sorted(s for s in requested if s not in granted and s.rpartition(".")[2] not in granted)


def check_scope(scope: str) -> None:
    """``ValidationError`` naming every scope that this service does not offer."""
    offered = offered_scopes()
    unknown = sorted(split_scope(scope) - set(offered))
    if unknown:
        raise ValidationError([unknown_scope(each, offered) for each in unknown], code="unknown_scope")


def unknown_scope(scope: str, offered: list[str]) -> str:
    close = difflib.get_close_matches(scope.lower(), offered, n=1)
    return f"{scope} is no scope of this service{f'; is {close[0]} meant?' if close else '.'}"
