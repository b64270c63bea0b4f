"""$deltatoken: what a reader has of an entity set, signed and bound to its query."""

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from urllib.parse import urlencode, urlsplit

from django.core.signing import BadSignature, Signer

from apps.base.declaration.resource import Caller
from apps.base.errors import RETRY_AFTER, Gone, Unavailable
from apps.odata.delta.change_log import Cursor, Moment, get_change_log
from apps.odata.errors import BadQuery
from apps.odata.query.options import OPTIONS_OF_A_PAGE, parameters

#: Characters that are not escaped in a link, so that people can read it.
READABLE = "$,()/:@'*"
Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DeltaToken:
    """The beginning of the next page.

    ``query`` is the digest of the query. ``since`` is the moment of the last read, ``None`` while the first
    one goes on; ``until`` the moment at which the pages of this read began. ``after`` is the entry of the
    log before the page. ``key`` is the last key that was shown of the entries behind it up to ``last``: the
    next page goes on among these, whatever its size is. ``sight`` is what the reader saw, empty for all.
    """

    query: str
    since: Moment | None = None
    until: Moment | None = None
    after: Cursor | None = None
    key: str | None = None
    last: Cursor | None = None
    sight: str = ""

    def sign(self) -> str:
        return deltatoken_signer().sign_object(list(astuple(self)), compress=True)


def sight_of(caller: Caller | None) -> str:
    """The digest of what a caller sees, as tokens have it; empty for everything."""
    return caller.sees.digest() if caller is not None and caller.sees is not None else ""


def moment_for(caller: Caller | None) -> Moment:
    """The moment up to which a caller is told of changes, by what it sees since then.

    What it sees was read before: had that been changed in between, the change would be neither in what is
    read now nor in what changes from now on. ``Unavailable`` then.
    """
    moment = get_change_log().moment()
    if caller is not None and caller.sees is not None and not caller.sees.is_current():
        raise Unavailable("Which records you may see is changing: ask again.", headers=RETRY_AFTER)
    return moment


def read_token(text: str, query: str, caller: Caller | None = None) -> DeltaToken:
    """The signed token; ``BadQuery`` for one of another service or query, ``Gone`` where its reader saw other
    records than the caller does."""
    try:
        token = DeltaToken(*deltatoken_signer().unsign_object(text))
    except (BadSignature, ValueError):
        reason = "is none that this service gave"
    else:
        if token.query == query and token.since is not None and token.sight != sight_of(caller):
            raise Gone(
                "Which records you may see was changed since: read the entity set again with "
                "Prefer: odata.track-changes."
            )
        if token.query == query:
            return token
        reason = "was given for another query"
    raise BadQuery(
        f"$deltatoken {reason}; follow @odata.deltaLink as it is.",
        target="$deltatoken",
        code="InvalidDeltatoken",
    )


def tracked_options(query: Query) -> list[tuple[str, str]]:
    """The options of a query without those of a page, and without $count."""
    left_out = OPTIONS_OF_A_PAGE | {"count"}
    return [(name, value) for name, value in query if name.lower().removeprefix("$") not in left_out]


def query_digest(entity_set: str, query: Query) -> str:
    text = repr((entity_set, tracked_options(query)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def delta_link(address: str, query: Query, token: DeltaToken) -> str:
    """The link to the changes of the collection at an address since the token."""
    options = [*tracked_options(query), ("$deltatoken", token.sign())]
    return f"{address}?{urlencode(options, safe=READABLE)}"


def read_delta_link(link: str, caller: Caller) -> tuple[str, DeltaToken]:
    """The name of the entity set and the token of a delta link; raises as ``read_token`` does."""
    try:
        parts = urlsplit(link)
    except ValueError:
        raise BadQuery("It is no address.", code="InvalidDeltatoken") from None
    query = list(parameters(parts.query.encode("utf-8", "replace")))
    texts = [value for name, value in query if name.lower().removeprefix("$") == "deltatoken"]
    entity_set = parts.path.rpartition("/")[2]
    token = read_token(texts[0] if texts else "", query_digest(entity_set, query), caller)
    if token.since is None:
        raise BadQuery("The first read of this link has not ended.", code="InvalidDeltatoken")
    return entity_set, token


def deltatoken_signer() -> Signer:
    return Signer(salt="odata.deltatoken", sep=".")
