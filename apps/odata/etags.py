"""Weak ETags, made of the time of the last change."""

import datetime as dt

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def make_etag(modified: dt.datetime | None) -> str:
    """An ETag of UTC microseconds; empty without a time. PostgreSQL makes the same one in SQL."""
    return f'W/"{(modified - _EPOCH) // _MICROSECOND:x}"' if modified is not None else ""


def matches_etag(header: str, etag: str) -> bool:
    """Whether an If-Match or If-None-Match header names ``etag``; compared weakly, as OData does."""
    if header.strip() == "*":
        return True
    opaque = etag.removeprefix("W/")
    return any(item.strip().removeprefix("W/") == opaque for item in header.split(","))
