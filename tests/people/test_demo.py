"""The demo's people are plausible, well formed, reach nobody, and are the same for the same seed and day."""

import datetime as dt
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.core.validators import validate_email
from hypothesis import given
from hypothesis import strategies as st
from stdnum.au import abn

from apps.core.demo import Context
from apps.odata.write.drafts import Draft, apply_rules
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.demo import answers, businesses, lists, names, numbers, plan, rows, tour
from apps.people.demo.places import PLACES
from apps.people.models import Client, Contact, Staff
from apps.people.validation import CLIENT_RULES, CLIENT_WARNINGS, CONTACT_RULES, PERSON_WARNINGS, STAFF_RULES

DAY = dt.date(2026, 7, 1)
ZONE = ZoneInfo("Australia/Sydney")

POST_CODES = {
    "NSW": ((1000, 2599), (2619, 2899), (2921, 2999)),
    "ACT": ((200, 299), (2600, 2618), (2900, 2920)),
    "VIC": ((3000, 3999), (8000, 8999)),
    "QLD": ((4000, 4999), (9000, 9999)),
    "SA": ((5000, 5999),),
    "WA": ((6000, 6999),),
    "TAS": ((7000, 7999),),
    "NT": ((800, 999),),
}
PHONE = re.compile(r"\(0[2378]\) (5550|7010) \d{4}|0491 57\d \d{3}")
PHONE_COLUMNS = ("phone1", "phone2", "fax", "home_phone", "business_phone", "business_phone2", "business_fax")
MAIL_COLUMNS = ("primary_email", "secondary_email")
KNOWN_PROVIDERS = (
    "life without barriers",
    "aruma",
    "endeavour",
    "scope",
    "yooralla",
    "mable",
    "hireup",
    "leap in",
)


def a_context(seed=1, as_of=DAY):
    return Context(seed, as_of, ZONE, {}, lambda *stored: None)


class Anything(dict):
    """Short lists whose entries all exist."""

    def __missing__(self, name):
        return f"guid of {name}"


def the_rows(seed=1, as_of=DAY, clients=60, staff=40, contacts=200):
    context = a_context(seed, as_of)
    client, worker, contact = (
        context.make_series(name, count)
        for name, count in (("client", clients), ("staff", staff), ("contact", contacts))
    )
    found = {"role": Anything(), "position": Anything(), "location": Anything()}
    around = rows.Around(contact, client, worker, Anything(), plan.account_managers(staff))
    return {
        Client: list(rows.clients(context, client, contact)),
        Staff: list(rows.staff(context, worker, found)),
        Contact: list(rows.contacts(context, around)),
    }


@pytest.fixture(scope="module")
def drawn():
    return the_rows()


@pytest.fixture(scope="module")
def people(drawn):
    return [*drawn[Staff], *drawn[Contact]]


@pytest.fixture(scope="module")
def everything(drawn):
    return [row for kind in drawn.values() for row in kind]


# Lists


def test_there_are_suburbs_of_every_state_and_territory():
    assert len({(place.suburb, place.post_code, place.state) for place in PLACES}) == len(PLACES) >= 150
    assert set(Counter(place.state for place in PLACES)) == set(POST_CODES)


def test_a_postcode_lies_in_its_state():
    for place in PLACES:
        assert re.fullmatch(r"\d{4}", place.post_code), place
        assert any(low <= int(place.post_code) <= high for low, high in POST_CODES[place.state]), place
        assert place.suburb == place.suburb.strip() != "", place


def test_names_come_from_many_parts_of_the_world():
    first = {name for origin in names.ORIGINS for name in origin.women + origin.men}
    last = {name for origin in names.ORIGINS for name in origin.last}
    assert len(first) >= 200
    assert len(last) >= 280
    assert len(names.HUNDRED) == 100
    for name in first | last:
        assert name == unicodedata.normalize("NFC", name.strip()) != ""


def test_every_name_can_stand_in_a_mail_address():
    for origin in names.ORIGINS:
        for name in origin.women + origin.men + origin.last:
            validate_email(f"{numbers.mail_name(name)}@example.com")


def test_a_mail_address_keeps_the_letters_of_names_that_have_accents():
    assert numbers.mail_name("Siobhán O'Brien") == "siobhan.obrien"
    assert numbers.mail_name("Yılmaz") == "yilmaz"


def test_mobile_numbers_are_those_kept_free_for_fiction():
    assert len(set(numbers.MOBILES)) == len(numbers.MOBILES) == 30
    assert {"0491 570 006", "0491 571 266", "0491 572 549", "0491 579 455"} <= set(numbers.MOBILES)


def test_business_numbers_pass_their_check_and_differ():
    made = [numbers.business_number(number) for number in range(20_000)]
    assert all(map(abn.is_valid, made))
    assert len(set(made)) == len(made)


def test_scheme_numbers_have_nine_digits_and_differ():
    made = [numbers.scheme_number(number) for number in range(100_000)]
    assert all(re.fullmatch(r"(31|43|44|45)\d{7}", number) for number in made)
    assert len(set(made)) == len(made)
    assert Counter(number[:2] for number in made).most_common(1)[0][0] == "43"


def test_business_names_differ_even_when_there_are_more_than_the_words_can_make():
    count = businesses.NAMES + 10_000
    made = {businesses.business_name(number, start=77).casefold() for number in range(count)}
    assert len(made) == count
    assert max(map(len, made)) < 100


def test_business_names_are_no_real_providers():
    told = " ".join((*businesses.MOODS, *businesses.CREATURES, *businesses.TRADES)).casefold()
    assert not [name for name in KNOWN_PROVIDERS if re.search(rf"\b{name}\b", told)]


@pytest.mark.parametrize("applies_to", AppliesTo.values)
def test_there_is_a_custom_field_of_every_kind_for(applies_to):
    fields = lists.CUSTOM_FIELDS[applies_to]
    assert {kind for _, kind, _ in fields} == set(AnswerKind.values)
    for name, kind, options in fields:
        assert bool(options) == (kind in (AnswerKind.CHOICE, AnswerKind.CHOICES))
        assert (name in lists.TEXT_ANSWERS) == (kind == AnswerKind.TEXT)


@pytest.mark.parametrize("applies_to", AppliesTo.values)
def test_a_response_is_what_its_field_asks_for(applies_to):
    chance = a_context().chance("responses")
    for name, kind, options in lists.CUSTOM_FIELDS[applies_to] * 20:
        responses = answers.responses_to(chance, DAY, name, kind, options)
        assert len(responses) == 1 or kind == AnswerKind.CHOICES
        if options:
            assert set(responses) <= set(options)
            assert len(set(responses)) == len(responses)
        if kind == AnswerKind.NUMBER:
            assert responses[0].isdecimal()
        if kind == AnswerKind.DATE:
            assert dt.date.fromisoformat(responses[0]) > DAY
        if kind == AnswerKind.YES_NO:
            assert responses[0] in ("Yes", "No")


# Series


def test_a_series_goes_through_the_years_in_working_hours():
    series = a_context().make_series("client", 5_000)
    made = [series.created(number) for number in range(series.count)]
    assert made == sorted(made)
    assert made[0].date() < dt.date(2023, 7, 5)
    assert dt.datetime(2026, 6, 30, tzinfo=ZONE) < made[-1] < dt.datetime(2026, 7, 1, tzinfo=ZONE)
    local = [moment.astimezone(ZONE) for moment in made]
    assert all(moment.weekday() < 5 and 8 <= moment.hour < 18 for moment in local)


def test_guids_are_of_version_7_and_in_the_order_of_creation():
    series = a_context().make_series("contact", 2_000)
    guids = [series.guid(number) for number in range(series.count)]
    assert all(guid.version == 7 and guid.variant == "specified in RFC 4122" for guid in guids)
    assert all(one < other for one, other in pairwise(guids))
    assert guids[9].int >> 80 == series.created(9).timestamp() * 1000


def test_guids_of_two_kinds_seeds_or_days_differ():
    drawn = {
        a_context(seed, day).make_series(name, 10).guid(3)
        for seed in (1, 2)
        for day in (DAY, DAY - dt.timedelta(days=1))
        for name in ("client", "contact")
    }
    assert len(drawn) == 8


def test_the_same_seed_and_day_draw_the_same_rows(drawn):
    assert the_rows() == drawn


def test_another_seed_draws_other_rows(drawn):
    other = the_rows(seed=2)
    for model, column in ((Client, "business_name"), (Staff, "birthday"), (Contact, "last_name")):
        assert [row[column] for row in other[model]][5:] != [row[column] for row in drawn[model]][5:]


# Who stands for whom


@given(clients=st.integers(1, 400), nth=st.integers(0, 1000))
def test_a_provider_is_a_live_client_and_not_the_subscriber(clients, nth):
    live = [number for number in range(1, clients) if not plan.client_is_archived(number)]
    assert plan.providers(clients) == len(live)
    if nth < len(live):
        assert plan.provider(nth) == live[nth]


@given(client=st.integers(0, 3000))
def test_the_key_contact_of_a_client_works_there(client):
    number = plan.key_contact(client, contacts=100_000)
    if client == 0 or plan.client_is_archived(client):
        assert number is None
        return
    assert plan.kind_of_contact(number) == plan.WORKER
    assert plan.workplace(number, clients=client + 1) == client
    assert not plan.contact_is_archived(number)
    assert plan.key_contact(client, contacts=number) is None


@given(number=st.integers(0, 5000), clients=st.integers(1, 400))
def test_nobody_belongs_to_an_archived_client_or_one_that_is_not_there(number, clients):
    found = plan.server(number, clients)
    if plan.kind_of_contact(number) == plan.WORKER:
        found = plan.workplace(number, clients)
    if found is not None:
        assert found < clients
        assert not plan.client_is_archived(found)


@given(number=st.integers(0, 5000))
def test_a_representative_is_a_live_contact_who_takes_no_part(number):
    speaker = plan.representative(number, contacts=10_000)
    assert (speaker is not None) == (plan.kind_of_contact(number) in (plan.CHILD, plan.REPRESENTED))
    if speaker is not None:
        assert not plan.is_participant(speaker)
        assert not plan.contact_is_archived(speaker)
    assert plan.representative(number, contacts=number + 1) is None


@given(number=st.integers(0, 5000))
def test_a_supervisor_is_somebody_else_who_still_works_here(number):
    leader = plan.supervisor(number)
    if number == 0:
        assert leader is None
        return
    assert leader is not None
    assert leader < number
    assert not plan.staff_is_archived(leader)
    assert not plan.login_is_closed(leader)


@given(staff=st.integers(1, 200))
def test_account_managers_can_sign_in(staff):
    for number in plan.account_managers(staff):
        assert number < staff
        assert not plan.staff_is_archived(number)
        assert not plan.login_is_closed(number)


# Rows (interface.md 4.1, 4.2; decisions.md 6)


@pytest.mark.parametrize("model", [Client, Staff, Contact])
def test_every_row_has_every_column_and_passes_the_models_own_checks(drawn, model):
    columns = [field.attname for field in model._meta.concrete_fields if not hasattr(field, "of")]
    links = [field.name for field in model._meta.concrete_fields if field.is_relation]
    for row in drawn[model]:
        record = model(**{name: row[name] for name in columns})
        record.clean_fields(exclude=links)
        assert "" not in row.values()


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        (Client, CLIENT_RULES + CLIENT_WARNINGS),
        (Staff, STAFF_RULES + PERSON_WARNINGS),
        (Contact, CONTACT_RULES + PERSON_WARNINGS),
    ],
)
def test_every_row_keeps_every_rule_and_deserves_no_warning(drawn, model, rules):
    drafts = [a_draft(model, row) for row in drawn[model]]
    found = [*apply_rules(drafts, rules)]
    planted = [drafts[number] for number, _ in found if model is Client]
    assert len(planted) == len(found)
    assert {draft.business_number for draft in planted} <= {tour.WRONG_BUSINESS_NUMBER}


def a_draft(model, row):
    """The row as the verbs see it: references are records."""
    fields = [field for field in model._meta.concrete_fields if not hasattr(field, "of")]
    values = {
        field.name: field.related_model(pk=row[field.attname])
        if field.is_relation and row[field.attname] is not None
        else row[field.attname]
        for field in fields
    }
    return Draft(values, given=values, key=row["guid"])


@pytest.mark.parametrize("column", ["guid", "unique_code", "primary_email", "business_name"])
def test_what_must_be_unique_is(drawn, column):
    for model, kind in drawn.items():
        given = [str(row[column]).casefold() for row in kind if row.get(column) is not None]
        assert len(set(given)) == len(given), model


def test_reminders_have_their_birthdays(people):
    assert all(row["birthday"] for row in people if row["send_birthday_reminder"])
    reminded = [row for row in people if row["send_partner_birthday_reminder"]]
    assert reminded
    assert all(row["partner_birthday"] for row in reminded)


def test_other_titles_stand_with_other_only():
    drawn = the_rows(contacts=2_000)[Contact]
    assert any(row["personal_title_other"] for row in drawn)
    for row in drawn:
        assert (row["personal_title"] == "Other") == (row["personal_title_other"] is not None)


def test_mail_goes_to_addresses_that_are_given(drawn, people):
    for row in people:
        assert row["primary_email"] or not row["use_primary_email"]
        assert row["secondary_email"] or not row["use_secondary_email"]
    assert all(row["use_primary_email"] or row["use_secondary_email"] for row in drawn[Staff])


def test_no_letter_and_no_call_reaches_anybody(everything):
    for row in everything:
        for column in MAIL_COLUMNS:
            assert (row.get(column) or "@example.com").partition("@")[2] in numbers.DOMAINS
        for column in PHONE_COLUMNS:
            number = row.get(column)
            assert number is None or PHONE.fullmatch(number)
            assert number is None or not number.startswith("0491") or number in numbers.MOBILES
        for column, value in row.items():
            if column.endswith("_url") or column == "web_address":
                assert value is None or re.match(r"https://[\w.-]+\.example\.com(/|$)", value)


def test_an_address_is_a_real_place_with_its_country(everything):
    real = {(place.suburb, place.city, place.state, place.post_code) for place in PLACES}
    for row in everything:
        assert (row["suburb"], row["city"], row["state"], row["post_code"]) in real
        assert row["country"] == "Australia"


def test_scheme_and_business_numbers_are_well_formed(drawn):
    for row in drawn[Client]:
        number = row["business_number"]
        assert number in (None, tour.WRONG_BUSINESS_NUMBER) or abn.is_valid(number)
        assert row["external_reference"].startswith("demo-")
    for number, row in enumerate(drawn[Contact]):
        assert (row["scheme_number"] is not None) == plan.is_participant(number)
        assert row["scheme_number"] is None or re.fullmatch(r"(31|43|44|45)\d{7}", row["scheme_number"])


def test_stamps_are_in_order_and_past(everything):
    midnight = dt.datetime.combine(DAY, dt.time(), ZONE)
    archived = 0
    for row in everything:
        assert row["creation_date"] <= row["modify_date"] <= midnight
        if row["archive_date"]:
            archived += 1
            assert row["creation_date"] <= row["archive_date"] <= row["modify_date"]
    assert 0 < archived < len(everything) / 10


def test_nothing_refers_to_an_archived_record(everything):
    archived = {row["guid"] for row in everything if row["archive_date"]}
    for row in everything:
        links = {value for column, value in row.items() if column.endswith("_id")}
        assert not links & archived


def test_what_is_referred_to_is_loaded(drawn):
    for clients, staff, contacts in ((1, 1, 0), (1, 1, 3), (3, 2, 7), (30, 8, 41)):
        kinds = the_rows(clients=clients, staff=staff, contacts=contacts)
        known = {row["guid"] for kind in kinds.values() for row in kind}
        for kind in kinds.values():
            for row in kind:
                for column in ("key_contact_id", "client_id", "representative_id", "account_manager_id"):
                    assert row.get(column) is None or row[column] in known


def test_a_child_lives_with_the_parent_who_speaks_for_it(drawn):
    contacts = drawn[Contact]
    children = [
        number for number in range(len(contacts)) if plan.kind_of_contact(number) == plan.CHILD and number
    ]
    for number in children:
        child, parent = contacts[number : number + 2]
        assert child["representative_id"] == parent["guid"]
        for shared in ("last_name", "street_address", "post_code"):
            assert child[shared] == parent[shared]
        mother = parent["gender"] == "Female"
        assert child["representative_relationship"] == ("Mother" if mother else "Father")
        assert (DAY - child["birthday"]).days < 18 * 365.25
        assert (child["birthday"] - parent["birthday"]).days > 12 * 365.25


def test_participants_are_of_all_ages(drawn):
    ages = [
        (DAY - row["birthday"]).days // 365.25 for row in drawn[Contact] if row["scheme_number"] is not None
    ]
    assert min(ages) < 8
    assert max(ages) > 70
    assert max(ages) < 90


def test_only_the_first_client_is_the_subscriber(drawn):
    assert [number for number, row in enumerate(drawn[Client]) if row["is_self"]] == [0]


@pytest.mark.parametrize("seed", [1, 2, 300])
def test_the_tour_finds_its_records_whatever_the_seed(seed):
    kinds = the_rows(seed=seed, clients=5, staff=6, contacts=5)
    for model, told in ((Client, tour.CLIENTS), (Staff, tour.STAFF), (Contact, tour.CONTACTS)):
        for row, expected in zip(kinds[model], told, strict=False):
            assert row | expected == row
    assert kinds[Contact][0]["representative_relationship"] == "Mother"
