"""Secrets and tokens: how they are made, and the only form in which they are kept.

A secret is 256 random bits, so nobody can try them out and a slow hash would add nothing: what is kept
is its plain SHA-256 (decisions.md 8).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

#: Compared with when there is no such client, so that an unknown client takes as long as a wrong secret.
NO_HASH = "0" * 64


def new_client_id() -> str:
    """32 hexadecimal digits: public, and of no meaning."""
    return secrets.token_hex(16)


def new_secret() -> str:
    """43 characters that a URL, a header and a form take unquoted."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """SHA-256 in hexadecimal; of any text, since what callers send can be anything."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, *kept: str | None) -> bool:
    """Whether ``secret`` is one of those kept; every one is compared, each in constant time."""
    given = digest(secret)
    agreed = [hmac.compare_digest(given, one or NO_HASH) for one in kept]
    return any(agreed)
