"""Bodies become drafts, or every fault of every record is reported."""

import datetime as dt
import json
import time
import uuid
from decimal import Decimal

import pytest
from django.apps.registry import Apps
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from hypothesis import given
from hypothesis import strategies as st

from apps.base.declaration.resource import (
    BodyKind,
    Contains,
    Embedded,
    Key,
    NestedType,
    Numbered,
    Optional,
    ReadOnly,
    RefersTo,
    Resource,
)
from apps.base.declaration.resource import Required as Must
from apps.base.declaration.schema import bind_resource
from apps.base.drafts import Draft, Extra, InvalidValue
from apps.base.errors import BadBody, TooLarge
from apps.odata.write.bodies import read_record, read_records, record_reader

registry = Apps(["apps.odata"])  # apart, so that no migration is wanted
GUID = uuid.UUID("0190163d-8694-739b-aea5-966c26f8ad91")


class Payee(Numbered):
    PROVIDER = "Provider", 0
    CLIENT = "Client", 1


class Colour(models.TextChoices):
    RED = "Red"
    BLUE = "Blue"


class Buyer(models.Model):
    guid = models.UUIDField(primary_key=True)

    class Meta:
        apps, app_label = registry, "odata"

    def __str__(self):
        return str(self.guid)


class Label(models.Model):
    class Meta:
        apps, app_label = registry, "odata"

    def __str__(self):
        return str(self.pk)


class Order(models.Model):
    guid = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=10)
    note = models.CharField(max_length=10, null=True)
    email = models.EmailField(max_length=40, null=True)
    payee = models.CharField(max_length=10, choices=Payee, default=Payee.PROVIDER)
    colour = models.CharField(max_length=10, choices=Colour, null=True)
    urgent = models.BooleanField(default=False)
    day = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    size = models.IntegerField(null=True)
    hours = models.SmallIntegerField(null=True, validators=[MinValueValidator(0), MaxValueValidator(168)])
    serial = models.BigIntegerField(null=True)
    total = models.DecimalField(max_digits=14, decimal_places=2, null=True)
    street = models.CharField(max_length=10, null=True)
    country = models.CharField(max_length=10, null=True)
    buyer = models.ForeignKey(Buyer, models.PROTECT, null=True, related_name="+")
    seller = models.ForeignKey(Buyer, models.PROTECT, related_name="+")
    labels = models.ManyToManyField(Label)

    class Meta:
        apps, app_label = registry, "odata"

    def __str__(self):
        return self.name


class Line(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    quantity = models.DecimalField(max_digits=14, decimal_places=4)
    note = models.CharField(max_length=10, null=True)
    product = models.ForeignKey(Buyer, models.PROTECT, null=True, related_name="+")

    class Meta:
        apps, app_label = registry, "odata"

    def __str__(self):
        return str(self.quantity)


class BuyerType(NestedType):
    model = Buyer
    fields = (Key("BuyerGuid"),)


class LabelType(NestedType):
    model = Label
    fields = (Key("LabelId", source="id"),)


class StreetType(NestedType):
    fields = (Optional("Street", aliases=("StreetAddress",)), Optional("Country"))


class LineType(NestedType):
    model = Line
    fields = (
        Key("LineId", source="id"),
        Must("Quantity"),
        Optional("Note"),
        RefersTo("Product", BuyerType),
    )


class OrderResource(Resource):
    model = Order
    path = "order"
    fields = (
        Key("OrderGuid"),
        Must("Name"),
        Optional("Note"),
        Optional("Email"),
        Optional("Payee", aliases=("PayeeId",)),
        Optional("Colour"),
        Optional("Urgent"),
        Optional("Day"),
        Optional("Moment"),
        Optional("Size"),
        Optional("Hours"),
        Optional("Serial"),
        ReadOnly("Total"),
        Optional("Amount", source="total"),
        Optional("SellerGuid", source="seller"),
        Embedded("Address", StreetType),
        RefersTo("Buyer", BuyerType),
        RefersTo("Labels", LabelType, many=True),
        Contains("Lines", LineType),
    )


ORDERS = bind_resource(OrderResource)


class FirmType(OrderResource):
    """Orders of which much is required."""

    fields = (
        Must("Name"),
        Key("OrderGuid"),
        RefersTo("Buyer", BuyerType, required=True),
        Contains("Lines", LineType, required=True),
    )


FIRM = bind_resource(FirmType)


def read(*records, of=ORDERS):
    return read_records(of, json.dumps({"value": records}).encode())


def draft_of(**members):
    body = read({"Name": "a", **members})
    assert not body.faults, body.faults
    return body.drafts[0]


def faults_of(*records, of=ORDERS):
    return [(fault.code, fault.target) for _, fault in read(*records, of=of).faults]


def fault_of(**members):
    """The one fault of a record, as (code, member)."""
    ((code, target),) = faults_of({"Name": "a", **members})
    return code, target.removeprefix("value[0]/")


# --- what is read ---------------------------------------------------------------------------------------


def test_a_record_is_read_by_python_names_with_its_parts():
    draft = draft_of(
        Amount="8.5",
        SellerGuid=str(GUID).upper(),
        Address={"StreetAddress": "1 High St", "Country": "AU"},
        Buyer={"BuyerGuid": str(GUID), "Name": "ignored"},
        Labels=[{"LabelId": 3}, {"LabelId": 4}],
        Lines=[{"Quantity": 2, "Product": {"BuyerGuid": str(GUID)}}],
    )
    assert (draft.name, draft.seller, draft.buyer, draft.labels) == ("a", GUID, GUID, [3, 4])
    assert (draft.street, draft.country) == ("1 High St", "AU")
    (line,) = draft.lines
    assert (line.quantity, line.product, line.note) == (Decimal(2), GUID, None)
    assert draft.given == {"name", "total", "seller", "street", "country", "buyer", "labels", "lines"}
    assert line.given == {"quantity", "product"}


def test_members_left_out_are_null_or_the_default():
    draft = draft_of()
    assert (draft.note, draft.payee, draft.urgent, draft.buyer, draft.labels, draft.lines, draft.country) == (
        None,
        "Provider",
        False,
        None,
        [],
        [],
        None,
    )
    assert draft.given == {"name"}


def test_null_is_a_value_of_what_may_be_null_and_else_as_if_left_out():
    draft = draft_of(Note=None, Payee=None, Urgent=None, Address=None, Buyer=None, Labels=None, Lines=None)
    assert (draft.note, draft.payee, draft.urgent, draft.labels) == (None, "Provider", False, [])
    assert draft.given == {"name", "note", "buyer"}


def test_lists_of_one_draft_are_not_those_of_another():
    first, second = read({"Name": "a"}, {"Name": "b"}).drafts
    first.labels.append(1)
    assert second.labels == []


def test_texts_are_kept_as_given_and_blank_ones_are_null():
    assert draft_of(Note=" a ").note == " a "
    assert draft_of(Note="").note is None
    assert draft_of(Note=" \t\u3000").note is None
    assert draft_of(Note=" " * 90).note is None
    assert draft_of(Note="\u202e\u200b\x07😀").note == "\u202e\u200b\x07😀"
    assert draft_of(Colour="").colour is None


def test_a_text_is_measured_in_characters():
    assert draft_of(Note="😀" * 10).note == "😀" * 10
    assert fault_of(Note="😀" * 11) == ("TooLong", "Note")


def test_unknown_and_read_only_members_are_ignored_whatever_they_hold():
    draft = draft_of(OrderGuid=5, Total="x", Nobody={"deep": [1, {"a": None}]}, **{"@odata.type": "#x"})
    assert draft.total is None
    assert not hasattr(draft, "guid")


def test_one_record_without_value_is_bare():
    body = read_records(ORDERS, b'{"Name": "a"}')
    assert body.bare
    assert body.drafts[0].name == "a"
    assert not read({"Name": "a"}).bare


def test_faults_of_a_bare_record_have_its_members_as_targets():
    body = read_records(ORDERS, b'{"Name": "a", "Size": "x", "Buyer": {}}')
    assert [fault.target for _, fault in body.faults] == ["Size", "Buyer/BuyerGuid"]


def test_a_put_body_is_bare_and_its_value_an_unknown_member():
    assert read_record(ORDERS, b'{"Name": "a", "value": [1]}', BodyKind.WHOLE).drafts[0].name == "a"
    (found,) = read_record(ORDERS, b'{"value": [{"Name": "a"}]}', BodyKind.WHOLE).faults
    assert (found[1].code, found[1].target) == ("Required", "Name")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-07-01", (2026, 7, 1)),
        ("2026-07-01 00:00:00", (2026, 7, 1)),
        ("2026-07-01 23:59:59.999", (2026, 7, 1)),
        ("2026-06-30T14:00:00Z", (2026, 7, 1)),
        ("2026-07-01T09:30:00+10:00", (2026, 7, 1)),
        ("2026-06-30T23:30:00-05:00", (2026, 7, 1)),
    ],
)
def test_a_date_is_the_day_in_the_subscribers_zone(text, day):
    assert draft_of(Day=text).day == dt.date(*day)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-07-01", "2026-06-30T14:00"),
        ("2026-07-01 09:30:00", "2026-06-30T23:30"),
        ("2026-07-01 09:30:00.250", "2026-06-30T23:30:00.25"),
        ("2026-07-01T09:30:00+10:00", "2026-06-30T23:30"),
        ("2026-06-30T23:30:00Z", "2026-06-30T23:30"),
        ("2025-04-06T02:30", "2025-04-05T15:30"),  # twice: the first
    ],
)
def test_a_time_without_offset_is_local(text, utc):
    assert draft_of(Moment=text).moment == dt.datetime.fromisoformat(utc).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2025-02-30",
        "0000-00-00",
        "10000-01-01",
        "2026-W01-1",
        "20260701",
        "2026-07-01T25:00",
        "1/7/2026",
        "2026-07-01 10:00:60",
        "2026-07-01T10:00+99:99",
        "0001-01-01T00:00:00+14:00",
        "２０２６-07-01",
        "today",
    ],
)
def test_an_invalid_date_is_reported(text):
    assert fault_of(Day=text) == ("InvalidDate", "Day")
    assert fault_of(Moment=text) == ("InvalidDate", "Moment")


def test_a_time_that_a_clock_change_skips_is_reported():
    assert fault_of(Moment="2024-10-06T02:30") == ("InvalidDate", "Moment")


@pytest.mark.parametrize("word", ["Client", 1, "1"])
def test_an_enumeration_is_named_or_numbered(word):
    assert draft_of(Payee=word).payee == "Client"
    assert draft_of(PayeeId=word).payee == "Client"


@pytest.mark.parametrize("word", ["client", "2", 2, -1, "Provider ", "01"])
def test_a_word_that_is_no_choice_is_reported(word):
    assert fault_of(Payee=word) == ("NotAChoice", "Payee")


def test_an_enumeration_without_numbers_has_none():
    assert fault_of(Colour=0) == ("WrongType", "Colour")
    assert fault_of(Colour="0") == ("NotAChoice", "Colour")


@pytest.mark.parametrize(
    "literal", ["8.00", '"8.00"', "8", "8.0000", "8e0", "0.8e1", "80E-1", '"8"', "800e-2", '"08"']
)
def test_a_decimal_is_exact_and_has_its_columns_digits(literal):
    body = read_records(ORDERS, f'{{"Name": "a", "Amount": {literal}}}'.encode())
    assert str(body.drafts[0].total) == "8.00"


def test_a_decimal_never_passes_through_a_float():
    body = read_records(ORDERS, b'{"Name": "a", "Amount": 999999999999.99}')
    assert body.drafts[0].total == Decimal("999999999999.99")


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("1e400", "OutOfRange"),
        ("1e999999999", "InvalidNumber"),
        ("1e99999999999999999999", "InvalidNumber"),
        ("1000000000000", "OutOfRange"),
        ("1.005", "OutOfRange"),
        ("1e-400", "OutOfRange"),
        ('"NaN"', "InvalidNumber"),
        ('"Infinity"', "InvalidNumber"),
        ('"sNaN"', "InvalidNumber"),
        ('" 1"', "InvalidNumber"),
        ('"1_0"', "InvalidNumber"),
        ('"١"', "InvalidNumber"),
        ('"1e5"', "InvalidNumber"),
        ("true", "WrongType"),
        ("[]", "WrongType"),
        ("{}", "WrongType"),
        ('""', "InvalidNumber"),
    ],
)
def test_an_invalid_decimal_is_reported(literal, code):
    body = read_records(ORDERS, f'{{"Name": "a", "Amount": {literal}}}'.encode())
    assert [(fault.code, fault.target) for _, fault in body.faults] == [(code, "Amount")]


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("Size", 2**31, "OutOfRange"),
        ("Size", -(2**31) - 1, "OutOfRange"),
        ("Size", 10**400, "InvalidNumber"),
        ("Serial", 2**63, "OutOfRange"),
        ("Hours", 169, "OutOfRange"),
        ("Hours", -1, "OutOfRange"),
        ("Size", True, "WrongType"),
        ("Size", 1.0, "InvalidNumber"),
        ("Size", "1", "WrongType"),
    ],
)
def test_an_integer_is_a_whole_number_in_its_columns_range(member, value, code):
    assert fault_of(**{member: value}) == (code, member)


def test_integers_reach_to_the_ends_of_their_ranges():
    draft = draft_of(Size=-(2**31), Serial=2**63 - 1, Hours=168)
    assert (draft.size, draft.serial, draft.hours) == (-(2**31), 2**63 - 1, 168)


@pytest.mark.parametrize("value", ["true", 1, 0, "", []])
def test_a_boolean_is_true_or_false_and_nothing_else(value):
    assert fault_of(Urgent=value) == ("WrongType", "Urgent")


@pytest.mark.parametrize(
    ("value", "code"),
    [("x@y", "InvalidEmail"), ("plain", "InvalidEmail"), (" a@example.com", "InvalidEmail")],
)
def test_an_email_is_an_address(value, code):
    assert fault_of(Email=value) == (code, "Email")


@pytest.mark.parametrize(
    "value", ["", "x", "{" + str(GUID) + "}", str(GUID)[:-1], "urn:uuid:" + str(GUID), "\ud800"]
)
def test_an_invalid_guid_is_reported(value):
    assert fault_of(SellerGuid=value) == ("InvalidGuid", "SellerGuid")
    assert fault_of(Buyer={"BuyerGuid": value}) == ("InvalidGuid", "Buyer/BuyerGuid")


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udc00", "a\\udfffb"])
def test_texts_that_cannot_be_stored_are_reported(escape):
    body = read_records(ORDERS, f'{{"Name": "a", "Note": "{escape}"}}'.encode())
    assert [(fault.code, fault.target) for _, fault in body.faults] == [("InvalidText", "Note")]


# --- every fault of every record ------------------------------------------------------------------------


def test_every_fault_of_every_record_is_reported_in_order_with_its_target():
    line = {"Quantity": 1}
    assert faults_of(
        {"Name": "x" * 11, "Size": True},
        {"Name": "a"},
        7,
        {"Note": 5, "Address": "x", "Labels": [{"LabelId": 1}, {}, 3], "Lines": {}},
        {"Name": "a", "Lines": [line, {"Note": "x" * 11}, None], "Buyer": []},
    ) == [
        ("TooLong", "value[0]/Name"),
        ("WrongType", "value[0]/Size"),
        ("WrongType", "value[2]"),
        ("Required", "value[3]/Name"),
        ("WrongType", "value[3]/Note"),
        ("WrongType", "value[3]/Address"),
        ("Required", "value[3]/Labels[1]/LabelId"),
        ("WrongType", "value[3]/Labels[2]"),
        ("WrongType", "value[3]/Lines"),
        ("WrongType", "value[4]/Buyer"),
        ("Required", "value[4]/Lines[1]/Quantity"),
        ("TooLong", "value[4]/Lines[1]/Note"),
        ("WrongType", "value[4]/Lines[2]"),
    ]


def test_behind_many_faults_no_further_record_is_read(monkeypatch):
    monkeypatch.setattr("apps.odata.write.bodies.MAX_FAULTS", 3)
    assert faults_of({"Size": True}, {"Lines": [{}, {}]}, {}, {}) == [
        ("Required", "value[0]/Name"),
        ("WrongType", "value[0]/Size"),
        ("Required", "value[1]/Name"),
        ("Required", "value[1]/Lines[0]/Quantity"),
        ("Required", "value[1]/Lines[1]/Quantity"),
        ("NotRead", "value[2]"),
    ]


def test_a_missing_object_or_an_empty_list_is_reported_on_the_member_itself():
    assert faults_of({"Name": "a", "Lines": []}, of=FIRM) == [
        ("Required", "value[0]/Buyer"),
        ("Required", "value[0]/Lines"),
    ]


def test_an_invalid_member_cannot_be_read_and_the_draft_is_invalid():
    body = read({"Name": 5, "Address": 5, "Lines": [{}]})
    draft = body.drafts[0]
    for name in ("name", "street", "country"):
        with pytest.raises(InvalidValue):
            getattr(draft, name)
    with pytest.raises(InvalidValue):
        _ = draft.lines[0].quantity
    assert "lines[0]" in draft.invalid


def test_messages_start_with_the_member():
    (_, fault), *_ = read({"Name": ""}).faults
    assert fault.message == "Name is required."
    (_, fault), *_ = read({"Name": "x" * 12}).faults
    assert fault.message == "Name may have 10 characters at most, and has 12."


@pytest.mark.parametrize(
    ("raw", "target"),
    [
        ('{"Name": "a", "Name": "a"}', "Name"),
        ('{"Name": "a", "Nobody": 1, "Nobody": 2}', "Nobody"),
        ('{"Name": "a", "Nobody": [{"x": {"y": 1, "y": 1}}]}', "Nobody[0]/x/y"),
        ('{"value": [{"Name": "a", "Address": {"Street": "", "Street": "x"}}]}', "value[0]/Address/Street"),
        ('{"Name": "a", "Lines": [{"Quantity": 1, "Quantity" : 1}]}', "Lines[0]/Quantity"),
        ('{"Name": "a", "Buyer": {"BuyerGuid": null, "BuyerGuid": null}}', "Buyer/BuyerGuid"),
        ('{"Name": "http://a", "Note": "\\": ", "N\\u0061me": "b"}', "Name"),
        ('{"Name": "a", "Address": {"Street": "x", "StreetAddress": "x"}}', "Address/StreetAddress"),
    ],
)  # fmt: skip
def test_a_member_given_twice_is_reported(raw, target):
    body = read_records(ORDERS, raw.encode())
    assert (body.faults[0][1].code, body.faults[0][1].target) == ("Duplicate", target)
    assert body.drafts[-1].invalid


def test_colons_and_braces_in_texts_do_not_look_like_structure():
    note = '": {[ :'
    assert draft_of(Note=note, Nobody={"a": [note]}).note == note


# --- bodies that are none -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"  ",
        b'{"a": "',
        b"null",
        b"[]",
        b'"x"',
        b"1",
        b"{}",
        b'{"valu": []}',
        b'{"value": []}',
        b"{]",
        b'{"value": 5}',
        b'{"value": null}',
        b'{"value": [{"Name": "a"}]} x',
        b"\xff\xfe{\x00}\x00",
        b"\xc0\x80",
        b'{"Name": "\xff"}',
        b'{"Name": "a\nb"}',
        b'{"Name": "a", "Amount": NaN}',
        b'{"Name": -Infinity}',
        b'{"value": [{"Name": "a"}], "value": [{"Name": "b"}]}',
        b'{"Name": "a",}',
        b"{'Name': 'a'}",
    ],
)
def test_what_is_no_body_is_refused(raw):
    with pytest.raises(BadBody):
        read_records(ORDERS, raw)


def test_a_byte_order_mark_is_let_pass():
    assert read_records(ORDERS, b'\xef\xbb\xbf{"Name": "a"}').drafts[0].name == "a"


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100000,
        b'{"value":' * 100000,
        b'{"Name":"a","x":' + b"[" * 50000 + b"]" * 50000 + b"}",
        b'{"Name":"a","x":' + b'{"y":' * 1000 + b"1" + b"}" * 1001,
    ],
)
def test_bodies_that_nest_too_deep_are_refused_at_once(raw):
    began = time.monotonic()
    with pytest.raises(BadBody, match="32 levels"):
        read_records(ORDERS, raw)
    assert time.monotonic() - began < 1


def test_a_bare_list_is_refused_with_its_form():
    with pytest.raises(BadBody, match=r'a list is "value": {"value": \[\.\.\.\]}'):
        read_records(ORDERS, b'[{"Name": "a"}]')


def test_nesting_up_to_the_limit_is_let_pass(monkeypatch):
    monkeypatch.setattr("apps.odata.write.json_parser.MAX_DEPTH", 5)
    nested = b'{"Name": "a", "x": ' + b"[" * 4 + b"]" * 4 + b"}"
    assert read_records(ORDERS, nested).drafts[0].name == "a"
    with pytest.raises(BadBody, match="5 levels"):
        read_records(ORDERS, nested.replace(b"[]", b"[[]]"))


def test_too_many_records_are_refused_with_the_limit(settings):
    settings.API_MAX_RECORDS = 3
    assert len(read(*[{"Name": "a"}] * 3).drafts) == 3
    with pytest.raises(TooLarge, match="3 records"):
        read(*[{"Name": "a"}] * 4)
    with pytest.raises(TooLarge, match="3 records"):
        read(*[{"Name": 5}] * 4)


def test_millions_of_records_are_refused_before_anything_is_made_of_them():
    raw = b'{"value":[' + b"{}," * 3_000_000 + b"{}]}"
    began = time.monotonic()
    with pytest.raises(TooLarge):
        read_records(ORDERS, raw)
    assert time.monotonic() - began < 1


def test_too_many_lines_are_refused_with_the_limit(settings):
    settings.API_MAX_LINES = 2
    lines = [{"Quantity": 1}] * 3
    assert len(draft_of(Lines=lines[:2]).lines) == 2
    with pytest.raises(TooLarge, match="Lines may hold 2 items"):
        draft_of(Lines=lines)


# --- whatever is sent ------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | texts | st.sampled_from(
    ["", " ", "2026-07-01", "2026-07-01 09:30:00", "Client", "1", "8.5", str(GUID), GUID.hex, "a@b.com"]
)  # fmt: skip
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
)
references = st.fixed_dictionaries({}, optional={"BuyerGuid": st.just(str(GUID)) | scalars})
lines = st.fixed_dictionaries(
    {}, optional={"Quantity": st.just(1) | scalars, "Note": scalars, "Product": references}
)


def members(**typical):
    return st.fixed_dictionaries({}, optional={name: one | anything for name, one in typical.items()})


order_bodies = members(
    Name=st.just("a"),
    Note=texts,
    Email=st.just("a@example.com"),
    Payee=st.sampled_from(["Client", 0, "1", ""]),
    Colour=st.just("Red"),
    Urgent=st.booleans(),
    Day=st.just("2026-07-01"),
    Moment=st.just("2026-07-01T09:30:00Z"),
    Size=st.integers(-3, 3),
    Hours=st.integers(0, 168),
    Amount=st.integers(-9, 9) | st.just("2.50"),
    SellerGuid=st.just(str(GUID)),
    Address=st.fixed_dictionaries({}, optional={"Street": texts, "StreetAddress": texts, "Country": texts}),
    Buyer=references,
    Labels=st.lists(st.fixed_dictionaries({"LabelId": st.integers(1, 3)}), max_size=2),
    Lines=st.lists(lines, max_size=2),
    Nobody=anything,
)


@given(st.lists(order_bodies, min_size=1, max_size=3))
def test_every_attribute_of_a_draft_has_a_value_or_is_invalid(records):
    body = read(*records)
    for number, draft in enumerate(body.drafts):
        assert bool(draft.invalid) is any(at == number for at, _ in body.faults)
        for name in record_reader(ORDERS.type).attributes:
            if name in draft.invalid:
                with pytest.raises(InvalidValue):
                    getattr(draft, name)
            else:
                getattr(draft, name)


def test_no_member_is_read_as_another_type_than_its_columns():
    draft = draft_of(
        Day="2026-07-01 00:00:00", Amount=8.5, Payee=1, Lines=[{"Quantity": 1}], Email="a@example.com"
    )
    assert (draft.day, draft.total, draft.payee) == (dt.date(2026, 7, 1), Decimal("8.50"), "Client")
    assert draft.lines[0].quantity == Decimal("1.0000")


def test_drafts_are_of_the_class_that_the_declaration_names():
    class OrderDraft(Draft):
        weight: Extra[int] = 0

    class LineDraft(Draft):
        pass

    class OrderLine(LineType):
        draft_class = LineDraft

    class HeavyOrder(OrderResource):
        draft_class = OrderDraft
        fields = (Key("OrderGuid"), Must("Name"), Contains("Lines", OrderLine))

    (draft,) = read({"Name": "a", "Lines": [{"Quantity": 1}]}, of=bind_resource(HeavyOrder)).drafts
    assert type(draft) is OrderDraft
    assert draft.weight == 0
    assert [type(line) for line in draft.lines] == [LineDraft]
