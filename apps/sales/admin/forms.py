"""Forms of opportunities and their templates: values that are not available are not sent."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.db.models import Q

from apps.base.drafts import Draft
from apps.core.admin_base import RecordForm
from apps.sales.models import OpportunityStage
from apps.sales.services import unavailable_members
from apps.sales.validation import AVAILABILITY, AVAILABILITY_BY_SOURCE, Availability


class TemplateForm(RecordForm):
    """Lists offer current entries; the page's script hides what the source makes unavailable."""

    availability: ClassVar[Availability] = AVAILABILITY_BY_SOURCE

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        for name in ("team", "type", "stage"):
            if name in self.fields:
                self.offer_current_entries(name, [getattr(self.instance, f"{name}_id")])
        if "stage" in self.fields:
            wrapper: Any = self.fields["stage"].widget
            result = OpportunityStage.objects.filter(is_result=True).values_list("pk", flat=True).first()
            getattr(wrapper, "widget", wrapper).attrs["data-result"] = str(result or "")

    def offer_current_entries(self, name: str, chosen: Iterable[object]) -> None:
        """Archived entries are offered only where they are chosen already."""
        field: Any = self.fields[name]
        field.queryset = field.queryset.filter(Q(archive_date=None) | Q(pk__in=[*chosen]))

    def clean(self) -> dict[str, Any]:
        # A hidden field may have text from before it was hidden; the model's constraints would refuse it.
        for name in unavailable_members(super().draft(), self.availability) & self.cleaned_data.keys():
            self.cleaned_data[name] = [] if name == "outcome_reasons" else None
        return super().clean()

    def draft(self) -> Draft:
        draft = super().draft()
        draft.given -= unavailable_members(draft, self.availability)
        return draft


class OpportunityForm(TemplateForm):
    """Outcome and what depends on it are available in the result stage only."""

    availability = AVAILABILITY

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        if "outcome_reasons" in self.fields:
            chosen = () if self.is_new else self.instance.outcome_reasons.values_list("pk", flat=True)
            self.offer_current_entries("outcome_reasons", chosen)
            field: Any = self.fields["outcome_reasons"]
            field.label_from_instance = lambda reason: f"{reason.get_outcome_display()}: {reason}"
