"""Places in SQL that is kept between requests, for what differs from one to the next."""

from apps.base import clock


def placeholder(name: str) -> str:
    """The place of that name in the SQL; NUL is in no other SQL."""
    return f"\x00{name}\x00"


#: The place of the date of the request.
TODAY = placeholder("today")


def with_today(text: str) -> str:
    """The SQL with the date of the request in the subscriber's zone."""
    return text.replace(TODAY, f"'{clock.today().isoformat()}'") if TODAY in text else text
