"""Settings from environment variables; a value that cannot be is refused with the name of its variable."""

from collections.abc import Callable
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured


def read_boolean(text: str) -> bool:
    is_true = text.lower() in environ.Env.BOOLEAN_TRUE_STRINGS
    if not is_true and text.lower() not in ("false", "off", "n", "no", "0"):
        raise ValueError
    return is_true


def read_whole_number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


def read_number(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def read_list(text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(",")) if part]


#: How the values of a type are read, and what they are.
READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (read_boolean, "true or false"),
    int: (read_whole_number, "a whole number"),
    float: (read_number, "a number"),
    list: (read_list, "a list"),
}


class Environment(environ.Env):
    """django-environ with strict values.

    Its own readers take any other word than ``true`` for false, read ``3e2`` as 32, and put the value of
    another variable, or nothing, in place of a value that begins with ``$``, as a passphrase may.
    """

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        if (text := self.ENVIRON.get(var)) is None:
            return super().get_value(var, cast, default, parse_default)
        if cast not in READERS:
            return text
        reader, kind = READERS[cast]
        # A compose file, or a line NAME= of a file of settings, gives what is not set as an empty text.
        if not text.strip():
            return default
        try:
            return reader(text.strip())
        except ValueError:
            raise ImproperlyConfigured(f"{var} is {kind}, not {text!r}.") from None
