"""The back office's boards of sales: the pipeline by stage, my follow-ups, the funnel by source."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst

from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.write.drafts import ValidationFailed
from apps.people.models import Staff, Team
from apps.sales import counting
from apps.sales.advancing import finish_follow_up, move
from apps.sales.forms import FollowUpForm
from apps.sales.models import Opportunity, OpportunityStage, OpportunityType

#: How far back the funnel looks, in days; no number is all there is.
PERIODS = {"90": "the last 90 days", "365": "the last year", "all": "all time"}


class BoardFilter(forms.Form):
    """Whose opportunities the board shows, of which team and type; what is not understood is left out."""

    whose = forms.ChoiceField(choices=[("", "Everybody's"), ("mine", "Mine")], required=False)
    team = forms.ModelChoiceField(Team.objects.all(), required=False, empty_label="All teams")
    type = forms.ModelChoiceField(OpportunityType.objects.all(), required=False, empty_label="All types")

    def chosen(self, person: Any) -> QuerySet[Opportunity]:
        """The current opportunities that fit."""
        self.is_valid()
        asked = self.cleaned_data
        found = counting.current()
        if asked.get("whose") == "mine":
            found = found.filter(owner=person)
        return found.filter(**{name: asked[name] for name in ("team", "type") if asked.get(name)})


def shown(
    page: Any, request: HttpRequest, template: str, title: str, context: dict[str, Any]
) -> HttpResponse:
    """A page in the frame of the back office."""
    request.current_app = page.admin_site.name
    frame = {
        **page.admin_site.each_context(request),
        "title": title,
        "currency": Subscriber.current().currency,
        "may_change": page.has_change_permission(request),
        "today": clock.today(),
    }
    return TemplateResponse(request, template, {**frame, **context})


def check_may_view(page: Any, request: HttpRequest) -> None:
    if not page.has_view_permission(request):
        raise PermissionDenied


def board(page: Any, request: HttpRequest) -> HttpResponse:
    """The pipeline: a column for each stage with its sums and its latest opportunities."""
    check_may_view(page, request)
    asked = BoardFilter(request.GET)
    columns = counting.board(asked.chosen(request.user))
    context = {
        "columns": columns,
        "totals": counting.totals(columns),
        "stages": [column.stage for column in columns if not column.stage.is_archived],
        "asked": asked,
        "list_url": reverse("admin:sales_opportunity_changelist"),
        "here": request.GET.urlencode(),
    }
    return shown(page, request, "sales/board.html", "Pipeline", context)


def move_card(page: Any, request: HttpRequest) -> HttpResponse:
    """Put one opportunity of the board into another stage."""
    opportunity = changed_one(page, request)
    stage = get_object_or_404(OpportunityStage, pk=whole_number(request, "stage"), archive_date=None)
    done(request, lambda: move(opportunity, stage), f"{opportunity} is in {stage} now.", opportunity)
    query = request.POST.get("here", "")
    return redirect(f"{reverse('admin:sales_opportunity_board')}?{query}#opportunity-{opportunity.pk}")


def follow_ups(page: Any, request: HttpRequest) -> HttpResponse:
    """What is to be followed up: overdue, today, later this week."""
    check_may_view(page, request)
    everybodys = request.GET.get("whose") == "everybodys"
    person = request.user if isinstance(request.user, Staff) and not everybodys else None
    context = {
        "parts": counting.follow_ups(person),
        "everybodys": everybodys,
        "tomorrow": clock.today() + dt.timedelta(days=1),
    }
    title = "Everybody's follow-ups" if everybodys else "My follow-ups"
    return shown(page, request, "sales/follow_ups.html", title, context)


def follow_up_done(page: Any, request: HttpRequest) -> HttpResponse:
    """Note that a follow-up is done, and when the next one is."""
    opportunity = changed_one(page, request)
    form = FollowUpForm(request.POST)
    if form.is_valid():
        day = form.cleaned_data["next_day"]
        told = f"{opportunity}: done" + (f", next on {day:%d %b %Y}." if day else ".")
        done(request, lambda: finish_follow_up(opportunity, day), told, opportunity)
    else:
        messages.error(request, f"{opportunity}: the next date is no date.")
    whose = "?whose=everybodys" if request.POST.get("everybodys") else ""
    return redirect(f"{reverse('admin:sales_opportunity_follow_ups')}{whose}")


def funnel(page: Any, request: HttpRequest) -> HttpResponse:
    """How far opportunities of each source came, and how they ended."""
    check_may_view(page, request)
    period = request.GET.get("period", "365")
    period = period if period in PERIODS else "365"
    since = None if period == "all" else clock.now() - dt.timedelta(days=int(period))
    context = {"funnel": counting.funnel(since), "periods": PERIODS, "period": period}
    return shown(page, request, "sales/funnel.html", "Funnel and win rate", context)


# --- what the two posts share ---------------------------------------------------------------------------


def changed_one(page: Any, request: HttpRequest) -> Opportunity:
    """The current opportunity that a form names, for somebody who may change it."""
    if not page.has_change_permission(request):
        raise PermissionDenied
    return get_object_or_404(counting.current(), pk=whole_number(request, "opportunity"))


def whole_number(request: HttpRequest, name: str) -> int:
    """A number of a form; one that no record has when it is none."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def done(request: HttpRequest, act: Any, told: str, opportunity: Opportunity) -> None:
    """Do it and say so, or say why it cannot be."""
    try:
        act()
    except ValidationFailed as refused:
        for _, finding in refused.issues:
            place = finding.field if isinstance(finding.field, str) else str(finding.field[0])
            messages.error(request, f"{opportunity}: {capfirst(place.replace('_', ' '))}. {finding.message}")
        return
    messages.success(request, told)
