"""What requests leave behind is looked for when none runs."""

import gc
import weakref
from types import SimpleNamespace

import pytest

from records_site.server.worker import Server


class Ring:
    """An object that only garbage collection frees."""

    def __init__(self):
        self.me = self


@pytest.mark.parametrize(("busy", "is_freed"), [(0, True), (1, False)])
def test_garbage_is_looked_for_where_no_request_runs(busy, is_freed):
    ring = Ring()
    left = weakref.ref(ring)
    gc.collect(0)  # it outlives a first look, as what a request works with
    del ring
    Server.tidy(SimpleNamespace(pool=SimpleNamespace(busy=busy)))
    assert (left() is None) == is_freed


def test_a_worker_that_served_nothing_does_not_look(monkeypatch):
    gc.collect()
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("it looked"))
    Server.tidy(SimpleNamespace(pool=SimpleNamespace(busy=0)))
