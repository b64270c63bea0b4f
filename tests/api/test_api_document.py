"""The examples of README.md and docs/api.md are calls that the service takes."""

import contextlib
import re
import shlex
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]


def calls(page: str) -> list[list[str]]:
    """The words of each call of a page, which goes on until its quotes are closed."""
    found = []
    for text in (ROOT / page).read_text().replace("\\\n", " ").split("\n$ api ")[1:]:
        lines = text.splitlines()
        for count in range(1, len(lines)):
            with contextlib.suppress(ValueError):  # a quote is still open
                found.append(["api", *shlex.split("\n".join(lines[:count]))])
                break
    return found


#: Forms (-F) are sent by tests/documents.
EXAMPLES = [words for page in ("README.md", "docs/api.md") for words in calls(page) if "-F" not in words]
#: What an example of made-up guids may be refused for.
EXPECTED_ERRORS = {"NotFound", "ValidationFailed"}

pytestmark = pytest.mark.django_db


def arguments_of(example):
    """The method, the path, the query, the content type and the body of an example."""
    method, words = "GET", iter(example[1:])
    url = content_type = body = None
    parameters = []
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            content_type = next(words).removeprefix("Content-Type: ")
        elif word == "-d":
            method, body = ("POST" if method == "GET" else method), next(words).encode()
        elif word == "--data-urlencode":
            name, _, value = next(words).replace("\\$", "$").partition("=")  # shlex leaves \$ as it is
            parameters.append(f"{name}={quote(value)}")
        elif word == "-G":
            continue
        else:
            assert word.startswith("http"), word
            url = urlsplit(word)
    return method, url.path, "&".join(filter(None, [url.query, *parameters])), content_type, body


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda words: re.sub(r"[^\w$]+", " ", " ".join(words))[:60])
def test_the_example_is_taken(api, example):
    method, path, query, content_type, body = arguments_of(example)
    answer = api.call(method, path, query, body, content_type)
    if answer.status_code >= 400:
        assert answer.json()["error"]["code"] in EXPECTED_ERRORS, answer.content
