"""Exceptions of Django REST framework's own, which the classes of another project may raise."""

import json

import pytest
from django.test import RequestFactory
from rest_framework import exceptions

from apps.odata.http.exceptions import error_response


@pytest.mark.parametrize(
    ("exception", "status", "code"),
    [
        (exceptions.NotAuthenticated(), 401, "Unauthenticated"),
        (exceptions.PermissionDenied(), 403, "Forbidden"),
        (exceptions.NotFound(), 404, "NotFound"),
        (exceptions.MethodNotAllowed("PUT"), 405, "MethodNotAllowed"),
        (exceptions.NotAcceptable(), 406, "NotAcceptable"),
        (exceptions.UnsupportedMediaType("a/b"), 415, "UnsupportedMediaType"),
        (exceptions.Throttled(wait=2.5), 429, "TooManyRequests"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else str(each),
)
def test_an_exception_of_the_framework_has_the_status_and_the_shape_of_ours(exception, status, code):
    answer = error_response(exception, RequestFactory().get("/api/client"))
    error = json.loads(answer.content)["error"]
    assert (answer.status_code, error["code"], error["message"]) == (status, code, str(exception.detail))


def test_who_must_wait_is_told_for_how_long():
    answer = error_response(exceptions.Throttled(wait=2.5), RequestFactory().get("/api/client"))
    assert answer["Retry-After"] == "3"
