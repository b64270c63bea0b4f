"""A small service of our own to ask: jobs with lines, tags and an owner, where anything may be null."""

import datetime as dt
import random
import uuid
from decimal import Decimal

from django.apps.registry import Apps
from django.db import models

from apps.base.declaration.resource import (
    Contains,
    Embedded,
    Key,
    NestedType,
    Numbered,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    UnrestrictedResource,
)
from apps.base.declaration.schema import bind_resource

#: A registry apart, so that no migration is wanted for these models.
registry = Apps(["apps.odata"])


class Status(Numbered):
    OPEN = "Open", 100
    HELD = "OnHold", 200
    DONE = "Done", 300


class Sample(models.Model):
    class Meta:
        abstract = True

    def __str__(self):
        return f"{type(self).__name__} {self.pk}"


class Owner(Sample):
    guid = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=50, null=True)

    class Meta:
        apps, app_label = registry, "odata"


class Tag(Sample):
    name = models.CharField(max_length=50)

    class Meta:
        apps, app_label = registry, "odata"


class Job(Sample):
    guid = models.UUIDField(primary_key=True)
    code = models.CharField(max_length=20)
    name = models.CharField(max_length=50, null=True)
    size = models.IntegerField(null=True)
    rank = models.SmallIntegerField()
    price = models.DecimalField(max_digits=14, decimal_places=4, null=True)
    total = models.DecimalField(max_digits=14, decimal_places=2)
    urgent = models.BooleanField(null=True)
    start = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    created = models.DateTimeField()
    status = models.CharField(max_length=20, choices=Status.choices, null=True)
    suburb = models.CharField(max_length=50, null=True)
    state = models.CharField(max_length=50, null=True)
    secret = models.CharField(max_length=50, default="secret")
    owner = models.ForeignKey(Owner, models.PROTECT, null=True, related_name="jobs")
    tags = models.ManyToManyField(Tag, related_name="jobs")

    class Meta:
        apps, app_label = registry, "odata"


class Line(Sample):
    job = models.ForeignKey(Job, models.CASCADE, related_name="lines")
    note = models.CharField(max_length=50, null=True)
    quantity = models.DecimalField(max_digits=14, decimal_places=4, null=True)
    owner = models.ForeignKey(Owner, models.PROTECT, null=True, related_name="+")

    class Meta:
        apps, app_label = registry, "odata"


class Pick(Sample):
    line = models.ForeignKey(Line, models.CASCADE, related_name="picks")
    size = models.IntegerField(null=True)

    class Meta:
        apps, app_label = registry, "odata"


MODELS = (Owner, Tag, Job, Line, Pick)


class PlaceType(NestedType):
    fields = (Optional("Suburb"), Optional("State"))


class OwnerType(NestedType):
    model = Owner
    fields = (Key("OwnerGuid"), Optional("Name"))


class TagType(NestedType):
    model = Tag
    fields = (Key("TagId", source="id"), Optional("Name"))


class PickType(NestedType):
    model = Pick
    fields = (Optional("Size"),)


class LineType(NestedType):
    model = Line
    fields = (
        Key("LineId", source="id"),
        Optional("Note"),
        Optional("Quantity"),
        RefersTo("Owner", OwnerType),
        Contains("Picks", PickType),
    )


class JobResource(UnrestrictedResource):
    model = Job
    path = "job"
    order = ("-created",)
    fields = (
        Key("JobGuid"),
        Optional("Code"),
        Optional("Name"),
        Optional("Size"),
        Optional("Rank"),
        Optional("Price"),
        ReadOnly("Total"),
        Optional("Urgent"),
        Optional("Start"),
        Optional("Moment"),
        ReadOnly("Created"),
        Optional("Status"),
        Optional("OwnerGuid", source="owner"),
        Property(name="Secret", source="secret", behaviour=Optional("x").behaviour, write_only=True),
        Embedded("Place", PlaceType),
        RefersTo("Owner", OwnerType),
        RefersTo("Tags", TagType, many=True),
        Contains("Lines", LineType),
        Contains("Answers", LineType, source="lines", item_only=True),
    )


JOBS = bind_resource(JobResource)

NAMES = (
    *("", "a", "A", "b", "Zed", "alpha", "Alpha", "O'Neil", " pad ", "a%b_c\\d", "100%"),
    *("Éclair", "éclair", "straße", "ΑΣ", "日本", "\u3000wide", "😀 mile", "aXb", "_"),
)
NOTES = ("a", "b", "alpha", "", "Note")
SIZES = (0, 1, 2, 3, -1, -7, 5, 100, 2**31 - 1)
AMOUNTS = tuple(map(Decimal, ("0", "0.1", "0.3", "-2.5", "2.5", "1.005", "8", "99.9999", "-0.5", "3")))
TOTALS = tuple(map(Decimal, ("0", "0.1", "8.1", "-3.25", "999999999.99", "2.5", "3")))
DATES = (
    dt.date(2026, 7, 1),
    dt.date(2026, 6, 30),
    dt.date(2024, 2, 29),
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
)
MOMENTS = (
    dt.datetime(2026, 6, 30, 13, 59, 59, 999999, dt.UTC),
    dt.datetime(2026, 6, 30, 14, 0, tzinfo=dt.UTC),  # midnight in Sydney
    dt.datetime(2026, 7, 1, 0, 30, 15, 250000, dt.UTC),
    dt.datetime(2026, 1, 1, 5, 0, 0, 1, dt.UTC),
    dt.datetime(1969, 12, 31, 23, 0, tzinfo=dt.UTC),
)
WORDS = ("Sydney", "Perth", "NSW", "wa")


class Records(list):
    """The jobs; a test that fails need not print them all."""

    def __repr__(self):
        return f"<{len(self)} jobs>"


def records(number=60, seed=7):
    """What the jobs are, as the wire would show them; the same at every call."""
    chance = random.Random(seed)

    def maybe(values, odds=0.25):
        return None if chance.random() < odds else chance.choice(values)

    owners = [
        {"OwnerGuid": uuid.UUID(int=at + 1), "Name": name}
        for at, name in enumerate(("a", "Zed", None, "Éclair"))
    ]
    tags = [{"TagId": at + 1, "Name": name} for at, name in enumerate(("a", "b", "Zed"))]
    lines = iter(range(1, 10_000))
    return Records(
        {
            "JobGuid": uuid.UUID(int=chance.getrandbits(128)),
            "Code": chance.choice(NAMES),
            "Name": maybe(NAMES),
            "Size": maybe(SIZES),
            "Rank": chance.choice((1, 2, 3)),
            "Price": maybe(AMOUNTS),
            "Total": chance.choice(TOTALS),
            "Urgent": maybe((True, False)),
            "Start": maybe(DATES),
            "Moment": maybe(MOMENTS),
            "Created": chance.choice(MOMENTS),
            "Status": maybe(Status.values),
            "Place": {"Suburb": maybe(WORDS, 0.5), "State": maybe(WORDS, 0.5)},
            "Owner": (owner := maybe(owners)),
            "OwnerGuid": owner and owner["OwnerGuid"],
            "Tags": chance.sample(tags, chance.choice((0, 0, 1, 2))),
            "Lines": [
                {
                    "LineId": next(lines),
                    "Note": maybe(NOTES),
                    "Quantity": maybe(AMOUNTS),
                    "Owner": maybe(owners),
                    "Picks": [{"Size": maybe(SIZES)} for _ in range(chance.choice((0, 1, 2)))],
                }
                for _ in range(chance.choice((0, 0, 1, 2, 3)))
            ],
        }
        for _ in range(number)
    )


def store(jobs):
    """Put the records into their tables."""
    owners = {job["OwnerGuid"]: job["Owner"] for job in jobs if job["Owner"]}
    for job in jobs:
        owners |= {line["Owner"]["OwnerGuid"]: line["Owner"] for line in job["Lines"] if line["Owner"]}
    Owner.objects.bulk_create(Owner(guid=guid, name=owner["Name"]) for guid, owner in owners.items())
    Tag.objects.bulk_create(
        {tag["TagId"]: Tag(tag["TagId"], tag["Name"]) for j in jobs for tag in j["Tags"]}.values()
    )
    plain = (
        "code",
        "name",
        "size",
        "rank",
        "price",
        "total",
        "urgent",
        "start",
        "moment",
        "created",
        "status",
    )
    Job.objects.bulk_create(
        Job(
            guid=job["JobGuid"],
            suburb=job["Place"]["Suburb"],
            state=job["Place"]["State"],
            owner_id=job["OwnerGuid"],
            **{name: job[name.capitalize()] for name in plain},
        )
        for job in jobs
    )
    Job.tags.through.objects.bulk_create(
        Job.tags.through(job_id=job["JobGuid"], tag_id=tag["TagId"]) for job in jobs for tag in job["Tags"]
    )
    Line.objects.bulk_create(
        Line(
            id=line["LineId"],
            job_id=job["JobGuid"],
            note=line["Note"],
            quantity=line["Quantity"],
            owner_id=line["Owner"] and line["Owner"]["OwnerGuid"],
        )
        for job in jobs
        for line in job["Lines"]
    )
    Pick.objects.bulk_create(
        Pick(line_id=line["LineId"], size=pick["Size"])
        for j in jobs
        for line in j["Lines"]
        for pick in line["Picks"]
    )
