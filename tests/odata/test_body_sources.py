"""Members that show one field and set another; references that a body says are null."""

import datetime as dt
import json

import pytest

from apps.base.declaration.resource import Key, Optional, RefersTo, UnrestrictedResource
from apps.base.declaration.schema import bind_resource
from apps.base.drafts import wire_target
from apps.odata.metadata.json_schema import body_schema
from apps.odata.write.bodies import read_records
from tests.odata.sample import Job, OwnerType


class TaskResource(UnrestrictedResource):
    """A job whose day is shown, and whose moment is set."""

    model = Job
    path = "task"
    fields = (
        Key("JobGuid"),
        Optional("Start", body_source="moment"),
        RefersTo("Owner", OwnerType),
    )


TASKS = bind_resource(TaskResource)
OWNER = "0190163d-8694-739b-aea5-966c26f8ad91"


def draft_of(record):
    return read_records(TASKS, json.dumps({"value": [record]}).encode()).drafts[0]


def test_a_member_is_set_in_another_field_than_the_one_it_shows():
    draft = draft_of({"Start": "2026-07-01 09:30:00"})
    assert draft.moment == dt.datetime(2026, 6, 30, 23, 30, tzinfo=dt.UTC)
    assert draft.given == {"moment"}
    assert "start" not in vars(draft)


def test_both_fields_have_the_members_name_and_their_own_type():
    start = TASKS.type.properties["Start"]
    assert (start.path, start.edm.name) == ("start", "Edm.Date")
    assert start.body_property.edm.name == "Edm.DateTimeOffset"
    assert wire_target(TASKS.type, "moment") == "Start"
    assert body_schema(TASKS.type)["properties"]["Start"]["format"] == "date-time"


@pytest.mark.parametrize(("record", "given"), [({}, set()), ({"Owner": None}, {"owner"})])
def test_a_reference_said_to_be_null_is_given(record, given):
    draft = draft_of({"Start": None, **record})
    assert draft.owner is None
    assert draft.given == {"moment"} | given


def test_a_reference_that_names_a_record_is_given():
    assert draft_of({"Owner": {"OwnerGuid": OWNER}}).given == {"owner"}
