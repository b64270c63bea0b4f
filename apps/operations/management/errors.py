"""Errors of the commands for operators."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error

from apps.operations.tables import OperationError


@contextmanager
def command_errors() -> Iterator[None]:
    """An operator reads a sentence, not a traceback."""
    try:
        yield
    except (OperationError, Error, OSError) as error:
        raise CommandError(str(error)) from error
