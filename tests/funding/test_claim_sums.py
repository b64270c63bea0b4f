"""What PostgreSQL keeps of claims is what the claims say, whoever writes them, and is read in their place."""

import json
import random
from importlib import import_module

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Count, Sum
from django.test.utils import CaptureQueriesContext

from apps.funding.models import Claim, ClaimSum
from apps.funding.resources import ClaimResource
from apps.funding.services.claim_sums import add_up_claim_sums, find_claim_sum_faults
from apps.people.models import Contact
from tests.api.caller import Caller, an_application
from tests.caseloads import a_limited_application
from tests.funding.builders import a_claim
from tests.people.records import a_client, a_contact, a_staff_member
from tests.races import call_at_once

pytestmark = [pytest.mark.postgres("SQLite counts claims when asked"), pytest.mark.django_db]

STATUSES = ["AwaitingStaffApproval", "Approved", "AgencyClaimed", "AgencyFullyPaid"]
BY_STATUS = "groupby((FundingStatus),aggregate($count as Number,Total with sum as Amount))"
#: Addresses of claims that are answered by the stored sums, and those that are not.
READ = [
    "claim/$count",
    "claim?$count=true&$top=0",
    f"claim?$apply={BY_STATUS}",
    "claim?$apply=groupby((ProviderGuid),aggregate($count as Number))",
    "claim?$apply=groupby((FundingStatus,ProviderGuid),aggregate(Total with sum as Amount))",
    "claim?$apply=groupby((FundingStatus))",
    "claim?$apply=aggregate($count as Number,Total with sum as Amount)",
    f"claim?$apply={BY_STATUS}/filter(Number gt 1)&$orderby=Amount desc",
    "claim?$apply=groupby((rollup(FundingStatus,ProviderGuid)),aggregate($count as Number))",
]
NOT_READ = [
    "claim/$count?$filter=FundingStatus eq 'Approved'",
    "claim?$apply=filter(Total gt 100)/aggregate($count as Number)",
    "claim?$apply=groupby((Total),aggregate($count as Number))",
    "claim?$apply=top(3)/aggregate($count as Number,Total with sum as Amount)",
    "claim?$apply=topcount(3,Total)/groupby((FundingStatus),aggregate($count as Number))",
    "claim/$count?$search=C-1",
    "claim?$apply=groupby((FundingStatus),aggregate(Total with max as Most))",
    "claim?$apply=groupby((FundingStatus),aggregate(ProviderGuid with countdistinct as Providers))",
    "claim?$apply=groupby((StaffGuid),aggregate($count as Number))",
    "claim?$apply=compute(Total mul 2 as Twice)/aggregate(Twice with sum as Amount)",
    "claim?$apply=groupby((FundingStatus),aggregate(LineItems/$count as Lines))",
    "claim?$apply=join(LineItems as Line)/groupby((FundingStatus),aggregate($count as Lines))",
]


def stored():
    rows = ClaimSum.objects.values_list("funding_status", "provider", "number", "total")
    return sorted(map(tuple, rows), key=str)


def counted():
    groups = Claim.objects.order_by().values_list("funding_status", "provider")
    return sorted(map(tuple, groups.annotate(Count("pk"), Sum("total"))), key=str)


def test_they_are_those_of_the_claims_after_each_step_of_a_random_walk():
    walk, providers = random.Random(7), [a_client() for _ in range(3)]
    contact = a_contact()

    def add():
        a_claim(contact=contact, provider=walk.choice(providers))

    def some():
        keys = sorted(Claim.objects.values_list("pk", flat=True))
        return Claim.objects.filter(pk__in=walk.sample(keys, walk.randint(0, len(keys))))

    def take_back():
        with transaction.atomic():
            Claim.objects.update(funding_status="Approved", total=0)
            transaction.set_rollback(True)

    steps = [
        add,
        add,
        add,
        take_back,
        add_up_claim_sums,
        lambda: some().update(funding_status=walk.choice(STATUSES)),
        lambda: some().update(provider=walk.choice(providers), total=walk.randint(1, 100_000)),
        lambda: some().update(status_reason="no sum changes"),
        lambda: some().filter(funding_status=walk.choice(STATUSES)).delete(),
    ]
    add()
    add()
    for _ in range(60):
        walk.choice(steps)()
        assert stored() == counted()
        assert list(find_claim_sum_faults()) == []


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_and_nothing_is_lost_when_many_write_at_once():
    claims = [a_claim() for _ in range(4)]

    def change(claim):
        for number in range(20):
            Claim.objects.filter(pk=claim.pk).update(funding_status=STATUSES[number % 4], total=number)
        return True

    def add_up():
        for _ in range(20):
            add_up_claim_sums()
        return True

    call_at_once(*[lambda claim=claim: change(claim) for claim in claims], add_up, add_up)
    assert stored() == counted()
    add_up_claim_sums()
    assert stored() == counted()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM funding_claimsum_change")
        assert cursor.fetchone()[0] == len(stored())
        cursor.execute("TRUNCATE funding_claim CASCADE")
    assert stored() == []


@pytest.fixture
def claims():
    providers = [a_client(), a_client()]
    for number, status in enumerate(STATUSES * 2):
        a_claim(lines=1 + number % 2, provider=providers[number % 3 % 2], funding_status=status)


@pytest.mark.parametrize("address", [*READ, *NOT_READ])
def test_they_are_read_in_place_of_the_claims_where_they_have_what_is_asked_for(address, claims, monkeypatch):
    path, _, query = f"/api/{address}".partition("?")
    caller = Caller(an_application())
    with CaptureQueriesContext(connection) as queries:
        answer = caller.get(path, query).content
    assert any("funding_claimsum" in each["sql"] for each in queries) == (address in READ)
    monkeypatch.setattr(ClaimResource, "stored_sums", None)
    without = caller.get(path, query).content
    if "$apply" in address:
        answer, without = (sorted(json.loads(each)["value"], key=str) for each in (answer, without))
    assert answer == without


@pytest.mark.parametrize("address", READ)
def test_without_a_claim_they_say_so(address, monkeypatch):
    path, _, query = f"/api/{address}".partition("?")
    caller = Caller(an_application())
    answer = caller.get(path, query).content
    monkeypatch.setattr(ClaimResource, "stored_sums", None)
    assert answer == caller.get(path, query).content


def test_who_sees_some_participants_gets_the_number_of_theirs(claims):
    manager = a_staff_member()
    Contact.objects.filter(pk=Claim.objects.first().contact_id).update(account_manager=manager)
    caller = a_limited_application(staff=[manager])
    mine = Claim.objects.filter(contact__account_manager=manager).count()
    assert 0 < mine < Claim.objects.count()
    assert int(caller.get("/api/claim/$count").content) == mine


def test_claims_of_before_are_in_the_sums_and_the_migration_can_be_taken_back(claims):
    migration = import_module("apps.funding.migrations.0031_claim_sums")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(migration.DROP)
        cursor.execute(migration.CREATE)
    assert stored() == counted()


def test_a_worker_adds_them_up_by_itself(settings):
    assert settings.PERIODIC_SERVICES[f"{add_up_claim_sums.__module__}.{add_up_claim_sums.__name__}"] <= 3600


@pytest.mark.parametrize("column", ["number", "total"])
def test_wrong_ones_are_named_and_put_right(claims, capsys, column):
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE funding_claimsum_change SET {column} = {column} + 1 WHERE funding_status = 'Approved'"
        )
    (fault,) = find_claim_sum_faults()
    assert "./run recount_budgets" in fault
    call_command("recount_budgets", dry_run=True)
    assert "Stored sums of claims that are wrong: 2." in capsys.readouterr().out
    assert stored() != counted()
    call_command("recount_budgets")
    assert stored() == counted()
    assert list(find_claim_sum_faults()) == []
