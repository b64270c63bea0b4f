"""What a caseload costs: the same lists for callers who see all and some, beside 1,000,000 lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from django.db import connection

from apps.access.models import ApiApplication
from apps.access.services import issue_token
from apps.people.models import Contact, Location, Staff, Team
from bench.calling import Caller
from bench.growth import add_copies, figure, get, make_databases, use
from bench.measuring import Contender, measure

SAMPLES = 9
#: Of the participants, so many are looked after at the one location, by the one team, by the one person.
HALF, TENTH = 2, 10
READS = (
    ("page of 1,000 contacts", "contact", {"top": "1000"}),
    ("page of 20 claims", "claim", {}),
    ("page of 1,000 claims with lines", "claim", {"expand": "*", "top": "1000"}),
    ("claims of a month", "claim", {"filter": "year(StartDate) eq 2025 and month(StartDate) eq 3"}),
    ("`claim/$count`", "claim/$count", {}),
    (
        "`$apply` by status",
        "claim",
        {"apply": "groupby((FundingStatus),aggregate(Total with sum as Amount,$count as Number))"},
    ),
)


def caseloads(caller: Caller) -> Iterator[str]:
    """A table in Markdown: milliseconds of CPU, and how often those of a caller who sees all."""
    _, large = make_databases(add_copies)
    use(large)
    kinds = assign()
    callers = [caller, *(limited_caller(name, limit) for name, limit in kinds.items())]
    yield f"Milliseconds of CPU of Python and PostgreSQL; {Contact.objects.count():,} participants."
    yield ""
    yield f"| Read | sees all | {' | '.join(kinds)} |"
    yield "|---|--:|" + "--:|" * len(kinds)
    for title, path, options in READS:
        contenders = [Contender(title, get(each, path, **options)) for each in callers]
        measure(contenders, SAMPLES)
        costs = [(each.cost.python + each.cost.postgresql) * 1_000 for each in contenders]
        cells = [figure(costs[0]), *(f"{figure(cost)} ({cost / costs[0]:.2f}×)" for cost in costs[1:])]
        yield f"| {title} | {' | '.join(cells)} |"


def assign() -> dict[str, dict[str, object]]:
    """Give each contact an account manager; what the limited callers are limited to, by its share."""
    places, teams = (
        [Location(name=f"Place {n}") for n in range(HALF)],
        [Team(name=f"T {n}") for n in range(TENTH)],
    )
    for record in (*places, *teams):
        record.save()
    staff = list(Staff.objects.order_by("pk"))
    for number, (member, place) in enumerate(zip(staff, cycle(places), strict=False)):
        Staff.objects.filter(pk=member.pk).update(location=place)
        member.teams.set([teams[number % TENTH]])
    keys = list(Contact.objects.order_by("pk").values_list("pk", flat=True))
    shares = [keys[number :: len(staff)] for number in range(len(staff))]
    for member, share in zip(staff, shares, strict=True):
        Contact.objects.filter(pk__in=share).update(account_manager=member)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE people_contact")
    return {
        f"a location of {HALF}": {"locations": places[:1]},
        f"a team of {TENTH}": {"teams": teams[:1]},
        f"one person of {len(staff)}": {"account_managers": staff[:1]},
    }


def limited_caller(name: str, limit: dict[str, object]) -> Caller:
    application = ApiApplication.objects.create(
        name=name, scope="read", sees_everybody=False, requests_per_minute=0
    )
    for attribute, records in limit.items():
        getattr(application, attribute).set(records)
    return Caller(issue_token(application.caller, ["read"]))
