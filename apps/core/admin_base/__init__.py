"""The base of every page of the back office."""

from apps.core.admin_base.filters import ArchivedFilter, ConditionFilter, Conditions, DateTimeRangeFilter
from apps.core.admin_base.forms import RecordForm, fieldset
from apps.core.admin_base.pages import Page
from apps.core.admin_base.panels import Panel, record_panel, register_panels
from apps.core.admin_base.record_admin import OVERVIEW, LookupAdmin, RecordAdmin, RecordAutocompleteView

__all__ = [
    "OVERVIEW",
    "ArchivedFilter",
    "ConditionFilter",
    "Conditions",
    "DateTimeRangeFilter",
    "LookupAdmin",
    "Page",
    "Panel",
    "RecordAdmin",
    "RecordAutocompleteView",
    "RecordForm",
    "fieldset",
    "record_panel",
    "register_panels",
]
