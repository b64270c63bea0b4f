"""Forms of the back office for opportunities and their templates: what is not available is not sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Q

from apps.core.admin_base import RecordForm
from apps.odata.write.drafts import Draft
from apps.sales.models import OpportunityStage
from apps.sales.services import RESULT_MEMBERS, apply_defaults, apply_source_defaults
from apps.sales.validation import REFERRER, is_in_result_stage


class ProspectForm(RecordForm):
    """What both forms share: lists offer what is current, and the origin follows the source."""

    lists = ("team", "type", "stage")
    settled: tuple[str, ...] = ("source_details", *REFERRER)
    cleared: frozenset[str] = frozenset()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in self.lists:
            if name in self.fields:
                self.offer_what_is_current(name, [getattr(self.instance, f"{name}_id")])
        if "stage" in self.fields:
            wrapper: Any = self.fields["stage"].widget
            getattr(wrapper, "widget", wrapper).attrs["data-result"] = self.result_stage()

    def offer_what_is_current(self, name: str, chosen: Iterable[Any]) -> None:
        """Archived entries are offered only where they are chosen already."""
        field: Any = self.fields[name]
        field.queryset = field.queryset.filter(Q(archive_date=None) | Q(pk__in=[*chosen]))

    def result_stage(self) -> str:
        key = OpportunityStage.objects.filter(is_result=True).values_list("pk", flat=True).first()
        return str(key or "")

    def clean(self) -> dict[str, Any]:
        self.take_settled()
        return super().clean()

    def take_settled(self) -> None:
        """Put into the form what follows from its other members; what cannot be seen is taken out."""
        draft = self.draft()
        draft.given = frozenset()
        self.settle(draft)
        for name in self.settled:
            if name in self.cleaned_data and self.cleaned_data[name] and not draft.get(name):
                self.cleaned_data[name] = draft.get(name)
                self.cleared |= {name}

    def draft(self) -> Draft:
        """What was cleared here is given."""
        draft = super().draft()
        draft.given |= self.cleared
        return draft

    def settle(self, draft: Draft) -> None:
        apply_source_defaults(draft)


class TemplateForm(ProspectForm):
    """A template."""


class OpportunityForm(ProspectForm):
    """An opportunity; away from the result it has no outcome."""

    settled = (*ProspectForm.settled, *RESULT_MEMBERS)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "outcome_reasons" in self.fields:
            stands = self.instance.pk is not None
            held = self.instance.outcome_reasons.values_list("pk", flat=True) if stands else ()
            self.offer_what_is_current("outcome_reasons", held)
            field: Any = self.fields["outcome_reasons"]
            field.label_from_instance = lambda reason: f"{reason.get_outcome_display()}: {reason}"

    def settle(self, draft: Draft) -> None:
        if "outcome_reasons" in self.changed_data and "stage" in draft.__dict__ and is_in_result_stage(draft):
            draft.given |= {
                "outcome_reasons"
            }  # chosen here: those of another outcome are refused, not dropped
        apply_defaults(draft)


class FollowUpForm(forms.Form):
    """When to follow up next; nothing means that there is no need."""

    next_date = forms.DateField(required=False)
