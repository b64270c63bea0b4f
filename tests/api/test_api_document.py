"""The examples of docs/api.md are calls that the service takes."""

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"
LINES = [line.removeprefix("$ ") for line in DOCUMENT.read_text().splitlines() if line.startswith("$ api ")]
#: Forms (-F) are sent by tests/documents.
EXAMPLES = [shlex.split(line) for line in LINES if " -F " not in line]
#: What an example of made-up guids may be refused for.
EXPECTED_ERRORS = {"NotFound", "ValidationFailed"}

pytestmark = pytest.mark.django_db


def arguments_of(example):
    """The method, the URL, the content type and the body of an example."""
    method, words = "GET", iter(example[1:])
    url = content_type = body = None
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            content_type = next(words).removeprefix("Content-Type: ")
        elif word == "-d":
            method, body = ("POST" if method == "GET" else method), next(words).encode()
        else:
            assert word.startswith("http"), word
            url = urlsplit(word)
    return method, url, content_type, body


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda words: re.sub(r"[^\w$]+", " ", " ".join(words))[:60])
def test_the_example_is_taken(api, example):
    method, url, content_type, body = arguments_of(example)
    answer = api.call(method, url.path, url.query, body, content_type)
    if answer.status_code >= 400:
        assert answer.json()["error"]["code"] in EXPECTED_ERRORS, answer.content
