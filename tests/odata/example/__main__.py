"""Asks the example a few things and prints each answer as a line of JSON; last, which apps were loaded."""

import json
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.odata.example.settings"

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from tests.odata.example.library import Book  # noqa: E402

BOOKS = [{"Title": "Dune", "Pages": 604}, {"Title": "A Room of One's Own"}]


def main():
    call_command("check", stdout=sys.stderr)
    with connection.schema_editor() as editor:
        editor.create_model(Book)
    client = Client()
    for response in (
        client.post("/api/book", {"value": BOOKS}, content_type="application/json"),
        client.post("/api/book", {"Title": "Nothing", "Pages": 0}, content_type="application/json"),
        client.get("/api/book", {"$filter": "startswith(Title, 'D')", "$select": "Title", "$count": "true"}),
        client.get(
            "/api/book", {"$orderby": "Pages desc", "$select": "Title"}, HTTP_PREFER="odata.maxpagesize=1"
        ),
        client.get("/api/$metadata", {"$format": "json"}),
        client.post(
            "/api/$batch",
            {"requests": [{"id": "1", "method": "GET", "url": "book/$count"}]},
            content_type="application/json",
        ),
    ):
        print(json.dumps({"status": response.status_code, "body": response.json()}))
    apps = {name.split(".")[1] for name in sys.modules if name.startswith("apps.")}
    print(json.dumps(sorted(apps)))


main()
