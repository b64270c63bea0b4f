"""A form whose token is no longer valid, after a login in another tab: what was typed is not lost."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from apps.core.admin_base.forms import OPENED_BY, RESTORED, SIGNED_IN_AGAIN

#: Fields that are made anew for the page, or never sent back to a browser.
LEFT_OUT = ("csrfmiddlewaretoken", OPENED_BY, RESTORED)
SECRET = re.compile("password|secret|^code$")


def expired_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's ``CSRF_FAILURE_VIEW``: 403, with what was typed when one of our own pages sent it.

    Nothing is sent by itself: the person presses a button, and a record's form is then shown with the text,
    unsaved. A request of another site shows nothing of what it sent.
    """
    fields = list(typed_fields(request)) if may_be_sent_again(request) else []
    context = {"fields": fields, "address": request.get_full_path()}
    return render(request, "403_csrf.html", context, status=403)


def may_be_sent_again(request: HttpRequest) -> bool:
    """True when a page of ours in the back office sent it, opened by the person who is signed in now."""
    user: Any = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not request.path.startswith(reverse("admin:index")):
        return False
    if any(map(SECRET.search, request.POST)):
        return False
    source = urlsplit(request.headers.get("Origin") or request.headers.get("Referer", ""))
    is_ours = f"{source.scheme}://{source.netloc}" == f"{request.scheme}://{request.get_host()}"
    return is_ours and request.POST.get(OPENED_BY, str(user.pk)) == str(user.pk)


def typed_fields(request: HttpRequest) -> Iterator[tuple[str, str]]:
    yield RESTORED, SIGNED_IN_AGAIN
    for name, values in request.POST.lists():
        if name not in LEFT_OUT:
            yield from ((name, str(value)) for value in values)
