"""Callers of the API: their secrets, their scopes and what they may do.

A secret is 256 random bits, so nobody can try them out and a slow hash would add nothing: what is stored
is its plain SHA-256.

Scopes are of API applications: `read` and `write` for everything, `claim.read` for one resource. A further
right of a resource (`paymentrun.files`) is in no other scope: whoever needs it is granted it by name. A scope
is stored as OAuth writes it, words between spaces. `write` does not include `read`: an intake form may hand
in contacts without being able to list those of others. (A POST answers with what it stored.)
"""

import difflib
import hashlib
import hmac
import secrets
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Model

from apps.base.declaration.resource import V2_1
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import get_service
from apps.base.drafts import Draft, Extra
from apps.core.caseload import Caseload

# --- client ids, secrets and tokens ---------------------------------------------------------------------

#: Compared with when there is no such client, so that an unknown client takes as long as a wrong secret.
NO_HASH = "0" * 64


def new_client_id() -> str:
    """32 hexadecimal digits: public, and of no meaning."""
    return secrets.token_hex(16)


def new_secret() -> str:
    """43 characters that a URL, a header and a form take unquoted."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 in hexadecimal; of any text, since callers can send anything."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def secret_matches(secret: str, *hashes: str | None) -> bool:
    """True when the secret has one of the hashes; every one is compared, each in constant time."""
    given = hash_secret(secret)
    agreed = [hmac.compare_digest(given, each or NO_HASH) for each in hashes]
    return any(agreed)


class SecretDraft(Draft):
    """``new_secret``: of a new record, which is shown once."""

    new_secret: Extra[str] = ""


# --- scopes ---------------------------------------------------------------------------------------------

READ, WRITE = "read", "write"
EVERYTHING = (READ, WRITE)


@lru_cache(maxsize=256)
def split_scope(scope: str) -> frozenset[str]:
    """The single scopes of a scope string."""
    return frozenset(scope.split())


def join_scopes(scopes: Iterable[str]) -> str:
    """Scopes as one string, each once, in alphabetical order."""
    return " ".join(sorted(set(scopes)))


def offered_scopes() -> list[str]:
    """Every scope of this service: the two wide ones, then those of each entity set."""
    found = list(EVERYTHING)
    for entity_set in get_service(V2_1).entity_sets:
        path = entity_set.path.lower()
        found.append(f"{path}.{READ}")
        if entity_set.is_written:
            found.append(f"{path}.{WRITE}")
        found += [f"{path}.{right}" for right in entity_set.resource.further_rights]
    return found


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


# --- callers --------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """Requests granted in a minute and in any 24 hours; 0 is no limit."""

    per_minute: int
    per_day: int


NO_LIMITS = Limits(0, 0)


@dataclass(slots=True)
class ApplicationCaller:
    """An API application.

    ``scopes`` are sets that must each grant a right: the application's own, and those its token was
    narrowed to. So what is taken from the application is taken from its tokens. ``has_token`` is false for
    one that sends its secret with every request, and so may only read. ``sees``: the participants that it is
    limited to, ``None`` for all. ``identity`` is what its requests and idempotency keys are stored under.
    """

    guid: uuid.UUID
    name: str
    scopes: tuple[frozenset[str], ...]
    limits: Limits = NO_LIMITS
    has_token: bool = True
    sees: Caseload | None = None

    @property
    def identity(self) -> str:
        return f"application:{self.guid.hex}"

    def may(self, right: str, entity_set: EntitySet) -> bool:
        if right == WRITE and not self.has_token:
            return False
        if self.sees is not None and not entity_set.resource.is_own:
            is_open = self.sees.takes_changes if right == WRITE else self.sees.covers
            if not is_open(entity_set.model):
                return False
        narrow = f"{entity_set.path.lower()}.{right}"
        return all(right in granted or narrow in granted for granted in self.scopes)

    def refusal(self, right: str, name: str) -> str:
        """The sentence of a refusal of a right to the entity set of that name."""
        if right not in EVERYTHING:
            return f"This needs the scope {name.lower()}.{right}, which no other scope includes."
        if self.sees is not None:
            return f"This needs the scope {right} or {name.lower()}.{right}, and to see all participants."
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
    def sees(self) -> Caseload | None:
        found: Caseload | None = self.staff.caseload
        return found

    @property
    def limits(self) -> Limits:
        return Limits(settings.API_REQUESTS_PER_MINUTE, settings.API_REQUESTS_PER_DAY)

    def may(self, right: str, entity_set: EntitySet) -> bool:
        model: type[Model] = entity_set.model
        app, name = model._meta.label_lower.split(".")
        return right == READ and bool(self.staff.has_perm(f"{app}.view_{name}"))

    def refusal(self, right: str, name: str) -> str:
        if right not in EVERYTHING:
            return f"A session has no right to {name.lower()}.{right} here: use the pages of the back office."
        return f"{self.name} may not {right} {name}."
