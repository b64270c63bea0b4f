"""Plain filters: what each finds, which there are, and how a wrong one is refused."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest

from apps.base.declaration.resource import Embedded, Key
from apps.base.declaration.schema import bind_resource
from apps.base.declaration.service import get_service
from apps.odata.errors import BadQuery
from apps.odata.http.filters import PlainFilterBackend
from apps.odata.query.options import QueryOptions
from apps.odata.query.plain_filters import filterset_for
from tests.odata import sample

ENTITY_SETS = pytest.mark.parametrize("set_", get_service().entity_sets, ids=lambda found: found.name)

ANY_VALUE = {
    "Edm.Guid": "0190163D-8694-739B-AEA5-966C26F8AD91",
    "Edm.Boolean": "true",
    "Edm.Date": "2026-07-01",
    "Edm.DateTimeOffset": "2026-07-01T09:30:00+10:00",
    "Edm.Decimal": "12.50",
    "Edm.Int16": "12",
    "Edm.Int32": "12",
    "Edm.Int64": "12",
    "Edm.String": "50%_\\'",
}


def filtered(entity_set, **params):
    """The rows that the filter backend leaves for plain parameters."""
    view = SimpleNamespace(entity_set=entity_set, query_options=QueryOptions(plain=tuple(params.items())))
    return PlainFilterBackend().filter_queryset(None, entity_set.model._base_manager.all(), view)


def found(**params):
    """The guids of the jobs that the parameters find; ``_in_`` in a name stands for its slash."""
    rows = filtered(sample.JOBS, **{name.replace("_in_", "/"): value for name, value in params.items()})
    return set(rows.values_list("guid", flat=True))


def expected(jobs, condition):
    """The guids of the jobs of which the condition holds: some, but not all."""
    chosen = {job["JobGuid"] for job in jobs if condition(job)}
    assert 0 < len(chosen) < len(jobs)
    return chosen


def refused(**params):
    with pytest.raises(BadQuery) as refusal:
        found(**params)
    return refusal.value


@pytest.mark.parametrize("name", ["Rank", "Rank__eq"])
def test_a_name_alone_means_equal(stored_jobs, name):
    assert found(**{name: "2"}) == expected(stored_jobs, lambda job: job["Rank"] == 2)


def test_not_equal_finds_those_without_a_value(stored_jobs):
    assert found(Size__ne="1") == expected(stored_jobs, lambda job: job["Size"] != 1)


@pytest.mark.parametrize("operator", ["gt", "ge", "lt", "le"])
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("Size", "2", 2),
        ("Total", "2.5", Decimal("2.5")),
        ("Start", "2026-07-01", dt.date(2026, 7, 1)),
        ("Created", "2026-06-30T14:00:00Z", dt.datetime(2026, 6, 30, 14, tzinfo=dt.UTC)),
        ("Created", "2026-07-01", dt.datetime(2026, 6, 30, 14, tzinfo=dt.UTC)),
        ("Created", "2026-07-01T00:00:00+10:00", dt.datetime(2026, 6, 30, 14, tzinfo=dt.UTC)),
        ("Created", "2026-07-01T00:00:00 10:00", dt.datetime(2026, 6, 30, 14, tzinfo=dt.UTC)),
        ("Created", "2026-07-01 00:00:00", dt.datetime(2026, 6, 30, 14, tzinfo=dt.UTC)),
    ],
)
def test_values_are_compared_in_their_own_type(stored_jobs, name, text, value, operator):
    holds = {"gt": "__gt__", "ge": "__ge__", "lt": "__lt__", "le": "__le__"}[operator]
    chosen = expected(stored_jobs, lambda job: job[name] is not None and getattr(job[name], holds)(value))
    assert found(**{f"{name}__{operator}": text}) == chosen


def test_a_list_stands_between_commas(stored_jobs):
    assert found(Rank__in="1,3") == expected(stored_jobs, lambda job: job["Rank"] in (1, 3))
    open_or_done = expected(stored_jobs, lambda job: job["Status"] in ("Open", "Done"))
    assert found(Status__in="Open,Done") == open_or_done


def test_an_enumeration_is_asked_by_name_or_number(stored_jobs):
    on_hold = expected(stored_jobs, lambda job: job["Status"] == "OnHold")
    assert found(Status="OnHold") == found(Status="200") == on_hold


@pytest.mark.parametrize("text", ["true", "false"])
def test_null_is_requested_by_a_suffix(stored_jobs, text):
    chosen = expected(stored_jobs, lambda job: (job["Start"] is None) is (text == "true"))
    assert found(Start__isnull=text) == chosen


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        *(("contains", text) for text in ("a", "A", "%", "_", "\\", "'", "É", "é", "ß", "本", "😀")),
        *(("startswith", text) for text in ("a", "A", " ", "100%", "É")),
        *(("endswith", text) for text in ("a", "A", " ", "%", "Σ")),
    ],
)
def test_texts_are_found_with_regard_to_case_and_without_wildcards(stored_jobs, operator, text):
    holds = {"contains": "__contains__", "startswith": "startswith", "endswith": "endswith"}[operator]
    chosen = {job["JobGuid"] for job in stored_jobs if getattr(job["Code"], holds)(text)}
    assert found(**{f"Code__{operator}": text}) == chosen


def test_a_guid_may_have_any_case(stored_jobs):
    guid = stored_jobs[0]["JobGuid"]
    assert found(JobGuid=str(guid).upper()) == {guid}


def test_what_lies_in_an_object_has_a_path(stored_jobs):
    sydney = expected(stored_jobs, lambda job: job["Place"]["Suburb"] == "Sydney")
    zed = expected(stored_jobs, lambda job: (job["Owner"] or {}).get("Name") == "Zed")
    assert found(Place_in_Suburb="Sydney") == sydney
    assert found(Owner_in_Name="Zed") == zed


def test_a_path_through_nothing_is_null(stored_jobs):
    nameless = expected(stored_jobs, lambda job: (job["Owner"] or {}).get("Name") is None)
    assert found(Owner_in_Name__isnull="true") == nameless


def test_every_filter_must_hold(stored_jobs):
    both = expected(stored_jobs, lambda job: job["Rank"] == 1 and job["Urgent"] is True)
    assert found(Rank="1", Urgent="true") == both


@pytest.mark.parametrize(
    ("name", "text", "code", "told"),
    [
        ("JobGuid", "1", "InvalidGuid", "JobGuid must be a guid, such as"),
        ("Urgent", "True", "InvalidQuery", "Urgent must be true or false."),
        ("Urgent", "1", "InvalidQuery", "Urgent must be true or false."),
        ("Size", "1.5", "InvalidNumber", "Size must be a whole number, such as 12."),
        ("Size", "2147483648", "OutOfRange", "Size must lie between -2,147,483,648 and 2,147,483,647."),
        ("Size__in", "1,,2", "InvalidNumber", "Size__in must be a whole number, such as 12."),
        ("Total__ge", "NaN", "InvalidNumber", "Total__ge must be a number, such as 12.50."),
        ("Total__ge", "9" * 61, "OutOfRange", "Total__ge has too many digits."),
        ("Start__lt", "1/7/2026", "InvalidDate", "Start__lt must be a date, such as 2026-07-01."),
        ("Start__lt", "2026-02-30", "InvalidDate", "Start__lt names a day or a time that does not exist."),
        ("Moment", "2026-10-04 02:30:00", "InvalidDate", "Moment names a local time that does not exist"),
        ("Moment", "0001-01-01T00:00:00+14:00", "OutOfRange", "Moment must lie between the years 1 and"),
        ("Status", "onhold", "NotAChoice", "Status must be one of Open, OnHold, Done."),
        ("Status", "400", "NotAChoice", "Status must be one of Open, OnHold, Done."),
        ("Start__isnull", "yes", "InvalidQuery", "Start__isnull must be true or false."),
        ("Code", "", "InvalidQuery", "Code is empty; for null there is the suffix __isnull."),
        ("Rank__in", ",".join("1" * 501), "InvalidNumber", "Rank__in holds at most 500 values."),
    ],
)
def test_a_value_that_cannot_be_read_names_its_parameter(name, text, code, told):
    error = refused(**{name: text})
    assert error.code == code
    assert error.message.startswith(told)
    assert error.target == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Staus", " Is Status meant?"),
        ("status", " Is Status meant?"),
        ("Start__gte", " Is Start__ge meant?"),
        ("start__isnull", " Is Start__isnull meant?"),
        ("anything", ""),
        ("Lines", ""),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_one_that_may_be_meant(name, hint):
    error = refused(**{name: "1"})
    assert error.message == f"Job has no parameter {name}.{hint}"
    assert error.target == name


@pytest.mark.parametrize("name", ["Secret", "secret", "Secret__contains", "Answers/Note", "Lines/Note"])
def test_what_is_not_shown_in_a_list_cannot_be_requested(name):
    assert name not in filterset_for(sample.JOBS).base_filters
    assert "has no parameter" in refused(**{name: "x"}).message


def test_what_shows_on_one_record_only_has_no_filter():
    class ItemResource(sample.JobResource):
        fields = (Key("JobGuid"), Embedded("Place", sample.PlaceType, item_only=True))

    assert set(filterset_for(bind_resource(ItemResource)).base_filters) == {
        "JobGuid",
        *(f"JobGuid__{operator}" for operator in ("eq", "ne", "in", "isnull")),
    }


def test_suffixes_are_those_that_make_sense():
    names = set(filterset_for(sample.JOBS).base_filters)
    assert {"Code__contains", "Start__ge", "Total__lt", "Status__in", "Urgent__ne"} <= names
    assert not {"Urgent__in", "Urgent__gt", "Start__contains", "Status__contains", "JobGuid__lt"} & names


def test_filters_are_declared_once():
    assert filterset_for(sample.JOBS) is filterset_for(sample.JOBS)


@ENTITY_SETS
def test_every_declared_property_has_a_filter(set_):
    declared = {name for name, prop in set_.type.properties.items() if not prop.declaration.write_only}
    assert declared <= set(filterset_for(set_).base_filters)


@ENTITY_SETS
@pytest.mark.django_db
def test_the_database_understands_every_filter(set_):
    conditions = {}
    for name, declared in filterset_for(set_).base_filters.items():
        prop = declared.prop
        value = prop.choices[0] if prop.choices else ANY_VALUE[prop.edm.name]
        conditions[name] = "true" if declared.lookup_expr == "isnull" else value
    list(filtered(set_, **conditions))
