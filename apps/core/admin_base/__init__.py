"""The base of every page of the back office."""

from apps.core.admin_base.filters import ArchivedFilter, ConditionFilter, Conditions, DateTimeRangeFilter
from apps.core.admin_base.forms import RecordForm, fieldset
from apps.core.admin_base.pages import Page
from apps.core.admin_base.record_admin import LookupAdmin, RecordAdmin, RecordAutocompleteView

__all__ = [
    "ArchivedFilter",
    "ConditionFilter",
    "Conditions",
    "DateTimeRangeFilter",
    "LookupAdmin",
    "Page",
    "RecordAdmin",
    "RecordAutocompleteView",
    "RecordForm",
    "fieldset",
]
