"""The token endpoint: OAuth 2 client credentials, to the letter of RFC 6749."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_plus

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from apps.access import scopes
from apps.access.authentication import client_and_secret
from apps.access.callers import ApplicationCaller, Limits
from apps.access.credentials import digest
from apps.access.issuing import issue_token
from apps.access.metering import METER, LimitReached
from apps.access.recognising import application_of_secret
from apps.access.throttling import spend_permit
from apps.odata.errors import ODataError

logger = logging.getLogger(__name__)

FORM = "application/x-www-form-urlencoded"
LONGEST_FORM = 16 * 1024  # bytes
MOST_PARAMETERS = 50

#: Wrong secrets in a minute from one address, and for one client. Only failures are counted, so that
#: nobody can lock out a client by guessing: who knows the secret is let in.
GUESSES_OF_ADDRESS = Limits(per_minute=60, per_day=0)
GUESSES_OF_CLIENT = Limits(per_minute=20, per_day=0)

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


@dataclass
class OAuthError(Exception):
    """A refusal in the shape of RFC 6749, 5.2."""

    error: str
    description: str
    status: int = 400
    headers: tuple[tuple[str, str], ...] = ()

    def as_response(self) -> JsonResponse:
        body = {"error": self.error, "error_description": self.description}
        return JsonResponse(body, status=self.status, headers={**NO_STORE, **dict(self.headers)})


@method_decorator(csrf_exempt, name="dispatch")  # no cookie is looked at
class TokenView(View):
    """``POST /connect/token``: a bearer token for a client id and secret (RFC 6749, 4.4)."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.token(request)
        except OAuthError as error:
            return error.as_response()

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **words: object) -> HttpResponse:
        allow = (("Allow", "POST"),)
        return OAuthError("invalid_request", "Tokens are asked for by POST.", 405, allow).as_response()

    def token(self, request: HttpRequest) -> HttpResponse:
        form = form_of(request)
        if "grant_type" not in form:
            raise OAuthError("invalid_request", "grant_type is missing.")
        if form["grant_type"] != "client_credentials":
            raise OAuthError("unsupported_grant_type", "The only grant_type here is client_credentials.")
        caller = authenticated(request, form)
        scope = granted_scope(caller, form.get("scope", ""))
        count(caller)
        answer = {
            "access_token": issue_token(caller, scope),
            "token_type": "Bearer",
            "expires_in": settings.API_TOKEN_SECONDS,
            "scope": scopes.spelled(scope),
        }
        return JsonResponse(answer, headers=NO_STORE)


def form_of(request: HttpRequest) -> dict[str, str]:
    """The form's parameters; empty ones count as left out (RFC 6749, 3.2)."""
    if request.content_type != FORM:
        raise OAuthError("invalid_request", f"The body must be {FORM}.", 415)
    body = request.read(LONGEST_FORM + 1)
    if len(body) > LONGEST_FORM:
        raise OAuthError("invalid_request", f"The body may have {LONGEST_FORM:,} bytes.", 413)
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict"
        )
    except ValueError:
        raise OAuthError("invalid_request", "The body cannot be read as a form in UTF-8.") from None
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise OAuthError("invalid_request", "A parameter stands in the body twice.")
    return {name: value for name, value in pairs if value}


def authenticated(request: HttpRequest, form: dict[str, str]) -> ApplicationCaller:
    """The application whose id and secret these are, in the header or in the form."""
    client_id, secret = presented(request, form)
    caller = application_of_secret(client_id, secret)
    if caller is None:
        count_guess(client_id, request.META.get("REMOTE_ADDR", ""))
        raise unknown_client()
    return caller


def presented(request: HttpRequest, form: dict[str, str]) -> tuple[str, str]:
    header = request.headers.get("Authorization")
    if header is None:
        return form.get("client_id", ""), form.get("client_secret", "")
    if "client_secret" in form:
        raise OAuthError("invalid_request", "Send the secret in the header or in the body, not in both.")
    scheme, _, given = header.partition(" ")
    if scheme.lower() != "basic":
        raise unknown_client()
    # Both are form-encoded before they are put together (RFC 6749, 2.3.1).
    client_id, secret = map(unquote_plus, client_and_secret(given.strip()))
    if form.get("client_id", client_id) != client_id:
        raise OAuthError("invalid_request", "The header and the body name two clients.")
    return client_id, secret


def unknown_client() -> OAuthError:
    """One answer for an unknown client, a wrong secret and a revoked application."""
    challenge = (("WWW-Authenticate", 'Basic realm="token", charset="UTF-8"'),)
    return OAuthError("invalid_client", "The client id and secret are not valid.", 401, challenge)


def granted_scope(caller: ApplicationCaller, wished: str) -> frozenset[str]:
    """The scopes asked for, all of the application's when none are (RFC 6749, 3.3)."""
    (held,) = caller.scopes
    asked = scopes.words(wished)
    if not asked:
        return held
    try:
        scopes.check_scope(wished)
    except ValidationError as error:
        raise OAuthError("invalid_scope", " ".join(error.messages)) from None
    lacking = scopes.lacking(held, asked)
    if lacking:
        raise OAuthError("invalid_scope", f"This application is not granted {', '.join(lacking)}.")
    return asked


def count(caller: ApplicationCaller) -> None:
    """A token is a request like any other."""
    try:
        spend_permit(caller)
    except ODataError as refused:
        raise too_many(refused.message, refused.headers["Retry-After"], refused.status) from None


def count_guess(client_id: str, address: str) -> None:
    """Count a failure, and refuse at once when there were too many."""
    try:
        METER.spend(f"guesses from:{address}"[:80], GUESSES_OF_ADDRESS)
        METER.spend(f"guesses at:{digest(client_id)}", GUESSES_OF_CLIENT)
    except LimitReached as reached:
        logger.warning("Too many wrong client secrets from %s", address)
        raise too_many("Too many attempts failed.", str(reached.retry_after)) from None


def too_many(description: str, retry_after: str, status: int = 429) -> OAuthError:
    headers = (("Retry-After", retry_after),)
    return OAuthError("temporarily_unavailable", description, status, headers)
