"""Statuses in lists are badges, rendered once for each text."""

from types import SimpleNamespace

import pytest
from django.utils.safestring import mark_safe
from unfold.decorators import display
from unfold.utils import display_for_label

from apps.core.admin_base.panels import cell_text

COLOURS = {"Open": "info", "Closed": None}


@display(description="state", label=COLOURS)
def state(row):
    return row.state


class Page:
    """As much of a page as its cells need."""

    def get_empty_value_display(self):
        return "-"


@pytest.mark.any_engine("nothing is stored")
@pytest.mark.parametrize("text", ["Open", "<b>", mark_safe("<b>")], ids=["text", "unsafe", "safe"])
@pytest.mark.parametrize("key", ["Open", "Closed", "Unknown"])
def test_a_badge_is_what_the_library_renders(key, text, monkeypatch):
    for _ in range(2):
        monkeypatch.setattr("apps.core.admin_base.panels.lookup_field", lambda *_: (None, state, (key, text)))
        shown = cell_text(Page(), SimpleNamespace(), "state")
        expected = display_for_label((key, text), "-", COLOURS)
        assert (shown, type(shown)) == (expected, type(expected))
