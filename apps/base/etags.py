"""ETags of records and files, as headers of requests name them."""


def matches_etag(header: str, etag: str) -> bool:
    """True when an If-Match or If-None-Match header names ``etag``; compared weakly, as OData does."""
    if header.strip() == "*":
        return True
    opaque = etag.removeprefix("W/")
    return any(item.strip().removeprefix("W/") == opaque for item in header.split(","))
