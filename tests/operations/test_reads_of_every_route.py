"""Each way by which values of people leave the service is in the read log, or is named with its reason."""

import json
import re

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db.models import F
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import get_resolver
from django.urls.resolvers import URLResolver

from apps.access.callers import EVERYTHING
from apps.access.models import ApiApplication, Webhook, WebhookMessage
from apps.base import clock
from apps.base.declaration.service import get_service
from apps.core import history
from apps.core.models import Change, FileExport, FileExportPart, FileImport, Notice, PersonalDataRead
from apps.core.notices import write_notices
from apps.core.read_log import READ_LOG, is_logged, key_bytes, log_page
from apps.funding.models import Claim
from apps.people.models import Contact, Staff
from apps.sales.models import Opportunity
from tests.api.caller import Caller, an_application
from tests.funding.admin_forms import run_list_action
from tests.funding.builders import a_claim
from tests.operations.persons import LAST_SERVICE, NAME

#: Addresses that show no value of a person: a reason each. ``*`` stands for anything.
WITHOUT_PERSONAL_DATA = {
    "/": "the start page",
    "/livez": "health",
    "/readyz": "health",
    "/metrics": "figures of the service",
    "/.well-known/security.txt": "where a vulnerability is reported",
    "/favicon.ico": "a picture",
    "/docs": "leads to the documentation",
    "/docs/*": "the documentation of the interface",
    "/connect/token": "tokens of applications",
    "/admin/login/": "where one signs in",
    "/admin/logout/": "ends the session",
    "/admin/account/*": "one's own login, second factors and sessions",
    "/admin/password_change/*": "one's own password",
    "/admin/jsi18n/": "texts of scripts",
    "/admin/r/*": "leads to another address",
    "/admin/people/": "links to the lists of an app",
    "*/add/": "an empty form; what it shows as chosen is logged, tested below",
    "*/delete/": "records of people are archived, not deleted: refused",
    "*/list-view/": "one's own saved filters of a list",
    "*/columns/": "stores which columns a list has",
    "/admin/core/fileexport/": "one's own exports: the kind of records and the number of rows",
    "/admin/core/fileexport/*/file/": "how far an export is",
    "/admin/core/fileexport/*/change/": "how far an export is",
    "*/history/": "the framework's own page, of models without a history",
    "/admin/core/fileexport/*/progress/": "how far an export is",
    "/admin/core/fileimport/": "names of files and numbers of rows",
    "/admin/core/fileimport/*/progress/": "how far an import is",
    "/admin/core/notice/read-all/": "marks notices as read",
    "/admin/core/notice/preference/": "whether notices are mailed",
    "/admin/core/notice/*": "leads to the page that a notice is about, which is logged",
    "/admin/core/subscriber/*": "the organisation's settings",
    "/admin/access/apiapplication/*": "programs and their scopes",
    "/admin/access/accesstoken/*": "when tokens end",
    "/admin/access/webhook/*": "addresses of programs",
    "/admin/access/webhookmessage/": "when messages were sent, not what is in them",
    "/admin/people/role/usual/": "roles that can be added",
    "/admin/payments/paymentsettings/*": "the organisation's own account",
    "/admin/payments/paymentrun/opening/": "a sum",
    "/admin/sales/opportunity/funnel/": "numbers and sums by source",
    "/admin/sales/opportunity/board/move/": "changes a record, and leads back to the board",
    "/admin/sales/opportunity/follow-ups/done/": "changes a record, and leads back to the list",
    "/admin/funding/claimfile/first-steps/": "which settings and permissions are missing",
    "/admin/funding/claim/queues/": "numbers by status",
    "/admin/funding/claim/next/": "leads to a form, which is logged",
    "/admin/funding/claim/month-end/": "numbers and sums by month",
    "/admin/funding/claim/tracker/": "numbers and sums by stage",
    "/admin/funding/*/products/": "products and prices; the price zone of a participant named by guid shows",
    "/admin/funding/*/prices/": "prices; of a participant named by guid, the price zone and what is left",
    "/admin/documents/document/file/": "takes a file",
}
#: Models of copies of personal values, beside those whose records are logged.
COPIES = {Change, PersonalDataRead, FileImport, FileExport, Notice, WebhookMessage}
#: The query of addresses that show nothing without one.
QUERIES = {
    "/admin/autocomplete/": {
        "term": NAME, "app_label": "funding", "model_name": "claim", "field_name": "contact",
    },
    "/admin/search/": {"s": NAME},
    **{f"/admin/funding/{bill}/groups/month/": {"contact__guid__exact": ""} for bill in ("claim", "invoice")},
}  # fmt: skip
#: What stands for the variables of an address.
WORDS = {
    "<str:name>": "hold",
    "<str:by>": "month",
    "<str:month>": f"{LAST_SERVICE:%Y-%m}",
    "<str:contact>": "unknown",
    "<str:run>": "unknown",
    "<str:file_type>": "csv",
    "<path:content_type_id>": "1",
    "<path:url>": "anything",
}


@pytest.fixture
def copies(participant, ada):
    """What the back office keeps about the participant besides records: files, notices, messages."""
    opportunity = Opportunity.objects.get(pk=participant.keys[Opportunity][0])
    opportunity.follow_up_staff, opportunity.follow_up_date = ada, clock.today()
    with history.as_author(history.Author(staff_id=ada.pk)):
        opportunity.save()
    READ_LOG.add(Contact, "Record", 1, key_bytes(participant.contact.pk))
    READ_LOG.write()
    page = f"/admin/sales/opportunity/{participant.keys[Opportunity][0]}/change/"
    write_notices([Notice(staff_id=ada.pk, kind="Due", text=f"Follow up on {NAME}", url=page)])
    cells = {"number": 2, "cells": [NAME], "issues": [[0, True, f"{NAME} is new."]]}
    columns = [{"header": "Name", "samples": [NAME], "member": "FirstName"}]
    files = {"content": NAME.encode(), "rejected_rows": NAME.encode(), "issues": [cells], "columns": columns}
    FileImport.objects.create(kind="contact", file_name="a.csv", staff=ada, status="Checked", **files)
    export = FileExport.objects.create(
        record_type="people.contact", file_name="Contact.csv", staff=ada, status="Ready", rows_done=1
    )
    FileExportPart.objects.create(file_export=export, content=NAME.encode())
    an_application(name="Copies")
    application = ApiApplication.objects.get(name="Copies")
    webhook = Webhook.objects.create(
        application=application, entity_set="Contact", address="https://example.org"
    )
    change = {"change": "changed", "key": str(participant.contact.pk), "record": {"FirstName": NAME}}
    body = {"data": {"entitySet": "Contact", "changes": [change]}}
    WebhookMessage.objects.create(webhook=webhook, body=json.dumps(body))
    # Something of it is ready to be paid out.
    Claim.objects.filter(pk=participant.claim.pk).update(amount_paid=F("amount_paid") + 1)


def routes(patterns=None, prefix="/"):
    """Every address of the site with its variables, and the name of its view."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + re.sub(r"^\^|\$$", "", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, address)
        else:
            yield address, pattern.name or ""


def readable(route):
    """An address of a regular expression as it is called: without what is optional, by one of several."""
    route = route.replace("/?", "").replace("\\", "").replace("^", "")
    route = re.sub(
        r"\(\?P<(section|app_label)>[^)]*\)", lambda found: {"section": "docs"}.get(found[1], "people"), route
    )
    return route.replace("(?P<url>.*)$", "anything").removesuffix("$")


def reasons_of(address):
    """The entries of ``WITHOUT_PERSONAL_DATA`` that are about an address."""
    return [
        name for name in WITHOUT_PERSONAL_DATA if re.fullmatch(re.escape(name).replace(r"\*", ".*"), address)
    ]


def logged():
    found = list(READ_LOG.waiting)
    READ_LOG.waiting.clear()
    return found


def records_of(participant):
    """The model and the key of a record of each model, the participant's where there is one."""
    own = {**participant.keys, Change: [Change.objects.filter(record_type="people.contact").last().pk]}
    return {
        f"{model._meta.app_label}_{model._meta.model_name}": (
            model,
            own[model][0] if own.get(model) else model._default_manager.values_list("pk", flat=True).first(),
        )
        for model in admin.site._registry
    }


def is_about_people(model):
    return model is None or is_logged(model) or model in COPIES


@pytest.mark.both_engines("every page of the back office is opened once on each")
def test_every_page_of_the_back_office_is_logged_or_says_why_not(client, participant, copies):
    keys, found, visited = records_of(participant), [], set()
    both = {"contact": str(participant.contact.pk), "provider": str(participant.claim.provider_id)}
    queries = {**QUERIES, "/admin/funding/claim/last-lines/": both}
    for route, name in routes():
        if route.startswith(("/^api", "/api")):
            continue
        label = next((label for label in keys if name.startswith(f"{label}_")), None)
        model, key = keys.get(label, (None, "unknown"))
        address = readable(route)
        for variable, word in {**WORDS, "<path:object_id>": str(key)}.items():
            address = address.replace(variable, word)
        address = re.sub(r"<[^>]+>", "unknown", address)
        visited.add(address)
        logged()
        answer = client.get(address, queries.get(address))
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        if entries := logged():
            kinds = {each.kind for each in entries} - set(PersonalDataRead.Kind.values)
            found += [f"{address} is logged as {kind}, which is no kind of a read" for kind in kinds]
            continue
        if NAME.encode() in body:
            found.append(f"{address} shows a person and is not logged")
        elif answer.status_code == 200 and is_about_people(model) and not reasons_of(address):
            found.append(f"{address} is not logged, and WITHOUT_PERSONAL_DATA does not say why")
    assert not found, "\n".join(found)
    used = {name for address in visited for name in reasons_of(address)}
    assert sorted(WITHOUT_PERSONAL_DATA.keys() - used) == []


def test_the_form_of_a_new_record_is_a_read_of_those_that_it_shows_as_chosen(client, participant, ada):
    logged()
    client.get("/admin/funding/claim/add/", {"provider_invoice": str(participant.provider_invoice.pk)})
    read = {(entry.record_type, entry.record_keys) for entry in logged()}
    for record in (participant.provider_invoice, participant.contact, participant.provider):
        assert (record._meta.label_lower, key_bytes(record.pk)) in read


def test_what_an_action_on_many_records_shows_first_is_read(client, participant, ada):
    claim = a_claim(contact=participant.contact)
    logged()
    address = "/admin/funding/claim/?status=AwaitingStaffApproval"
    page = run_list_action(client, address, "hold", [claim])
    assert page.template_name == "funding/action_form.html"
    shown = {entry.record_keys for entry in logged() if entry.record_type == "funding.claim"}
    assert key_bytes(claim.pk) in shown


# --- the interface --------------------------------------------------------------------------------------

#: How each address of an entity set is read, by the name of its view: method, path and query.
API_READS = {
    "list": ("GET", "{set}", "$top=1"),
    "detail": ("GET", "{set}({key})", ""),
    "count": ("GET", "{set}/$count", "$filter={key_name} ne null"),
    "references": ("GET", "{set}/$ref", "$top=1"),
    "query": ("POST", "{set}/$query", ""),
    "member": ("GET", "{set}({key})/{key_name}", ""),
    "member-text": ("GET", "{set}({key})/{key_name}/$value", ""),
    "download": ("GET", "{set}({key})/Download", ""),
    "bank-file": ("GET", "{set}({key})/BankFiles(1)/Download", ""),
}
#: Addresses of the interface that are not read so: a reason each.
OTHER_API_ROUTES = {
    "service-document": "the names of the entity sets",
    "metadata": "the data model",
    "batch": "its parts are requests of their own: core/test_read_log.py",
    "entity": "reads the record that its $id names, by the view of that address",
    "providerInvoice-action": "answers as a change does: core/test_read_log.py",
    "": "leads to the documentation",
}


def api_views():
    """The names of all views of the interface."""
    return {name for route, name in routes() if route.startswith(("/^api", "/api"))}


@pytest.mark.both_engines("every address of the interface is read once on each")
def test_every_address_of_an_entity_set_about_people_is_logged(participant, ada):
    service, missing = get_service("2.1"), []
    api = Caller(an_application(*EVERYTHING, "claimfile.files", "paymentrun.files", "statement.files"))
    own = {**participant.keys, Staff: [ada.pk]}
    sets = {entity_set.path: entity_set for entity_set in service.entity_sets}
    for name in sorted(api_views() - OTHER_API_ROUTES.keys()):
        path, _, view = name.partition("-")
        entity_set = sets[path]
        if not is_logged(entity_set.model):
            continue
        keys = own.get(entity_set.model) or [
            entity_set.model._default_manager.values_list("pk", flat=True).first()
        ]
        words = {"set": path, "key": keys[0], "key_name": entity_set.key.name}
        method, address, query = (text.format(**words) for text in API_READS[view])
        logged()
        body, kind = (b"$top=1", "text/plain") if method == "POST" else (None, "")
        answer = api.call(method, address, query, body, kind, api_version="2.1")
        assert answer.status_code == 200 or keys[0] is None, (name, answer.content[:300])
        b"".join(answer.streaming_content) if answer.streaming else answer.content
        if not logged() and keys[0] is not None:
            missing.append(name)
    assert missing == []


def test_the_other_addresses_of_the_interface_exist():
    assert OTHER_API_ROUTES.keys() <= api_views() | {""}


def test_an_entity_set_that_is_not_logged_leads_to_nobody():
    """By no member, and by no step of a filter."""
    for version in ("2.0", "2.1"):
        for entity_set in get_service(version).entity_sets:
            if is_logged(entity_set.model):
                continue
            for nested in entity_set.type.walk():
                steps = [
                    step
                    for member in (*nested.properties.values(), *nested.navigations.values())
                    for step in member.steps
                ]
                assert not [step for step in steps if is_logged(getattr(step, "related_model", None))], nested
                for navigation in nested.set_navigations.values():
                    assert not is_logged(navigation.entity_set.model), navigation


def test_a_page_of_a_record_that_the_office_does_not_register_is_shown(db, client, ada):
    """As those of one's own second factors, which a library makes."""
    response = HttpResponse()
    response.context_data = {"object": ContentType.objects.first()}
    logged()
    log_page(RequestFactory().get("/admin/"), response)
    assert logged() == []
