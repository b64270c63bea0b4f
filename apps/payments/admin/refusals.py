"""Refusals of services, shown as messages on the page that comes next."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest

from apps.base.errors import ServiceError
from apps.payments.services.runs import RunRefused
from apps.payments.services.statements import StatementRefused


@contextmanager
def refusals_shown(request: HttpRequest) -> Iterator[None]:
    """Show why nothing was done, in place of an error."""
    try:
        yield
    except (RunRefused, StatementRefused) as refused:
        messages.error(request, str(refused))
    except ServiceError as refused:
        messages.error(request, refused.message)
