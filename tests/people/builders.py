"""People and their bodies, as little of them as will do; words given replace or add."""

import itertools
import json

from apps.base.declaration.resource import BodyKind
from apps.base.declaration.service import get_service
from apps.odata.write.dispatch import Target, create, update
from apps.people.models import Client, Contact, Location, Position, Role, Staff, Team

_numbers = itertools.count(1)


def a_lookup(model, **columns):
    record = model(**{"name": f"{model.__name__} {next(_numbers)}", **columns})
    record.save()
    return record


def a_role(**columns):
    return a_lookup(Role, **columns)


def a_position(**columns):
    return a_lookup(Position, **columns)


def a_location(**columns):
    return a_lookup(Location, **columns)


def a_team(**columns):
    return a_lookup(Team, **columns)


def a_client_body(**members):
    return {"BusinessName": f"Client {next(_numbers)}", **members}


def a_contact_body(**members):
    return {"FirstName": "Ada", "LastName": "Byron", **members}


def a_staff_body(role=None, **members):
    return {
        "FirstName": "Grace",
        "LastName": "Hopper",
        "PrimaryEmail": f"grace{next(_numbers)}@example.com",
        "UsePrimaryEmail": True,
        "PrimaryRole": {"RoleGuid": str((role or a_role()).pk)},
        **members,
    }


def a_client(**members):
    return Client.objects.get(pk=posted("client", a_client_body(**members))[0])


def a_contact(**members):
    return Contact.objects.get(pk=posted("contact", a_contact_body(**members))[0])


def a_staff_member(**members):
    return Staff.objects.get(pk=posted("staff", a_staff_body(**members))[0])


def posted(path, *bodies):
    """The keys of records stored through the interface's write path."""
    return create(entity_set(path), as_body(*bodies), None).keys


def put_staff(key, body, check=None, records=None):
    """Replace a staff member through the interface's write path."""
    target = Target(
        entity_set("staff"), key, Staff.objects.all() if records is None else records, None, check
    )
    update(target, json.dumps(body).encode(), BodyKind.WHOLE)


def as_body(*bodies):
    return json.dumps({"value": bodies}).encode()


def entity_set(path):
    return get_service().by_path[path]
