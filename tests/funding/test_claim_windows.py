"""Claim windows: which applies, what is warned of, how the organisation changes them, what lapses."""

import datetime as dt
from decimal import Decimal
from uuid import UUID

import pytest
from django.urls import reverse

from apps.core import archive
from apps.core.models import Change, Notice
from apps.core.notices import write_due_notices
from apps.funding.admin.queues import LAPSED, LAPSING, WINDOW
from apps.funding.choices import USUAL_WINDOWS
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimWindow,
    ClaimWindows,
    ProviderInvoice,
    find_expired_window,
    supports_that_end,
)
from apps.funding.models.claim_windows import Window
from apps.funding.services.claim_windows import create_usual_claim_windows
from apps.funding.statuses import ClaimStatus
from apps.people.choices import Participants
from tests.api.caller import Caller, an_application
from tests.core.test_home import home
from tests.funding.bodies import a_funder
from tests.funding.builders import a_claim, a_claim_window, a_provider_invoice
from tests.funding.import_claims import a_file, an_office
from tests.funding.test_warnings import long_priced
from tests.funding.test_warnings_end_to_end import a_claim_body, a_line_body
from tests.funding.warned import Scene, codes, day, only_message
from tests.people.import_files import imported
from tests.people.records import a_contact, a_role, a_staff_member, form_data, get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("windows are compared with days by the database"),
]

DECEMBER = day("2026-12-01")
BEFORE, ON_THE_DAY = "2026-11-30 23:59", "2026-12-01 00:01"


def windows_of(*rows):
    """Windows that no database has: (number, unit, claimed from, supports from), the days as texts."""
    return ClaimWindows(
        tuple(
            Window(UUID(int=place), first_or(claimed), first_or(supports), number, unit, is_confirmed=True)
            for place, (number, unit, claimed, supports) in enumerate(rows)
        )
    )


def first_or(text):
    return day(text) if text else dt.date.min


TWO_YEARS = (2, "Years", None, None)
USUAL = windows_of(TWO_YEARS, (90, "Days", "2026-12-01", None))


@pytest.fixture(autouse=True)
def usual_windows():
    create_usual_claim_windows()


@pytest.fixture
def scene():
    """A participant whose plan and prices are long enough for any support of these tests."""
    scene = Scene(plan={"plan_start_date": day("2023-01-01"), "plan_end_date": day("2028-12-31")})
    long_priced(scene.entry)
    return scene


# --- which window applies -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "claimed", "last"),
    [
        # Two years until the end of November; on the first of December all but the last 90 days are out.
        ("2024-11-30", "2026-11-30", None),
        ("2024-11-29", "2026-11-30", "2026-11-29"),
        ("2024-11-30", "2026-12-01", "2026-11-30"),
        ("2026-09-02", "2026-12-01", None),  # day 90
        ("2026-09-01", "2026-12-01", "2026-11-30"),  # day 91
        ("2026-09-02", "2026-12-02", "2026-12-01"),
        ("2026-12-01", "2027-03-01", None),
        ("2026-12-01", "2027-03-02", "2027-03-01"),
    ],
)
def test_ninety_days_apply_from_the_first_of_december(support, claimed, last):
    expired = find_expired_window(USUAL, day(support), day(claimed))
    assert (expired and expired.last_day) == (last and day(last))


@pytest.mark.parametrize(
    ("support", "last"),
    [
        ("2024-02-28", "2026-02-28"),
        ("2024-02-29", "2026-02-28"),
        ("2024-03-01", "2026-03-01"),
        ("2026-02-27", "2028-02-27"),
        ("2026-02-28", "2028-02-29"),
        ("2026-03-01", "2028-03-01"),
    ],
)
def test_two_years_over_a_leap_day_end_as_they_did_before(support, last):
    """On the last day the same day two years before, the 28th for the 29th, is not after the support."""
    windows = windows_of(TWO_YEARS)
    assert windows.last_claim_day(day(support), day("2026-01-01")) == day(last)
    assert find_expired_window(windows, day(support), day(last)) is None
    after = day(last) + dt.timedelta(days=1)
    assert find_expired_window(windows, day(support), after).last_day == day(last)


def test_supports_given_before_a_day_can_keep_the_longer_window():
    windows = windows_of(TWO_YEARS, (90, "Days", "2026-12-01", "2026-12-01"))
    assert windows.last_claim_day(day("2026-11-30"), day("2026-12-01")) == day("2028-11-30")
    assert windows.last_claim_day(day("2026-12-01"), day("2026-12-01")) == day("2027-03-01")


def test_of_windows_for_the_same_days_of_claiming_the_latest_supports_decide():
    windows = windows_of(
        TWO_YEARS, (60, "Days", "2026-12-01", "2026-11-01"), (90, "Days", "2026-12-01", None)
    )
    assert windows.on(day("2026-10-31"), DECEMBER).number == 90
    assert windows.on(day("2026-11-01"), DECEMBER).number == 60
    assert windows.on(day("2026-11-01"), day("2026-11-30")).unit == "Years"


def test_later_days_of_claiming_decide_before_later_supports():
    windows = windows_of((1, "Years", "2026-01-01", "2026-01-01"), (90, "Days", "2026-12-01", None))
    assert windows.on(day("2026-06-01"), DECEMBER).number == 90


def test_without_a_window_nothing_is_too_old():
    assert ClaimWindows().on(day("1990-01-01"), DECEMBER) is None
    assert ClaimWindows().last_claim_day(day("1990-01-01"), DECEMBER) is None
    assert find_expired_window(ClaimWindows(), day("1990-01-01"), DECEMBER) is None


def test_a_longer_window_that_comes_later_opens_nothing_before_its_day():
    windows = windows_of((90, "Days", None, None), (2, "Years", "2027-06-01", None))
    assert windows.last_claim_day(day("2026-09-01"), day("2026-11-01")) == day("2026-11-30")
    assert windows.last_claim_day(day("2026-09-01"), day("2027-05-31")) == day("2026-11-30")
    assert windows.last_claim_day(day("2026-09-01"), day("2027-06-01")) == day("2028-09-01")


@pytest.mark.parametrize(
    "windows",
    [
        USUAL,
        windows_of(TWO_YEARS, (90, "Days", "2026-12-01", "2026-10-01")),
        windows_of((1, "Days", None, None)),
        windows_of((1_000, "Years", None, None)),
        windows_of((90, "Days", None, None), (2, "Years", "2026-12-05", None)),
        ClaimWindows(),
    ],
)
def test_the_supports_that_end_between_two_days_are_those_that_do(windows):
    today = day("2026-11-24")
    first, last = today - dt.timedelta(days=14), today + dt.timedelta(days=14)
    ranges = supports_that_end(windows, first, last, today)
    for ago in range(-20, 900):
        support = today - dt.timedelta(days=ago)
        end = windows.last_claim_day(support, today)
        is_found = any(begin <= support <= stop for begin, stop in ranges)
        assert is_found == (end is not None and first <= end <= last), support


# --- the warning ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "support", "found"),
    [
        (BEFORE, "2026-09-01", []),
        (ON_THE_DAY, "2026-09-02", []),
        (ON_THE_DAY, "2026-09-01", ["TooOld"]),
    ],
)
def test_a_claim_of_ninety_one_days_is_warned_of_from_december_on(scene, at, now, support, found):
    at(now)
    assert codes(scene.claim(scene.line(day(support), price="1"))) == found
    assert codes(scene.invoice(scene.line(day(support), price="1"))) == found


def test_the_warning_names_the_window_its_last_day_and_that_it_is_only_reported(scene, at):
    at(ON_THE_DAY)
    message = only_message(scene.claim(scene.line(day("2026-09-01"), price="1")))
    assert message == (
        "01 Sep 2026 is too old: supports are claimed within 90 days from 01 Dec 2026 on, and this one could"
        " be claimed until 30 Nov 2026. Check the day. The window of 90 days is reported, not confirmed: your"
        " organisation should confirm or remove it in its settings (claim windows)."
    )


def test_a_confirmed_window_says_no_more_than_its_days(scene, at):
    at(BEFORE)
    message = only_message(scene.claim(scene.line(day("2024-11-29"), price="1")))
    assert message == (
        "29 Nov 2024 is too old: supports are claimed within 2 years, and this one could be claimed until"
        " 29 Nov 2026. Check the day."
    )


def test_without_any_window_nobody_is_warned(scene, at):
    at(ON_THE_DAY)
    archive.archive(ClaimWindow.objects.all())
    assert codes(scene.claim(scene.line(day("2023-07-03"), price="1"))) == []


def test_the_interface_refuses_what_is_too_old_until_it_is_told_to_ignore_it(scene, at):
    at(ON_THE_DAY)
    body = a_claim_body(scene, a_funder(), a_line_body(scene, "2026-09-01", Price=1))
    api = Caller(an_application())
    refused = api.post("claim", {"value": [body]})
    assert refused.status_code == 400
    (detail,) = refused.json()["error"]["details"]
    assert (detail["code"], detail["target"]) == ("TooOld", "value[0]/LineItems[0]/FromDate")
    assert not Claim.objects.exists()
    assert api.post("claim?ignoreWarnings=true", {"value": [body]}).status_code == 201
    warning = Claim.objects.get().acknowledged_warnings.get()
    assert (warning.code, warning.message) == ("TooOld", detail["message"])


def test_an_import_keeps_out_what_is_too_old_until_it_is_told_to_ignore_it(tmp_path, at):
    at(ON_THE_DAY)
    an_office()
    days = ("01/09/2026", "02/09/2026")
    rows = [
        f"C-{number},INV-{number},51824753556,430000001,fay@example.org,{on},{on},01_011_0107_1_1,Guide,2,60,{on}"
        for number, on in enumerate(days, start=1)
    ]
    file = a_file(tmp_path, *rows)
    refused = imported("claim", file).err
    assert "01 Sep 2026 is too old" in refused
    assert "02 Sep 2026 is too old" not in refused
    assert imported("claim", file, "--ignore-warnings").status == 0
    kept = AcknowledgedWarning.objects.filter(code="TooOld").values_list("claim__claim_number", flat=True)
    assert list(kept) == ["C-1"]


# --- the organisation's rows ----------------------------------------------------------------------------

ADD, LIST = reverse("admin:funding_claimwindow_add"), reverse("admin:funding_claimwindow_changelist")
VALUES = {"number": "60", "unit": "Days", "claimed_from": "01/07/2027", "supports_from": ""}


def errors_of(answer):
    assert answer.status_code == 200
    return answer.context["adminform"].form.errors


def test_an_installation_has_two_years_and_the_reported_ninety_days():
    rows = {row.pk: row for row in ClaimWindow.objects.all()}
    assert [str(rows[key]) for key, *_ in USUAL_WINDOWS] == ["2 years", "90 days, claimed from 01/12/2026"]
    assert [rows[key].is_confirmed for key, *_ in USUAL_WINDOWS] == [True, False]
    assert create_usual_claim_windows() == 0


def test_a_window_that_was_taken_away_does_not_come_back():
    archive.archive(ClaimWindow.objects.filter(unit="Days"))
    assert create_usual_claim_windows() == 0
    assert [window.unit for window in ClaimWindow.current().rows] == ["Years"]


def test_the_organisation_adds_confirms_and_removes_rows_with_history(client, ada, scene, at):
    at("2027-07-01 10:00")
    client.force_login(ada)
    late = scene.claim(scene.line(day("2027-05-01"), price="1"))
    assert "TooOld" not in codes(late)
    assert client.post(ADD, VALUES).status_code == 302
    window = ClaimWindow.objects.get(number=60)
    assert "TooOld" in codes(scene.claim(scene.line(day("2027-05-01"), price="1")))
    change = reverse("admin:funding_claimwindow_change", args=[window.pk])
    confirmed = form_data(get_unrendered(client, change), is_confirmed="on")
    assert client.post(change, confirmed).status_code == 302
    assert ClaimWindow.current().on(day("2027-05-01"), day("2027-07-01")).is_confirmed
    archiving = reverse("admin:funding_claimwindow_archiving", args=[window.pk])
    assert client.post(archiving).status_code == 302
    assert ClaimWindow.current().on(day("2027-05-01"), day("2027-07-01")).number == 90
    kinds = Change.objects.filter(record_key=str(window.pk)).order_by("pk").values_list("kind", "staff_id")
    assert list(kinds) == [(kind, ada.pk) for kind in ("Created", "Changed", "Archived")]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"number": "0"}, "number"),
        ({"number": "-1"}, "number"),
        ({"number": "1001"}, "number"),
        ({"number": "ninety"}, "number"),
        ({"number": ""}, "number"),
        ({"unit": ""}, "unit"),
        ({"unit": "Weeks"}, "unit"),
        ({"claimed_from": "31/02/2027"}, "claimed_from"),
    ],
)
def test_what_is_no_window_is_named_at_its_field(client, ada, given, field):
    assert list(errors_of(client.post(ADD, {**VALUES, **given}))) == [field]
    assert ClaimWindow.objects.count() == 2


def test_number_and_unit_are_both_asked_for(client, ada):
    assert set(errors_of(client.post(ADD, {**VALUES, "number": "", "unit": ""}))) == {"number", "unit"}


@pytest.mark.parametrize("days", [{"claimed_from": ""}, {"claimed_from": "01/12/2026"}])
def test_two_rows_are_not_for_the_same_days(client, ada, days):
    errors = errors_of(client.post(ADD, {**VALUES, **days}))
    assert errors == {
        "claimed_from": ["Another claim window is for the same days of claiming and of supports."]
    }
    assert client.post(ADD, {**VALUES, **days, "supports_from": "01/11/2026"}).status_code == 302


def test_another_row_takes_the_place_of_one_that_was_removed(client, ada):
    archive.archive(ClaimWindow.objects.filter(unit="Days"))
    assert client.post(ADD, {**VALUES, "claimed_from": "01/12/2026"}).status_code == 302


def test_a_row_does_not_come_back_beside_another_for_its_days(client, ada):
    old = ClaimWindow.objects.get(unit="Days")
    archive.archive(ClaimWindow.objects.filter(pk=old.pk))
    a_claim_window(60, "Days", claimed_from=DECEMBER)
    client.post(reverse("admin:funding_claimwindow_archiving", args=[old.pk]))
    old.refresh_from_db()
    assert old.is_archived
    answer = client.get(LIST)
    assert "There is a claim window for the same days already" in answer.content.decode()


def test_only_who_may_change_the_settings_sees_the_windows(client):
    client.force_login(a_staff_member(role=a_role("core.view_subscriber", "funding.view_claim")))
    assert client.get(LIST).status_code == 403
    assert client.post(ADD, VALUES).status_code == 403
    client.force_login(a_staff_member(role=a_role("core.view_subscriber", "core.change_subscriber")))
    assert client.get(LIST).status_code == 200
    settings = client.get(reverse("admin:core_subscriber_change", args=[1])).content.decode()
    assert f'href="{LIST}"' in settings


# --- what lapses ----------------------------------------------------------------------------------------

TODAY = "2026-11-24 10:00"


@pytest.fixture
def on_24_november(at, ada):
    at(TODAY)
    return ada


def a_claim_of(support, **columns):
    """A claim of a support of a day, beside one that lapses much later."""
    first = day(support)
    later = dt.date(2026, 11, 20)
    lines = [{"first_day": later, "last_day": later}, {"first_day": first, "last_day": first}]
    return a_claim(lines, **{"start_date": min(first, later), "end_date": later, **columns})


def listed(client, model, value=LAPSING):
    address = reverse(f"admin:funding_{model._meta.model_name}_changelist")
    return client.get(f"{address}?{WINDOW}={value}").context["cl"]


def test_claims_that_lapse_are_listed_with_the_oldest_first(client, on_24_november):
    ada = on_24_november
    by_december = a_claim_of("2026-08-01", staff=ada)
    at_once = a_claim_of("2024-11-24", staff=ada, funding_status=ClaimStatus.APPROVED)
    lapsed = a_claim_of("2024-11-10", staff=ada, funding_status=ClaimStatus.ON_HOLD)
    a_claim_of("2024-11-09")  # for longer than two weeks
    days = [day("2024-11-09"), day("2026-08-01")]
    a_claim([{"first_day": each, "last_day": each} for each in days])
    a_claim_of("2026-09-10")  # until the 9th of December
    a_claim_of("2026-08-01", funding_status=ClaimStatus.AGENCY_CLAIMED)
    a_claim_of("2026-08-01", archive_date=dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    boundary = a_claim_of("2026-09-09")  # until the 8th of December, in 14 days
    found = listed(client, Claim)
    assert list(found.result_list) == [lapsed, at_once, by_december, boundary]
    assert found.sum == sum(each.total for each in found.result_list)
    assert list(listed(client, Claim, LAPSED).result_list) == [lapsed]
    (row,) = (row for row in home(client)["Claims"].rows if row.label == "Lapse within 14 days")
    assert (row.count, row.late.count, row.amount) == (4, 1, found.sum)


def test_provider_invoices_that_lapse_are_listed_with_the_oldest_first(client, on_24_november):
    def received(support, **columns):
        first = support and day(support)
        return a_provider_invoice(
            service_start_date=first, service_end_date=first, invoice_total=Decimal("10.10"), **columns
        )

    by_december = received("2026-08-01")
    lapsed = received("2024-11-20")
    received("2026-11-20")
    received(None)
    received("2026-08-01", approval_status="Rejected")
    received("2026-08-01", is_claimed=True)
    found = listed(client, ProviderInvoice)
    assert list(found.result_list) == [lapsed, by_december]
    assert found.sum == Decimal("20.20")
    assert list(listed(client, ProviderInvoice, LAPSED).result_list) == [lapsed]
    (row,) = (row for row in home(client)["Provider invoices"].rows if row.label == "Lapse within 14 days")
    assert (row.count, row.late.count, row.amount) == (2, 1, Decimal("20.20"))
    tabs = client.get(reverse("admin:funding_providerinvoice_changelist")).context["tabs"]
    assert [(tab["label"], tab["count"]) for tab in tabs][-1] == ("Lapse within 14 days", "2")


def test_nothing_lapses_without_a_window(client, on_24_november):
    a_claim_of("2024-11-24")
    archive.archive(ClaimWindow.objects.all())
    assert list(listed(client, Claim).result_list) == []


# --- notices --------------------------------------------------------------------------------------------


def texts():
    return list(Notice.objects.order_by("pk").values_list("text", flat=True))


def test_whose_claim_or_provider_invoice_lapses_is_told_once_a_window(on_24_november, at):
    ada, manager = on_24_november, a_staff_member()
    gone = a_staff_member(disable_login_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    claim = a_claim_of("2026-08-01", staff=ada, claim_number="C-A")
    a_claim_of("2024-11-20", staff=ada)  # has lapsed
    a_claim_of("2026-11-01", staff=ada)
    days = [day("2024-11-20"), day("2026-08-01")]  # the first has lapsed, and with it the claim
    a_claim([{"first_day": each, "last_day": each} for each in days], staff=ada)
    august = {"service_start_date": day("2026-08-01"), "service_end_date": day("2026-08-01")}
    contact = a_contact(first_name="Mia", last_name="Nguyen", account_manager=manager)
    a_provider_invoice(reference="P-1", created_by=ada, contact=contact, **august)
    a_provider_invoice(reference="P-2", created_by=gone, contact=contact, **august)
    a_provider_invoice(reference="P-3", **august)  # nobody's
    write_due_notices()
    until = "can be claimed until 30/11/2026 and no later (90 days, reported and not confirmed)"
    assert sorted(texts()) == [
        f"Claim C-A {until}",
        f"Provider invoice P-1 (Mia Nguyen) {until}",
        f"Provider invoice P-2 (Mia Nguyen) {until}",
    ]
    assert Notice.objects.get(text__contains="P-2").staff_id == manager.pk
    at("2026-11-25 10:00")
    write_due_notices()
    assert len(texts()) == 3
    ClaimWindow.objects.all().delete()
    a_claim_window(118, "Days", is_confirmed=True)  # another window: the 1st of August is its 118th day
    write_due_notices()
    assert texts()[3] == "Claim C-A can be claimed until 27/11/2026 and no later (118 days)"
    assert Notice.objects.get(pk=Notice.objects.order_by("pk")[3].pk).url.endswith(f"/{claim.pk}/change/")


def test_many_that_lapse_on_one_day_are_one_notice_and_each_is_told_once(on_24_november):
    ada = on_24_november
    a_claim_of("2026-08-01", staff=ada, claim_number="C-A")
    write_due_notices()
    for _ in range(4):
        a_claim_of("2026-08-03", staff=ada)
    write_due_notices()
    until = "can be claimed until 30/11/2026 and no later (90 days, reported and not confirmed)"
    assert texts() == [f"Claim C-A {until}", f"4 claims {until}"]
    write_due_notices()
    assert len(texts()) == 2


@pytest.mark.parametrize(("seen", "expected"), [(0, []), (1, ["Claim"]), (4, ["4 claims"])])
def test_whoever_is_limited_is_told_of_the_number_that_they_see(on_24_november, seen, expected):
    limited = a_staff_member(role=a_role(participants=Participants.OWN))
    own, other = a_contact(account_manager=limited), a_contact(account_manager=on_24_november)
    for number in range(6):
        a_claim_of("2026-08-03", staff=limited, contact=own if number < seen else other)
    write_due_notices()
    assert [text.partition(" can be")[0].split(" C-")[0] for text in texts()] == expected
