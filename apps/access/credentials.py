"""Client ids, secrets and tokens: how they are made, and the only form in which they are stored.

A secret is 256 random bits, so nobody can try them out and a slow hash would add nothing: what is stored
is its plain SHA-256 (decisions.md 8).
"""

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


def hash_secret(secret: str) -> str:
    """SHA-256 in hexadecimal; of any text, since callers can send anything."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def secret_matches(secret: str, *hashes: str | None) -> bool:
    """Whether the secret has one of the hashes; every one is compared, each in constant time."""
    given = hash_secret(secret)
    agreed = [hmac.compare_digest(given, each or NO_HASH) for each in hashes]
    return any(agreed)
