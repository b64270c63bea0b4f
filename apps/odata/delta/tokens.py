"""$deltatoken: what a reader has of an entity set, signed and bound to its query."""

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from django.core.signing import BadSignature, Signer

from apps.odata.delta.change_log import Cursor, Moment
from apps.odata.errors import BadQuery


@dataclass(frozen=True, slots=True)
class DeltaToken:
    """The beginning of the next page.

    ``query`` is the digest of the query. ``since`` is the moment of the last read, ``None`` while the first
    one goes on; ``until`` the moment at which the pages of this read began. ``after`` is the entry of the
    log before the page. ``key`` is the last key that was shown of the entries behind it up to ``last``: the
    next page goes on among these, whatever its size is.
    """

    query: str
    since: Moment | None = None
    until: Moment | None = None
    after: Cursor | None = None
    key: str | None = None
    last: Cursor | None = None

    def sign(self) -> str:
        return deltatoken_signer().sign_object(list(astuple(self)), compress=True)


def read_token(text: str, query: str) -> DeltaToken:
    """The signed token; ``BadQuery`` for one of another service or query."""
    try:
        token = DeltaToken(*deltatoken_signer().unsign_object(text))
    except (BadSignature, ValueError):
        reason = "is none that this service gave"
    else:
        if token.query == query:
            return token
        reason = "was given for another query"
    raise BadQuery(
        f"$deltatoken {reason}; follow @odata.deltaLink as it is.",
        target="$deltatoken",
        code="InvalidDeltatoken",
    )


def query_digest(entity_set: str, options: Sequence[tuple[str, str]]) -> str:
    text = repr((entity_set, list(options)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def deltatoken_signer() -> Signer:
    return Signer(salt="odata.deltatoken", sep=".")
