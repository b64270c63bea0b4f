"""Every mistake a declaration can hold is told at start, by its id and with a hint."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import models

from apps.base.declaration.resource import (
    DELETE,
    GET,
    POST,
    PUT,
    Behaviour,
    Contains,
    Embedded,
    Enumeration,
    Key,
    NestedType,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
    Resource,
    UnrestrictedResource,
)
from apps.base.declaration.service import Service, get_service
from apps.base.drafts import Draft
from apps.odata import checks
from tests.odata import sample


class Weight(Enumeration):
    LIGHT = "Light", 1
    HEAVY = "Heavy", "Very heavy"


class Size(Enumeration):
    SMALL = "Small", 1
    LARGE = "Large", 1


class Finish(models.TextChoices):
    MATT = "Matt"
    SHINY = "Shiny"


class Region(Enumeration):
    EAST = "East", 1
    NORTH_WEST = "North West", 2


class Parcel(models.Model):  # noqa: DJ008  (nobody looks at one)
    guid = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=20)
    note = models.CharField(max_length=20, null=True)
    weight = models.CharField(max_length=5, choices=Weight)
    size = models.CharField(max_length=5, choices=Size)
    finish = models.CharField(max_length=5, choices=Finish)
    region = models.CharField(max_length=10, choices=Region)
    data = models.BinaryField()
    job = models.ForeignKey(sample.Job, models.PROTECT, null=True, related_name="+")

    class Meta:
        apps, app_label = sample.registry, "odata"


class NoteType(NestedType):
    fields = (ReadOnly("Note"),)


class KeylessJob(NestedType):
    model = sample.Job
    fields = (ReadOnly("Code"),)


class JobBrief(NestedType):
    model = sample.Job
    fields = (Key("JobGuid"), ReadOnly("Code"))


class LineNote(NestedType):
    model = sample.Line
    fields = (Optional("Note"),)


class Good(UnrestrictedResource):
    """A resource with nothing wrong; the others differ from it in what they test."""

    model = Parcel
    path = "parcel"
    order = ("name",)
    methods = (GET, POST)
    fields = (Key("ParcelGuid"), Required("Name"))
    create = dict


class MisspeltDraft(Draft):
    nmae: str


def resource(**differences):
    return type("ParcelResource", (Good,), {"__doc__": Good.__doc__, **differences})


def fields(*members):
    return resource(fields=(Key("ParcelGuid"), *members))


def messages_about(*resources):
    """The messages about resources, each with its id and its hint."""
    return checks.check_service(Service(*resources, namespace="Test"))


def test_a_valid_declaration_has_no_messages():
    assert messages_about(Good) == []


def test_this_service_has_no_messages():
    assert checks.check_service(get_service()) == []


@pytest.mark.parametrize(
    ("broken", "id", "text"),
    [
        (resource(model=None), "odata.E001", "has no model"),
        (resource(fields=(Required("Name"),)), "odata.E002", "has no Key"),
        (fields(Required("Name"), Optional("Name", source="note")), "odata.E003", "declares Name twice"),
        (fields(Optional("Nmae")), "odata.E004", "is name meant?"),
        (fields(RefersTo("Name", JobBrief)), "odata.E005", "name is not a relation"),
        (fields(RefersTo("Job", sample.OwnerType)), "odata.E006", "the model of job is Job"),
        (fields(RefersTo("Job", JobBrief, many=True)), "odata.E007", "job is one record"),
        (fields(ReadOnly("Data")), "odata.E008", "BinaryField"),
        (fields(ReadOnly("Lines", source="job__lines")), "odata.E008", "a list of records"),
        (resource(create=None), "odata.E009", "has the method POST and no create"),
        (resource(methods=(GET, POST, PUT)), "odata.E009", "has the method PUT and no update"),
        (resource(alternate_keys=("Name",)), "odata.E024", "has no unique member Name"),
        (resource(methods_of_2_1=(DELETE,)), "odata.E009", "has the method DELETE and no archive"),
        (resource(visible_to=Resource.visible_to), "odata.E010", "does not override visible_to"),
        (resource(path="parcel-post"), "odata.E012", "'parcel-post'"),
        (resource(path=""), "odata.E012", "''"),
        (resource(path="par/cel"), "odata.E012", "'par/cel'"),
        (resource(name="Package"), "odata.E012", "the name Package and the path parcel"),
        (resource(path="container"), "odata.E011", "the entity container"),
        (fields(Optional("Post-Code", source="note")), "odata.E013", "Post-Code"),
        (fields(Optional("1stNote", source="note")), "odata.E013", "1stNote"),
        (fields(Optional("Note"), Optional("NOTE", source="name")), "odata.E014", "both Note and NOTE"),
        (fields(Optional("Note", aliases=("note",))), "odata.E014", "both Note and note"),
        (fields(Optional("Note", aliases=("Note",))), "odata.E014", "both Note and Note"),
        (fields(Optional("Note", aliases=("Memo", "Memo"))), "odata.E014", "both Memo and Memo"),
        (fields(Optional("Code", source="job__code")), "odata.E015", "belongs to another record"),
        (fields(Contains("Lines", LineNote, source="job__lines")), "odata.E015", "belongs to another record"),
        (fields(Required("Weight")), "odata.E016", f"{__name__}.Weight.HEAVY has no number"),
        (fields(Required("Size")), "odata.E016", f"{__name__}.Size has 1 for both SMALL and LARGE"),
        (fields(Required("Finish")), "odata.E016", f"{__name__}.Finish has no numbers"),
        (fields(Required("Region")), "odata.E016", f"{__name__}.Region has 'North West'"),
        (resource(order=("-name", "colour")), "odata.E017", "ordered by colour"),
        (resource(search=("name", "colour")), "odata.E017", "searches colour"),
        (resource(search=("job",)), "odata.E017", "searches job"),
        (fields(Embedded("Notes", NoteType)), "odata.E018", "no member of it is"),
        (
            fields(Property(name="Note", source="note", behaviour=Behaviour.READ_ONLY, write_only=True)),
            "odata.E019",
            "write-only and not writable",
        ),
        (fields(RefersTo("Job", KeylessJob)), "odata.E020", "have no Key"),
        (
            fields(Embedded("Notes", NoteType, item_only=True, read_only=True)),
            "odata.E021",
            "one record only, and its type has no Key",
        ),
        (fields(Required("Note")), "odata.W001", "Note is required"),
        (fields(RefersTo("Job", JobBrief, required=True)), "odata.W001", "Job is required"),
        (fields(Optional("Count", source="note")), "odata.W002", "?Count= is a query option"),
        (fields(ReadOnly("Version", source="note")), "odata.W002", "?Version="),
        (resource(__doc__=None), "odata.W003", "no docstring"),
        (resource(draft_class=MisspeltDraft), "odata.E023", "MisspeltDraft.nmae is no member"),
    ],
)
def test_an_invalid_declaration_has_a_message(broken, id, text):
    (message,) = messages_about(broken)
    assert message.id == id
    assert text in message.msg
    assert message.hint
    assert message.obj is broken


def test_an_invalid_nested_type_has_a_message():
    class BadLine(NestedType):
        model = sample.Line
        fields = (Key("LineId", source="id"), Optional("Line-Note", source="note"))

    class BadJob(Good):
        """Parcels of another kind."""

        model = sample.Job
        path = "job"
        order = ("code",)
        fields = (Key("JobGuid"), Contains("Lines", BadLine, order=("colour",)))

    assert {message.id for message in messages_about(BadJob)} == {"odata.E013", "odata.E017"}


def test_what_is_read_only_may_belong_to_another_record():
    assert messages_about(fields(ReadOnly("Code", source="job__code"))) == []


def test_an_order_may_name_the_key():
    assert messages_about(resource(order=("-pk",))) == []


def test_two_resources_cannot_share_a_path():
    (message,) = messages_about(Good, resource(path="PARCEL", name="PARCEL"))
    assert (message.id, "path or name of Good" in message.msg) == ("odata.E011", True)


def test_a_navigation_between_sets_needs_a_free_name():
    class Clash(Good):
        """Parcels of another kind."""

        fields = (Key("ParcelGuid"), Optional("JobGuid", source="job"), Optional("Job", source="note"))

    class Jobs(Good):
        """Parcels of another kind."""

        model, path, order = sample.Job, "job", ("code",)
        fields = (Key("JobGuid"),)

    (message,) = messages_about(Clash, Jobs)
    assert (message.id, "has two members Job" in message.msg) == ("odata.E022", True)
    assert "set_navigation" in message.hint


def test_one_resources_mistake_hides_no_others():
    messages = messages_about(resource(model=None, path="one"), resource(order=("colour",), path="two"))
    assert {message.id for message in messages} == {"odata.E001", "odata.E017"}


def test_a_resource_without_a_path_is_reported_once():
    class Pathless(UnrestrictedResource):
        """Parcels of another kind."""

        model = Parcel
        fields = (Key("ParcelGuid"),)

    assert [message.id for message in messages_about(Pathless)] == ["odata.E012"]


def test_every_check_has_a_hint_and_a_test():
    (mark,) = (m for m in test_an_invalid_declaration_has_a_message.pytestmark if m.name == "parametrize")
    tried = {id for _, id, _ in mark.args[1]}
    assert tried | {"odata.E022"} == set(checks.HINTS)  # that needs two resources


def test_the_check_runs_at_start(monkeypatch):
    monkeypatch.setattr(checks, "get_service", lambda: Service(resource(order=("colour",))))
    with pytest.raises(SystemCheckError, match=r"odata\.E017"):
        call_command("check", "--tag", "odata")
