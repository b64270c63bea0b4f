"""Refusals of services, shown as messages on the page that comes next."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest

from apps.base.errors import Refusal, ServiceError


@contextmanager
def refusals_shown(request: HttpRequest) -> Iterator[None]:
    """Show why nothing was done, in place of an error."""
    try:
        yield
    except (Refusal, ServiceError) as refused:
        messages.error(request, str(refused))
