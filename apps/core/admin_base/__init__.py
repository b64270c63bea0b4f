"""The base of every page of the back office."""

from apps.core.admin_base.audit import AuditAdmin
from apps.core.admin_base.filters import (
    COUNT_LIMIT,
    AmountRangeFilter,
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    DateRangeFilter,
    DateTimeRangeFilter,
    RecordFilter,
)
from apps.core.admin_base.forms import DayField, RecordForm, fieldset
from apps.core.admin_base.home import HOME_PANELS, Figure, HomeContent, HomePanel, Work
from apps.core.admin_base.pages import Page, RecordLink
from apps.core.admin_base.panels import Panel, load_panels, record_panel, register_panels
from apps.core.admin_base.record_admin import OVERVIEW, LookupAdmin, RecordAdmin, RecordAutocompleteView
