"""Actions on one record, on selected ones of a list, or on all of a filter; refused records are listed."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets, helpers
from django.db.models import Count, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.base.batched_queries import AnyOf
from apps.base.drafts import ValidationFailed
from apps.base.money import ZERO
from apps.core.admin_base import COUNT_LIMIT, Page, RecordAdmin
from apps.core.admin_base.display import two_lines
from apps.core.admin_base.lists import RecordChangeList
from apps.core.admin_base.pages import sees_everybody
from apps.core.computed import MoneySum
from apps.funding.admin.action_forms import ReasonForm
from apps.funding.admin.queues import LAPSE_ORDERING, STATUS, WINDOW
from apps.funding.admin.reviews import CONFIRM, SHOWN, ActionReview, ConfirmedReview, ReviewedRecord
from apps.funding.admin.rights import may_administer
from apps.funding.models import ProviderInvoice
from apps.funding.services.transition_requests import RefusedTransition, ShownWarnings
from apps.funding.validation.guards import AnyBill, lower_first
from apps.funding.validation.warning_codes import ShownWarning

MENU = "Funding"

#: More in one go would keep everybody waiting; all of a larger filter are done in several goes.
ACTION_LIMIT = 5_000
#: As many refused records as a page lists.
LISTED_REFUSALS = 1_000

CHANGED_MEANWHILE = (
    "Changed by somebody after you were shown what would be done. Look at it, then do it again."
)
NONE_CHOSEN = "Nothing was done: none of what was chosen is in this list now."
STALE_REVIEW = "Nothing was done: the page that you confirmed is out of date. Choose the records again."

#: The page that runs an action on one record, asking first for what it needs.
ACTION_PAGE = Page("do/<str:name>", permission="change")


@dataclass(frozen=True, slots=True)
class ActionButton:
    """The button of an action; ``asks_first``: a page with a form comes first.

    ``is_final``: nothing takes the action back for many records at once. Of many, those with warnings are
    left out unless they are ticked.
    """

    name: str
    label: str
    asks_first: bool = False
    is_final: bool = False

    @property
    def is_reviewed(self) -> bool:
        """For many records, a page shows first what the action will do."""
        return self.asks_first or self.is_final


@dataclass(slots=True)
class ActionOutcome:
    """How many records were changed, and why not the others; keys of new records by their originals'."""

    done: int = 0
    refused: Sequence[RefusedTransition] = ()
    created: Mapping[UUID, UUID] = field(default_factory=dict)
    #: What is to be known about those that were changed.
    note: str = ""


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
            sums = self.queryset.order_by().aggregate(count=Count("pk"), sum=MoneySum(column))
            self.sum, self.sum_count = sums["sum"] or ZERO, sums["count"]


class ActionAdmin(RecordAdmin):
    """A list with a tab for each status, and a record's page, with buttons for actions."""

    menu_group = MENU
    actions = ()
    record_pages = (ACTION_PAGE, *RecordAdmin.record_pages)
    status_field: ClassVar[str] = "funding_status"
    status_labels: ClassVar[Mapping[str, str]]
    #: The amounts that are summed below the tabs.
    sum_column: ClassVar[str] = "total"
    action_labels: ClassVar[Mapping[str, str]]
    #: Of the list of one status, which begins with its oldest.
    queue_ordering: ClassVar[Sequence[str]]
    show_facets = ShowFacets.NEVER  # the tabs count; facets would count every choice of every filter
    list_before_template = "funding/tabs.html"
    ordering = ("-creation_date", "-guid")

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ("documents.css", "funding.css")}

    # --- hooks of a subclass

    def tabs_context(self, request: HttpRequest) -> dict[str, object]:
        """The tabs of the statuses with their counts."""
        raise NotImplementedError

    def list_buttons(self, request: HttpRequest) -> Sequence[ActionButton]:
        """The actions for the rows of the list as it is shown now."""
        raise NotImplementedError

    def record_buttons(self, request: HttpRequest, record: Model) -> Sequence[ActionButton]:
        """The actions that this record allows this person."""
        raise NotImplementedError

    def run_action(
        self, request: HttpRequest, keys: Sequence[UUID], name: str, answers: dict[str, object]
    ) -> ActionOutcome:
        """Call the service. Raises ``ValidationFailed`` when no record can be changed."""
        raise NotImplementedError

    def find_refusals(self, request: HttpRequest, records: Sequence[Model], name: str) -> Mapping[UUID, str]:
        """Why an action would be refused now, by the keys of the records that it is not possible for."""
        return {}

    def explain_obstacle(self, request: HttpRequest, record: Model, name: str) -> str | None:
        """Why this person cannot do what the status of a record allows; ``None`` when the status does not."""
        if may_administer(request):
            return None
        return "Your role lacks the permission to administer funding invoices."

    def find_warned(self, records: Sequence[Model], name: str) -> ShownWarnings:
        """The warnings of those records that have any, by their keys."""
        return {}

    def asks_again(self, request: HttpRequest, record: Model, name: str) -> bool:
        """True when a press of a button of the record's page is asked about first after all."""
        return False

    def action_amount(self, record: Model, name: str) -> Decimal:
        """The money that an action is about."""
        return getattr(record, self.sum_column) or ZERO

    def record_summary(self, record: Model) -> str:
        """The sentence about one record on a page that asks first."""
        return f"{self.opts.verbose_name.capitalize()} {record}"

    def question_form(self, name: str, record: Model | None = None) -> Callable[..., forms.Form]:
        """The form of an action, on one record or on many, which is called with what was sent."""
        return ReasonForm

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Also for those who may "view/administer funding invoices", as the interface calls it."""
        return may_administer(request) or super().has_view_permission(request, obj)

    def question_context(self, request: HttpRequest, record: Model, name: str) -> dict[str, object]:
        """The variables of the page that asks before an action on one record, besides its summary."""
        return {}

    # --- the list

    def get_changelist(self, request: HttpRequest, **options: object) -> type[SummedChangeList]:
        return SummedChangeList

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        if request.GET.get(WINDOW) and self.model in LAPSE_ORDERING:
            return LAPSE_ORDERING[self.model]
        return self.queue_ordering if request.GET.get(STATUS) else super().get_ordering(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        tabs = self.tabs_context(request) if self.has_view_permission(request) else {}
        return super().changelist_view(request, {**tabs, **(extra_context or {})})

    @display(description="participant", ordering="contact__last_name")
    def participant(self, record: AnyBill | ProviderInvoice) -> str | None:
        return two_lines(record.contact, record.contact.scheme_number) if record.contact else None

    # --- actions on many records

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """The usual ``actions`` of an admin class, and the buttons."""
        actions: dict[str, object] = super().get_actions(request)
        if not self.has_change_permission(request) or "_popup" in request.GET:
            return actions
        for button in self.list_buttons(request):
            label = f"{button.label}…" if button.is_reviewed else button.label
            actions[button.name] = (partial(self.list_action, button), button.name, label)
        return actions

    def list_action(
        self, button: ActionButton, page: object, request: HttpRequest, selected: QuerySet[Model]
    ) -> HttpResponse | None:
        if button.is_reviewed:
            return self.reviewed_action(button, request, selected)
        keys, remainder = limited_selection(selected)
        return self.run_list_action(button, request, keys, {}, remainder)

    def reviewed_action(
        self, button: ActionButton, request: HttpRequest, selected: QuerySet[Model]
    ) -> HttpResponse | None:
        """Show what the action will do, and ask for what it needs; once that is confirmed, run it."""
        is_confirmed = CONFIRM in request.POST
        form = None
        if button.asks_first:
            form = self.question_form(button.name)(request.POST if is_confirmed else None)
        if not is_confirmed:
            keys, remainder = limited_selection(selected)
            if not keys:
                self.message_user(request, NONE_CHOSEN, messages.WARNING)
                return None
            return self.review_page(button, request, keys, form, summary=remainder)
        confirmed = ConfirmedReview.read(request, button.name)
        if confirmed is None:
            self.message_user(request, STALE_REVIEW, messages.ERROR)
            return None
        if not sees_everybody(request):
            visible = self.get_queryset(request).filter(AnyOf("pk", confirmed.shown))
            confirmed = confirmed.within(set(visible.values_list("pk", flat=True)))
        if form is not None and not form.is_valid():
            return self.review_page(button, request, list(confirmed.shown), form, confirmed.keys)
        changed = self.changed_records(request, confirmed, button.name)
        keys = [key for key in confirmed.keys if key not in changed]
        left_out = ""
        if confirmed.left_out:
            left_out = f"{self.count_label(confirmed.left_out)} with warnings left out: not ticked."
        answers = form.cleaned_data if form is not None else {}
        return self.run_list_action(button, request, keys, answers, left_out, changed.values())

    def changed_records(
        self, request: HttpRequest, confirmed: ConfirmedReview, name: str
    ) -> dict[UUID, RefusedTransition]:
        """The records that are not any more what was shown, or for which the action has become possible."""
        found = self.model._default_manager.filter(AnyOf("pk", confirmed.keys)).order_by("pk")
        records = list(found.select_related(*(self.list_select_related or ())))
        refused = [record for record in records if record.pk in confirmed.refused]
        refusals = self.find_refusals(request, refused, name) if refused else {}
        possible_now = {record.pk for record in refused if record.pk not in refusals}
        return {
            record.pk: RefusedTransition(record.pk, str(record), CHANGED_MEANWHILE)
            for record in records
            if confirmed.is_changed(record) or record.pk in possible_now
        }

    def run_list_action(
        self,
        button: ActionButton,
        request: HttpRequest,
        keys: Sequence[UUID],
        answers: dict[str, object],
        remainder: str,
        changed: Iterable[RefusedTransition] = (),
    ) -> HttpResponse | None:
        """Run an action on many records, and say what was done and what was not.

        ``remainder``: why others of the selection were not tried; ``changed``: those that are refused anyway.
        """
        outcome = ActionOutcome()
        try:
            if keys:
                outcome = self.run_action(request, keys, button.name, answers)
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
            return None
        outcome.refused = [*changed, *outcome.refused]
        return self.show_outcome(button, request, outcome, remainder)

    def show_outcome(
        self, button: ActionButton, request: HttpRequest, outcome: ActionOutcome, remainder: str
    ) -> HttpResponse | None:
        """A message of what was done, or a page with what was refused."""
        refusals = outcome.refused
        note = " ".join(filter(None, (outcome.note, remainder)))
        if not refusals:
            text = f"{button.label}: {self.count_label(outcome.done)}. {note}".strip()
            self.message_user(request, text, messages.WARNING if remainder else messages.SUCCESS)
            return None
        refused = [
            {"label": each.label, "message": each.message, "link": self.page_url("change", each.key)}
            for each in refusals[:LISTED_REFUSALS]
        ]
        return self.render_page(
            request,
            "funding/action_result.html",
            f"{button.label}: {outcome.done:,} done, {len(refusals):,} refused",
            label=button.label,
            done=outcome.done,
            note=note,
            refused=refused,
            refused_count=len(refusals),
            shown_records={self.model: [each.key for each in refusals[:LISTED_REFUSALS]]},
            back=request.get_full_path(),
        )

    def review_page(
        self,
        button: ActionButton,
        request: HttpRequest,
        keys: Sequence[UUID],
        form: forms.Form | None,
        ticked: Sequence[UUID] = (),
        summary: str = "",
    ) -> HttpResponse:
        review = self.review(button, request, keys, ticked)
        hidden = [
            ("action", button.name),
            ("index", "0"),
            # Django runs no action without a selection. What is confirmed are the records of the review.
            *((helpers.ACTION_CHECKBOX_NAME, str(key)) for key in keys[:1]),
            (SHOWN, review.sign(request, button.name)),
        ]
        return self.question_page(
            request,
            button.label,
            form,
            self.count_label(len(keys)),
            summary=summary,
            review=review,
            possible_label=self.count_label(len(review.possible)),
            shown_records={self.model: keys},
            hidden=hidden,
            back=request.get_full_path(),
        )

    def review(
        self, button: ActionButton, request: HttpRequest, keys: Sequence[UUID], ticked: Sequence[UUID]
    ) -> ActionReview:
        """A review of the action's effect, as far as can be said now; the statements are constant."""
        review, chosen = ActionReview(), set(ticked)
        found = self.model._default_manager.filter(AnyOf("pk", keys)).order_by(*self.queue_ordering)
        records = list(found.select_related(*(self.list_select_related or ())))
        refusals = self.find_refusals(request, records, button.name)
        warnings = self.find_warned(records, button.name) if button.is_final else {}
        for record in records:
            amount = self.action_amount(record, button.name)
            refusal, warned = refusals.get(record.pk, ""), warnings.get(record.pk, ())
            if not (refusal or warned):
                review.possible.append(record)
                review.sum += amount
                continue
            link = self.page_url("change", record.pk)
            rows = review.refused if refusal else review.warned
            rows.append(ReviewedRecord(record, link, amount, warned, refusal, record.pk in chosen))
        return review

    def question_page(
        self, request: HttpRequest, label: str, form: forms.Form | None, records: str, **context: object
    ) -> HttpResponse:
        """The page that asks for what an action needs before it is run: with the labels of both."""
        title, template = f"{label}: {records}", "funding/action_form.html"
        return self.render_page(request, template, title, label=label, form=form, **context)

    def count_label(self, count: int) -> str:
        return f"{count:,} {self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural}"

    # --- an action on one record

    def do_page(self, request: HttpRequest, record: Model, name: str) -> HttpResponse:
        """Run an action on one record, asking first for what it needs."""
        if name not in self.action_labels:
            raise Http404
        is_sent = request.method == "POST"
        form = self.question_form(name, record)(request.POST if is_sent else None)
        button = self.find_button(request, record, name)
        problems: list[str] = []
        if button is not None and is_sent and form.is_valid() and not self.asks_again(request, record, name):
            outcome, problems = self.try_action(request, record, name, form.cleaned_data)
            if not problems:
                text = f"{button.label}: done. {outcome.note}".strip()
                self.message_user(request, text, messages.SUCCESS)
                return redirect(self.page_url("change", outcome.created.get(record.pk, record.pk)))
            record = self.get_object(request, str(record.pk)) or record
            button = self.find_button(request, record, name)
        is_form_shown = is_sent and bool(form.fields)
        if button is None:
            problems = [self.explain_impossible(request, record, name, is_form_shown)]
        back = self.page_url("change", record.pk)
        if problems and not is_form_shown:
            for problem in problems:
                self.message_user(request, problem, messages.ERROR)
            return redirect(back)
        return self.question_page(
            request,
            button.label if button is not None else self.action_labels[name],
            form,
            str(record),
            record=record,
            summary=self.record_summary(record),
            problems=problems,
            is_impossible=button is None,
            back=back,
            **self.question_context(request, record, name),
        )

    def find_button(self, request: HttpRequest, record: Model, name: str) -> ActionButton | None:
        return next((each for each in self.record_buttons(request, record) if each.name == name), None)

    def try_action(
        self, request: HttpRequest, record: Model, name: str, answers: dict[str, object]
    ) -> tuple[ActionOutcome, list[str]]:
        """Run an action on one record; with the sentences why it was not done."""
        try:
            outcome = self.run_action(request, [record.pk], name, answers)
        except ValidationFailed as failed:
            return ActionOutcome(), list(dict.fromkeys(issue.message for _, issue in failed.issues))
        return outcome, [each.message for each in outcome.refused]

    def explain_impossible(
        self, request: HttpRequest, record: Model, name: str, is_form_shown: bool
    ) -> SafeString:
        """Why a record does not allow an action, or not to this person; the form may stay shown."""
        obstacle = self.explain_obstacle(request, record, name) or ""
        sentence = format_html(
            "{} is {}. “{}” was not done.", record, self.describe_status(record), self.action_labels[name]
        )
        if not is_form_shown:
            return format_html("{} {}", sentence, obstacle)
        page = format_html(
            '<a class="rs-link" href="{}" target="_blank">its page</a>', self.page_url("change", record.pk)
        )
        return format_html(
            "{} {} What you entered is still below; what can be done now is on {}.", sentence, obstacle, page
        )

    def describe_status(self, record: Any) -> str:
        """``on hold since 20 Aug 2026, 10:01 a.m. (Cora Smith)``; without a history, the status alone."""
        status = self.status_labels.get(getattr(record, self.status_field), "")
        status = "archived" if record.is_archived else lower_first(status)
        move = record.moves.select_related("staff").first()
        if move is None:
            return status
        return f"{status} since {format_moment(move.at)} ({move.staff or move.application or 'System'})"

    def status_context(self, request: HttpRequest, record: AnyBill | ProviderInvoice) -> dict[str, object]:
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
                    "amount": move.money_moved,
                    "warnings": None if move.warnings is None else [ShownWarning(**w) for w in move.warnings],
                    "who": move.staff or move.application or "System",
                    "at": move.at,
                }
                for move in record.moves.select_related("staff")
            ],
        }


def format_moment(at: dt.datetime) -> str:
    return formats.date_format(timezone.localtime(at), "DATETIME_FORMAT")


def limited_selection(selected: QuerySet[Model]) -> tuple[list[UUID], str]:
    """The keys of what is selected, as many as go at once, and what to say of the others."""
    keys = list(selected.order_by("pk").values_list("pk", flat=True)[: ACTION_LIMIT + 1])
    if len(keys) <= ACTION_LIMIT:
        return keys, ""
    return keys[:ACTION_LIMIT], f"{ACTION_LIMIT:,} go at once; do it again for the rest."
