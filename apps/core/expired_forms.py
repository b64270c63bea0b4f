"""A form that was refused, since its token or a permission has gone: what was typed is not lost."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from apps.core.admin_base.forms import OPENED_BY, REFUSED, RESTORED, SIGNED_IN_AGAIN

#: Fields that are made anew for the page, or never sent back to a browser.
LEFT_OUT = ("csrfmiddlewaretoken", OPENED_BY, RESTORED)
SECRET = re.compile("password|secret|^code$")


def expired_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's ``CSRF_FAILURE_VIEW``: 403, with what was typed when one of our own pages sent it.

    Nothing is sent by itself: the person presses a button, and a record's form is then shown with the text,
    unsaved. A request of another site shows nothing of what it sent.
    """
    return render(request, "403_csrf.html", again(request, SIGNED_IN_AGAIN), status=403)


def refused_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler403``; of a form, with what was typed: the role may be given back a moment later."""
    context = {"exception": str(exception), **again(request, REFUSED)}
    return render(request, "403.html", context, status=403)


def again(request: HttpRequest, reason: str) -> dict[str, object]:
    """What a page needs to send once more what was sent; no fields where it may not."""
    fields = list(typed_fields(request, reason)) if may_be_sent_again(request) else []
    return {"fields": fields, "address": request.get_full_path()}


def may_be_sent_again(request: HttpRequest) -> bool:
    """True when a page of ours in the back office sent it, opened by the person who is signed in now."""
    user: Any = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not request.path.startswith(reverse("admin:index")):
        return False
    if request.method != "POST" or any(map(SECRET.search, request.POST)):
        return False
    source = urlsplit(request.headers.get("Origin") or request.headers.get("Referer", ""))
    is_ours = f"{source.scheme}://{source.netloc}" == f"{request.scheme}://{request.get_host()}"
    return is_ours and request.POST.get(OPENED_BY, str(user.pk)) == str(user.pk)


def typed_fields(request: HttpRequest, reason: str) -> Iterator[tuple[str, str]]:
    yield RESTORED, reason
    for name, values in request.POST.lists():
        if name not in LEFT_OUT:
            yield from ((name, str(value)) for value in values)
