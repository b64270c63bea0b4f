"""Middleware of the sessions of staff: how long they last, and what they must have before anything else."""

import time
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from apps.people.models import Staff

#: Keys of a session: when it was first used and when it was last used, in seconds of the Unix epoch.
BEGAN, LAST_USED = "began", "last_used"
#: Seconds between two notes of the last use: not every request writes.
NOTE_INTERVAL = 60

#: Pages of the back office that are open to whoever still lacks a second factor.
OPEN_PAGES = ("/admin/account/", "/admin/login/", "/admin/logout/", "/admin/jsi18n/")


class StaffAuthenticationMiddleware(AuthenticationMiddleware):
    """Django's, with limits of sessions and with roles that require a second factor."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        # As lazily as Django's: most requests to the API never ask who the user is.
        request.user = SimpleLazyObject(lambda: user_of_session(request))  # type: ignore[assignment]

    def process_view(
        self, request: HttpRequest, view: object, arguments: object, options: object
    ) -> HttpResponse | None:
        path = request.path_info
        if not path.startswith("/admin/") or path.startswith(OPEN_PAGES):
            return None
        return redirect("mfa_index") if lacks_second_factor(request, request.user) else None


def user_of_session(request: HttpRequest) -> Staff | AnonymousUser:
    """The staff member of the session; nobody once it was idle or open for too long.

    Outside the back office, whose pages lead to it, also nobody while a second factor is lacking.
    """
    session = request.session
    if SESSION_KEY in session:
        now = int(time.time())
        began, last_used = session.get(BEGAN, now), session.get(LAST_USED, 0)
        is_idle = last_used and now - last_used > settings.SESSION_IDLE_SECONDS
        if is_idle or now - began > settings.SESSION_SECONDS:
            session.flush()
        elif now - last_used > NOTE_INTERVAL:
            session.update({BEGAN: began, LAST_USED: now})
            sessions = UserSession.objects.filter(session_key=session.session_key)
            sessions.update(last_seen_at=timezone.now())
    user = get_user(request)
    is_closed = not request.path_info.startswith("/admin/") and lacks_second_factor(request, user)
    return AnonymousUser() if is_closed else user


def lacks_second_factor(request: HttpRequest, user: Any) -> bool:
    """True when the role asks for a second factor, and the person has none and was not asked elsewhere."""
    if not user.is_authenticated or not user.lacks_second_factor:
        return False
    methods = {record["method"] for record in get_authentication_records(request, user)}
    return not (settings.OIDC_ASKS_SECOND_FACTOR and "socialaccount" in methods)
