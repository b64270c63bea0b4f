"""The token endpoint: OAuth 2 client credentials (RFC 6749)."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_plus

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from apps.access import throttling
from apps.access.authentication import find_application_by_secret, split_basic_credentials
from apps.access.callers import (
    ApplicationCaller,
    check_scope,
    join_scopes,
    missing_scopes,
    split_scope,
)
from apps.access.services import issue_token_for
from apps.base.errors import ServiceError

logger = logging.getLogger(__name__)

FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 16 * 1024
MAX_PARAMETERS = 50

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


@dataclass
class OAuthError(Exception):
    """An error response as in RFC 6749, 5.2."""

    error: str
    description: str
    status: int = 400
    headers: tuple[tuple[str, str], ...] = ()

    def as_response(self) -> JsonResponse:
        body = {"error": self.error, "error_description": self.description}
        return JsonResponse(body, status=self.status, headers={**NO_STORE, **dict(self.headers)})


@method_decorator(csrf_exempt, name="dispatch")  # no cookie is read
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
        return OAuthError("invalid_request", "Tokens are requested by POST.", 405, allow).as_response()

    def token(self, request: HttpRequest) -> HttpResponse:
        form = read_form(request)
        if "grant_type" not in form:
            raise OAuthError("invalid_request", "grant_type is missing.")
        if form["grant_type"] != "client_credentials":
            raise OAuthError("unsupported_grant_type", "The only grant_type here is client_credentials.")
        client_id, secret = client_credentials(request, form)
        caller = authenticate_client(request, client_id, secret)
        scope = granted_scope(caller, form.get("scope", ""))
        with throttled():
            throttling.count_request(caller)  # a token is a request like any other
        token = issue_token_for(client_id, secret, scope)
        if token is None:
            raise invalid_client()
        body = {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": settings.API_TOKEN_SECONDS,
            "scope": join_scopes(scope),
        }
        return JsonResponse(body, headers=NO_STORE)


def read_form(request: HttpRequest) -> dict[str, str]:
    """The form's parameters; empty ones count as left out (RFC 6749, 3.2)."""
    if request.content_type != FORM:
        raise OAuthError("invalid_request", f"The body must be {FORM}.", 415)
    body = request.read(MAX_FORM_BYTES + 1)
    if len(body) > MAX_FORM_BYTES:
        raise OAuthError("invalid_request", f"The body may have {MAX_FORM_BYTES:,} bytes.", 413)
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MAX_PARAMETERS, errors="strict"
        )
    except ValueError:
        raise OAuthError("invalid_request", "The body cannot be read as a form in UTF-8.") from None
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise OAuthError("invalid_request", "The body has a parameter twice.")
    return {name: value for name, value in pairs if value}


def authenticate_client(request: HttpRequest, client_id: str, secret: str) -> ApplicationCaller:
    """The application with the id and secret; a wrong secret is counted."""
    caller = find_application_by_secret(client_id, secret)
    if caller is None:
        with throttled():
            throttling.count_failure(client_id, request)
        raise invalid_client()
    return caller


def client_credentials(request: HttpRequest, form: dict[str, str]) -> tuple[str, str]:
    """The client id and secret in the header or in the form."""
    header = request.headers.get("Authorization")
    if header is None:
        return form.get("client_id", ""), form.get("client_secret", "")
    if "client_secret" in form:
        raise OAuthError("invalid_request", "Send the secret in the header or in the body, not in both.")
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "basic":
        raise invalid_client()
    # Both are form-encoded before they are put together (RFC 6749, 2.3.1).
    client_id, secret = map(unquote_plus, split_basic_credentials(credentials.strip()))
    if form.get("client_id", client_id) != client_id:
        raise OAuthError("invalid_request", "The header and the body name two clients.")
    return client_id, secret


def invalid_client() -> OAuthError:
    """One answer for an unknown client, a wrong secret and a revoked application."""
    challenge = (("WWW-Authenticate", 'Basic realm="token", charset="UTF-8"'),)
    return OAuthError("invalid_client", "The client id and secret are not valid.", 401, challenge)


def granted_scope(caller: ApplicationCaller, scope: str) -> frozenset[str]:
    """The scopes requested, all of the application's when none are (RFC 6749, 3.3)."""
    (granted,) = caller.scopes
    requested = split_scope(scope)
    if not requested:
        return granted
    try:
        check_scope(scope)
    except ValidationError as error:
        raise OAuthError("invalid_scope", " ".join(error.messages)) from None
    missing = missing_scopes(granted, requested)
    if missing:
        raise OAuthError("invalid_scope", f"This application is not granted {', '.join(missing)}.")
    return requested


@contextmanager
def throttled() -> Iterator[None]:
    """Within the block, a limit that is reached is an error of this endpoint."""
    try:
        yield
    except ServiceError as error:
        headers = (("Retry-After", error.headers["Retry-After"]),)
        raise OAuthError("temporarily_unavailable", error.message, error.status, headers) from None


def database_unavailable(headers: Mapping[str, str]) -> OAuthError:
    description = "The database cannot be reached now."
    return OAuthError("temporarily_unavailable", description, 503, tuple(headers.items()))
