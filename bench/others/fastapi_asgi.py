"""FastAPI's application on a web server: its tables take their defaults from our models."""

import gc

import django

django.setup()

from bench.others.fastapi_app import app  # noqa: E402

__all__ = ["app"]

gc.freeze()  # Django's objects, which a service by FastAPI would not have, cost it no sweeps
