"""Forms of what actions on claims, invoices and provider invoices ask for."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.core.models import Subscriber


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(max_length=400, widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}))


class HoldForm(ReasonForm):
    """Why bills are put on hold: a reason of the organisation's list, or another."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.suggestions = Subscriber.current().hold_reason_list
        self.fields["reason"].widget.attrs["list"] = "suggestions"
        self.fields["reason"].help_text = "Choose one of your organisation's reasons, or write another."

    def clean_reason(self) -> str:
        """In the spelling of the list, so that the bills on hold for one reason are one group."""
        reason = " ".join(self.cleaned_data["reason"].split())
        return {each.casefold(): each for each in self.suggestions}.get(reason.casefold(), reason)
