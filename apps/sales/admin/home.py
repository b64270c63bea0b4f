"""The panels of the home page about follow-ups and the pipeline."""

import datetime as dt

from django.db.models import Count, Min, Q
from django.http import HttpRequest

from apps.base import clock
from apps.base.money import to_cents
from apps.core.admin_base import HOME_PANELS, Figure, HomeContent, HomePanel, Work
from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.display import admin_url, list_url
from apps.core.computed import MoneySum
from apps.sales import pipeline
from apps.sales.models import Opportunity


def own_follow_ups(request: HttpRequest) -> HomeContent:
    """The signed-in person's follow-ups until Sunday, and those that are overdue; one query."""
    today = clock.today()
    yesterday, sunday = today - dt.timedelta(days=1), today + dt.timedelta(days=6 - today.weekday())
    found = (
        pipeline.current_opportunities(request.user)
        .filter(follow_up_staff=request.user.pk, follow_up_date__lte=sunday)
        .aggregate(
            count=Count("pk"),
            amount=MoneySum(pipeline.FIRST_YEAR_VALUE, output_field=pipeline.AMOUNT),
            oldest=Min("follow_up_date"),
            late=Count("pk", filter=Q(follow_up_date__lt=today)),
        )
    )
    if not found["count"]:
        return HomeContent()
    own = {"follow_up_staff__guid__exact": request.user.pk}
    late_link = list_url(Opportunity, **own, follow_up_date_to=yesterday)
    row = Work(
        "Yours until Sunday",
        found["count"],
        list_url(Opportunity, **own, follow_up_date_to=sunday),
        to_cents(found["amount"]),
        clock.start_of_day(found["oldest"]) if found["oldest"] < today else None,
        Figure(found["late"], late_link, "Overdue follow-ups") if found["late"] else None,
    )
    return HomeContent([row])


def pipeline_by_stage(request: HttpRequest) -> HomeContent:
    """The value of the opportunities of every stage that is not the result, times their chances."""
    columns = [
        column
        for column in pipeline.stage_columns(pipeline.current_opportunities(request.user), limit=0)
        if not column.stage.is_result
    ]
    if not any(column.count for column in columns):
        return HomeContent()
    bars = [
        Bar(column.weighted, list_url(Opportunity, stage__id__exact=column.stage.pk), column.count)
        for column in columns
    ]
    chart = BarChart(
        "Opportunities by stage, times their chances",
        [column.stage.name for column in columns],
        [Series("Value of the first year", "rs-colour-claimed", bars)],
        "opportunity",
    )
    return HomeContent(chart=chart, links=[("Pipeline", admin_url(Opportunity, "board"))])


HOME_PANELS.extend(
    (
        HomePanel("Follow-ups", Opportunity, 10, own_follow_ups),
        HomePanel("Pipeline", Opportunity, 80, pipeline_by_stage),
    )
)
