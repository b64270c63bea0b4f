"""Actions on one record, on selected ones of a list, or on all of a filter; refused records are listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets, helpers
from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.core.admin_base import COUNT_LIMIT, Page, RecordAdmin
from apps.core.admin_base.display import two_lines
from apps.core.admin_base.lists import RecordChangeList
from apps.core.models import Subscriber
from apps.funding.admin.queues import STATUS
from apps.funding.choices import ADMINISTER_PERMISSION
from apps.funding.models import ZERO
from apps.funding.services.transitions import RefusedTransition
from apps.odata.write.drafts import ValidationFailed

MENU = "Funding"

#: More in one go would keep everybody waiting; all of a larger filter are done in several goes.
ACTION_LIMIT = 5_000
#: As many refused records as a page lists.
LISTED_REFUSALS = 1_000

#: The page that runs an action on one record, asking first for what it needs.
ACTION_PAGE = Page("do/<str:name>", permission="change")


def may_administer(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(ADMINISTER_PERMISSION))


@dataclass(frozen=True, slots=True)
class ActionButton:
    """The button of an action; ``asks_first``: a page with a form comes first."""

    name: str
    label: str
    asks_first: bool = False


@dataclass(slots=True)
class ActionOutcome:
    """How many records were changed, and why not the others; keys of new records by their originals'."""

    done: int = 0
    refused: Sequence[RefusedTransition] = ()
    created: Mapping[Any, Any] = field(default_factory=dict)
    #: What is to be known about those that were changed.
    note: str = ""


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


class SummedChangeList(RecordChangeList):
    """A list with the number and the sum of all that its filters leave.

    Without a filter there may be millions, whose sum nobody asks for: it is left out beyond the limit.
    """

    sum: Decimal | None = None
    sum_count: int = 0

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if self.has_active_filters or self.query or self.result_count < COUNT_LIMIT:
            column = self.model_admin.sum_column
            sums = self.queryset.order_by().aggregate(count=Count("pk"), sum=Sum(column))
            self.sum, self.sum_count = sums["sum"] or ZERO, sums["count"]


class ActionAdmin(RecordAdmin):
    """A list with a tab for each status, and a record's page, with buttons for actions."""

    menu_group = MENU
    actions: ClassVar[Any] = ()
    record_pages: ClassVar[Any] = (ACTION_PAGE, *RecordAdmin.record_pages)
    status_labels: ClassVar[Mapping[str, str]]
    #: The amounts that are summed below the tabs.
    sum_column: ClassVar[str] = "total"
    action_labels: ClassVar[Mapping[str, str]]
    #: Of the list of one status, which begins with its oldest.
    queue_ordering: ClassVar[Sequence[str]]
    show_facets = ShowFacets.NEVER  # the tabs count; facets would count every choice of every filter
    list_before_template = "funding/tabs.html"
    ordering: ClassVar[Any] = ("-creation_date", "-guid")
    search_fields = ("pk",)  # see get_search_results of the subclasses

    class Media:
        css: ClassVar[Any] = {"all": ("documents.css", "funding.css")}

    # --- hooks of a subclass

    def tabs_context(self, request: HttpRequest) -> dict[str, Any]:
        """The tabs of the statuses with their counts."""
        raise NotImplementedError

    def list_buttons(self, request: HttpRequest) -> Sequence[ActionButton]:
        """The actions for the rows of the list as it is shown now."""
        raise NotImplementedError

    def record_buttons(self, request: HttpRequest, record: Any) -> Sequence[ActionButton]:
        """The actions that this record allows this person."""
        raise NotImplementedError

    def run_action(
        self, request: HttpRequest, keys: Sequence[Any], name: str, answers: dict[str, Any]
    ) -> ActionOutcome:
        """Call the service. Raises ``ValidationFailed`` when no record can be changed."""
        raise NotImplementedError

    def record_summary(self, record: Any) -> str:
        """The sentence about one record on a page that asks first."""
        return f"{self.opts.verbose_name.capitalize()} {record}"

    def question_form(self, name: str) -> type[forms.Form]:
        """The form of an action."""
        return ReasonForm

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Also for those who may "view/administer funding invoices", as the interface calls it."""
        return may_administer(request) or super().has_view_permission(request, obj)

    def question_context(self, record: Any, name: str) -> dict[str, Any]:
        """What the page that asks before an action on one record shows besides its summary."""
        return {}

    # --- the list

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        return SummedChangeList

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        return self.queue_ordering if request.GET.get(STATUS) else super().get_ordering(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        tabs = self.tabs_context(request) if self.has_view_permission(request) else {}
        return super().changelist_view(request, {**tabs, **(extra_context or {})})

    @display(description="participant", ordering="contact__last_name")
    def participant(self, record: Any) -> str | None:
        return two_lines(record.contact, record.contact.scheme_number) if record.contact else None

    # --- actions on many records

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The usual ``actions`` of an admin class, and the buttons."""
        actions: dict[str, Any] = super().get_actions(request)
        if not self.has_change_permission(request) or "_popup" in request.GET:
            return actions
        for button in self.list_buttons(request):
            label = f"{button.label}…" if button.asks_first else button.label
            actions[button.name] = (partial(self.list_action, button), button.name, label)
        return actions

    def list_action(
        self, button: ActionButton, page: Any, request: HttpRequest, selected: QuerySet[Any]
    ) -> HttpResponse | None:
        back = request.get_full_path()
        answers: dict[str, Any] = {}
        if button.asks_first:
            form = self.question_form(button.name)(request.POST if "_do" in request.POST else None)
            if not form.is_valid():
                label = self.count_label(min(selected.order_by().count(), ACTION_LIMIT))
                hidden = [
                    ("action", button.name),
                    ("index", "0"),
                    ("select_across", request.POST.get("select_across", "0")),
                    *(
                        (helpers.ACTION_CHECKBOX_NAME, key)
                        for key in request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
                    ),
                ]
                return self.question_page(
                    request, button, form, label, summary=f"{label} selected.", hidden=hidden, back=back
                )
            answers = form.cleaned_data
        keys = list(selected.order_by("pk").values_list("pk", flat=True)[: ACTION_LIMIT + 1])
        try:
            outcome = self.run_action(request, keys[:ACTION_LIMIT], button.name, answers)
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
            return None
        is_partial = len(keys) > ACTION_LIMIT
        if not outcome.refused and not is_partial:
            text = f"{button.label}: {self.count_label(outcome.done)}. {outcome.note}".strip()
            self.message_user(request, text, messages.SUCCESS)
            return None
        refused = [
            {"label": each.label, "message": each.message, "link": self.page_url("change", each.key)}
            for each in outcome.refused[:LISTED_REFUSALS]
        ]
        return self.render_page(
            request,
            "funding/action_result.html",
            f"{button.label}: {outcome.done:,} done, {len(outcome.refused):,} refused",
            label=button.label,
            done=outcome.done,
            note=outcome.note,
            refused=refused,
            refused_count=len(outcome.refused),
            remainder=f"{ACTION_LIMIT:,} go at once; do it again for the rest." if is_partial else "",
            back=back,
        )

    def question_page(
        self, request: HttpRequest, button: ActionButton, form: forms.Form | None, label: str, **context: Any
    ) -> HttpResponse:
        """The page that asks for what an action needs before it is run."""
        return self.render_page(
            request,
            "funding/action_form.html",
            f"{button.label}: {label}",
            label=button.label,
            form=form,
            **context,
        )

    def count_label(self, count: int) -> str:
        return f"{count:,} {self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural}"

    # --- an action on one record

    def do_page(self, request: HttpRequest, record: Any, name: str) -> HttpResponse:
        """Run an action on one record, asking first for what it needs."""
        back = self.page_url("change", record.pk)
        button = next((each for each in self.record_buttons(request, record) if each.name == name), None)
        if button is None:
            self.message_user(request, f"{record} has changed: that is not possible now.", messages.ERROR)
            return redirect(back)
        form = None
        if button.asks_first:
            form = self.question_form(name)(request.POST if request.method == "POST" else None)
        if request.method != "POST" or (form is not None and not form.is_valid()):
            summary = self.record_summary(record)
            context = self.question_context(record, name)
            return self.question_page(
                request, button, form, str(record), record=record, summary=summary, back=back, **context
            )
        try:
            outcome = self.run_action(request, [record.pk], name, form.cleaned_data if form else {})
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
            return redirect(back)
        for each in outcome.refused:
            self.message_user(request, each.message, messages.ERROR)
        if outcome.done:
            text = f"{button.label}: done. {outcome.note}".strip()
            self.message_user(request, text, messages.SUCCESS)
        return redirect(self.page_url("change", outcome.created.get(record.pk, record.pk)))

    def status_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """The buttons on a record's page, and its status history."""
        buttons = self.record_buttons(request, record) if self.has_change_permission(request, record) else []
        return {
            "buttons": [
                {
                    "label": button.label,
                    "asks_first": button.asks_first,
                    "address": self.page_url("do", record.pk, button.name),
                }
                for button in buttons
            ],
            "moves": [
                {
                    "label": self.action_labels.get(move.verb, move.verb),
                    "from": self.status_labels.get(move.from_status, move.from_status),
                    "to": self.status_labels.get(move.to_status, move.to_status),
                    "reason": move.reason,
                    "who": move.staff or move.application or "System",
                    "at": move.at,
                }
                for move in record.moves.select_related("staff")
            ],
        }
