"""The base of every page of the back office."""

from apps.core.admin_base.archiving import ArchivedFilter
from apps.core.admin_base.forms import RecordForm
from apps.core.admin_base.record_admin import MenuPage, RecordAdmin, RecordAutocompleteView

__all__ = ["ArchivedFilter", "MenuPage", "RecordAdmin", "RecordAutocompleteView", "RecordForm"]
