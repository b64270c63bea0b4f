"""What the tests about funding share: the zone of a request, and a day that the clock stands at."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.core.models import Subscriber
from apps.odata import clock


@pytest.fixture(autouse=True)
def in_sydney():
    Subscriber.forget()
    with timezone.override("Australia/Sydney"):
        yield
    Subscriber.forget()


@pytest.fixture
def at(monkeypatch):
    """at("2026-06-30 23:59"): from here on it is that time in Sydney."""

    def stand(text):
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Australia/Sydney"))
        monkeypatch.setattr(timezone, "now", lambda: moment.astimezone(dt.UTC))
        clock.forget_now()

    yield stand
    clock.forget_now()
