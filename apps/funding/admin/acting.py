"""Verbs on the records of a list: on those chosen, on all of a filter, on one; refused ones are listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.funding.admin.bill_lists import Administered
from apps.odata.write.drafts import ValidationFailed

#: As many records as one click moves; who has more clicks again.
MOST_AT_ONCE = 5_000
#: As many refused ones as a page lists.
MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Offered:
    """A verb as a button offers it; ``asks``: a page comes first that asks for what it needs."""

    name: str
    label: str
    asks: bool = False


@dataclass(slots=True)
class Outcome:
    """What became of a verb on many: how many it was done to, and why not to the others."""

    done: int = 0
    refused: list[tuple[Any, str, str]] = field(default_factory=list)  # (key, label, message)
    made: dict[Any, Any] = field(default_factory=dict)  # what a record was made anew as, by its key


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(max_length=400, widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}))


class ActsOnMany(Administered):
    """A list and a record's page with buttons for verbs."""

    actions: ClassVar[Any] = ()

    # --- what a subclass says

    def offered_for_many(self, request: HttpRequest) -> Sequence[Offered]:
        """The verbs for rows of the list as it is shown now."""
        raise NotImplementedError

    def offered_for_one(self, request: HttpRequest, record: Any) -> Sequence[Offered]:
        """The verbs that this record allows this person."""
        raise NotImplementedError

    def do(self, request: HttpRequest, keys: Sequence[Any], name: str, told: dict[str, Any]) -> Outcome:
        """Do it. Raises ``Refused`` when it could be done to none."""
        raise NotImplementedError

    def told_of(self, record: Any) -> str:
        """What a page that asks about one record says of it."""
        return f"{self.opts.verbose_name.capitalize()} {record}"

    def form_for(self, name: str, record: Any = None) -> type[forms.Form]:
        """What a verb asks."""
        return ReasonForm

    # --- many

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        if not self.has_change_permission(request) or "_popup" in request.GET:
            return {}
        return {
            verb.name: (partial(self._run, verb), verb.name, f"{verb.label}…" if verb.asks else verb.label)
            for verb in self.offered_for_many(request)
        }

    def _run(
        self, verb: Offered, page: Any, request: HttpRequest, chosen: QuerySet[Any]
    ) -> HttpResponse | None:
        """Do a verb to the chosen records, once it is told what it asks."""
        told: dict[str, Any] = {}
        if verb.asks:
            form = self.form_for(verb.name)(request.POST if "_do" in request.POST else None)
            if not form.is_valid():
                return self._asking_for_many(request, verb, form, chosen)
            told = form.cleaned_data
        keys = list(chosen.order_by("pk").values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
        return self._result(request, verb, keys, told)

    def _asking_for_many(
        self, request: HttpRequest, verb: Offered, form: forms.Form, chosen: QuerySet[Any]
    ) -> HttpResponse:
        count = min(chosen.order_by().count(), MOST_AT_ONCE)
        keys = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        hidden = [
            ("action", verb.name),
            ("index", "0"),
            ("select_across", request.POST.get("select_across", "0")),
            *((helpers.ACTION_CHECKBOX_NAME, key) for key in keys),
        ]
        noun = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        address = request.get_full_path()
        return self._page(
            request,
            "funding/asking.html",
            {
                "title": f"{verb.label}: {count:,} {noun}",
                "told": f"{count:,} {noun} chosen.",
                "label": verb.label,
                "form": form,
                "hidden": hidden,
                "address": address,
                "back": address,
            },
        )

    def _result(
        self, request: HttpRequest, verb: Offered, keys: list[Any], told: dict[str, Any]
    ) -> HttpResponse | None:
        left_out = len(keys) > MOST_AT_ONCE
        try:
            outcome = self.do(request, keys[:MOST_AT_ONCE], verb.name, told)
        except ValidationFailed as refused:
            tell(request, refused)
            return None
        if not outcome.refused and not left_out:
            noun = self.opts.verbose_name if outcome.done == 1 else self.opts.verbose_name_plural
            self.message_user(request, f"{verb.label}: {outcome.done:,} {noun}.", messages.SUCCESS)
            return None
        return self._page(
            request,
            "funding/result.html",
            {
                "title": f"{verb.label}: {outcome.done:,} done, {len(outcome.refused):,} refused",
                "label": verb.label,
                "done": outcome.done,
                "refused": [
                    {"label": label, "message": message, "link": self.page_url("change", key)}
                    for key, label, message in outcome.refused[:MOST_LISTED]
                ],
                "refused_count": len(outcome.refused),
                "left_out": f"{MOST_AT_ONCE:,} go at once; do it again for the rest." if left_out else "",
                "back": request.get_full_path(),
            },
        )

    # --- one

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.verb_view)
        ours = path("<uuid:object_id>/do/<str:name>/", view, name=self.url_name("do"))
        return [ours, *super().get_urls()]

    def verbs_context(self, request: HttpRequest, record: Any) -> list[dict[str, Any]]:
        """The buttons on a record's page."""
        if not self.has_change_permission(request, record):
            return []
        return [
            {
                "label": verb.label,
                "asks": verb.asks,
                "address": reverse(f"admin:{self.url_name('do')}", args=[record.pk, verb.name]),
            }
            for verb in self.offered_for_one(request, record)
        ]

    def verb_view(self, request: HttpRequest, object_id: Any, name: str) -> HttpResponse:
        """Do a verb to one record, asking first what it asks."""
        record = self.get_object(request, str(object_id))
        if record is None:
            raise Http404
        if not self.has_change_permission(request, record):
            raise PermissionDenied
        back = self.page_url("change", record.pk)
        verb = next((each for each in self.offered_for_one(request, record) if each.name == name), None)
        if verb is None:
            self.message_user(request, f"{record} has moved on: that is not possible now.", messages.ERROR)
            return redirect(back)
        form = self.form_for(name, record)(request.POST if request.method == "POST" else None)
        if (verb.asks and not form.is_valid()) or request.method != "POST":
            context: dict[str, Any] = {
                "title": f"{verb.label}: {record}",
                "told": self.told_of(record),
                "label": verb.label,
                "form": form if verb.asks else None,
                "hidden": [],
                "address": "",
                "back": back,
            }
            return self._page(request, "funding/asking.html", context)
        told = form.cleaned_data if verb.asks else {}
        try:
            outcome = self.do(request, [record.pk], name, told)
        except ValidationFailed as refused:
            tell(request, refused)
            return redirect(back)
        for _, _, message in outcome.refused:
            self.message_user(request, message, messages.ERROR)
        if outcome.done:
            self.message_user(request, f"{verb.label}: done.", messages.SUCCESS)
        return redirect(self.page_url("change", outcome.made.get(record.pk, record.pk)))

    def _page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        request.current_app = self.admin_site.name
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "media": self.media}
        return TemplateResponse(request, template, {**frame, **context})


def tell(request: HttpRequest, refused: ValidationFailed) -> None:
    """Why nothing was done, as messages."""
    for _, finding in refused.issues:
        messages.error(request, finding.message)
