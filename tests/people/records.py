"""Builders of people's records: each test states only what is particular to it."""

from contextlib import contextmanager
from functools import cache
from itertools import count
from unittest import mock

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.template import engines
from django.template.response import SimpleTemplateResponse

from apps.core.site import BackOfficeSite
from apps.people.models import Client, Contact, Role, Staff

PASSWORD = "correct horse battery"
_number = count(1)


@cache
def password_hash():
    """Made once: it is slow on purpose."""
    return make_password(PASSWORD)


def a_role(*permissions, **fields):
    """A role that grants permissions like `people.view_client`."""
    role = Role.objects.create(**{"name": f"Role R{next(_number)}", **fields})
    for permission in permissions:
        app, _, codename = permission.partition(".")
        role.permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return role


def a_staff_member(**fields):
    number = next(_number)
    given = {
        "first_name": "Ada",
        "last_name": f"Byron{number}",
        "primary_email": f"ada{number}@example.org",
        "use_primary_email": True,
        "password": password_hash(),
        **fields,
    }
    return Staff.objects.create(**given, **({} if "role" in given else {"role": a_role()}))


def an_administrator(**fields):
    return a_staff_member(role=a_role(all_permissions=True), **fields)


def a_client(**fields):
    return Client.objects.create(**{"business_name": f"Organisation {next(_number)}", **fields})


def a_contact(**fields):
    return Contact.objects.create(**{"first_name": "Mia", "last_name": f"Nguyen{next(_number)}", **fields})


@contextmanager
def unrendered():
    """Pages have their context without the menu, and no text: these are most of what a page costs."""
    blank = engines["django"].from_string("")
    with (
        mock.patch.object(SimpleTemplateResponse, "resolve_template", return_value=blank),
        mock.patch.object(BackOfficeSite, "get_sidebar_list", return_value=[]),
    ):
        yield


@unrendered()
def get_unrendered(client, address, query=None):
    return client.get(address, query)


def form_data(page, **changed):
    """What a browser would send back of the form on a page, with some fields changed."""
    data = {}
    for bound in page.context["adminform"].form:
        data |= sent(bound, bound.value())
    data |= {name: value for name, value in changed.items() if value is not None}
    return {name: value for name, value in data.items() if changed.get(name, "") is not None}


def sent(bound, value):
    if hasattr(bound.field.widget, "decompress"):
        parts = enumerate(bound.field.widget.decompress(value))
        return {f"{bound.html_name}_{index}": str(part or "") for index, part in parts}
    if value is None or value is False:
        return {}
    if isinstance(value, list | tuple):
        return {bound.html_name: [getattr(each, "pk", each) for each in value]}
    return {bound.html_name: "on" if value is True else str(value)}
