"""The panels of the home page about follow-ups and the pipeline."""

import datetime as dt

from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, Figure, FigureGroup, HomeContent, HomePanel
from apps.core.admin_base.charts import Bar, BarChart, Series
from apps.core.admin_base.display import admin_url, format_amount, list_url
from apps.odata import clock
from apps.sales import pipeline
from apps.sales.models import Opportunity


def own_follow_ups(request: HttpRequest) -> HomeContent:
    """The signed-in person's follow-ups that are overdue, due today, and due in the rest of the week."""
    today = clock.today()
    day, sunday = dt.timedelta(days=1), today + dt.timedelta(days=6 - today.weekday())
    follow_ups = pipeline.current_opportunities().filter(follow_up_staff=request.user.pk).order_by()
    figures = []
    for label, first, last in (
        ("Overdue", None, today - day),
        ("Today", today, today),
        ("Later this week", today + day, sunday),
    ):
        due = follow_ups.filter(follow_up_date__lte=last)
        dates = {"follow_up_date_to": last}
        if first is not None:
            due = due.filter(follow_up_date__gte=first)
            dates["follow_up_date_from"] = first
        if count := due.count():
            link = list_url(Opportunity, follow_up_staff__guid__exact=request.user.pk, **dates)
            figures.append(Figure(label, count, link, is_urgent=label == "Overdue"))
    return HomeContent(
        [FigureGroup("", figures, "Nothing is to be followed up this week.")],
        links=[("My follow-ups", admin_url(Opportunity, "follow_ups"))],
    )


def pipeline_by_stage(request: HttpRequest) -> HomeContent | None:
    """The opportunities of every stage that is not the result, and what they are worth."""
    columns = [
        column
        for column in pipeline.stage_columns(pipeline.current_opportunities(), limit=0)
        if not column.stage.is_result
    ]
    if not any(column.count for column in columns):
        return None
    links = [list_url(Opportunity, stage__id__exact=column.stage.pk) for column in columns]
    figures = [
        Figure(column.stage.name, column.count, link, f"weighted: {format_amount(column.weighted)}")
        for column, link in zip(columns, links, strict=True)
        if column.count
    ]
    bars = [Bar(column.count, link) for column, link in zip(columns, links, strict=True)]
    chart = BarChart(
        "Opportunities by stage",
        "number of opportunities",
        [column.stage.name for column in columns],
        [Series("Open opportunities", "rs-colour-claimed", bars)],
    )
    return HomeContent([FigureGroup("", figures)], chart, [("Pipeline", admin_url(Opportunity, "board"))])


HOME_PANELS.extend(
    (
        HomePanel("Your follow-ups", Opportunity, 15, own_follow_ups),
        HomePanel("Pipeline", Opportunity, 80, pipeline_by_stage),
    )
)
