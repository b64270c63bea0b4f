"""The back office of somebody who sees some participants: of others it shows, counts and takes nothing."""

import re
from types import SimpleNamespace

import pytest
from django.contrib import admin
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.forms import ModelChoiceField
from django.http import QueryDict
from django.test import Client as Browser
from django.test import RequestFactory
from django.test.utils import override_settings

from apps.base.drafts import UNSEEN
from apps.core.admin_base import RecordAdmin
from apps.core.caseload import caseload_path
from apps.core.models import Change, FileExport, FileExportPart, Notice
from apps.core.notices import mail_notice
from apps.documents.models import Document
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.funding.admin.actions import ActionAdmin
from apps.funding.admin.reviews import ActionReview
from apps.funding.models import Claim, ProviderInvoice
from apps.people.choices import Participants
from apps.people.merging import merge
from apps.people.models import Client, Contact, Staff
from apps.sales.models import Opportunity
from tests.documents.builders import PDF
from tests.funding.admin_forms import run_list_action
from tests.operations.conftest import document_settings
from tests.operations.test_reads_of_every_route import WORDS, readable, routes
from tests.people.caseload_office import MARKER, a_participant, an_office, with_records
from tests.people.records import a_contact, an_administrator, form_data
from tests.tasks import run_tasks

#: Pages of one's own login, which tell of nobody else.
NOT_OPENED = (
    "/admin/account/",
    "/admin/logout/",
    "/admin/password_change/",
    "/admin/login/",
    "/admin/jsi18n/",
)
#: Files with the moment in which they were made.
DATED = ("/export/xlsx/", "/pdf/")
SEARCHED = {"q": MARKER}


def browser_of(person):
    browser = Browser()
    browser.force_login(person)
    return browser


def label_of(model):
    return f"{model._meta.app_label}_{model._meta.model_name}"


def keys_by_label(office, contact):
    """The key of a record of each model: the participant's, else one that everybody sees."""
    own = office.keys.get(contact, {})
    shared = {Staff: office.me.pk, Client: office.provider.pk}
    keys = {}
    for model in admin.site._registry:
        found = own.get(model) or [shared.get(model)]
        if found[0] is None and contact is not None:
            found = [model._default_manager.order_by("pk").values_list("pk", flat=True).first()]
        keys[label_of(model)] = found[0]
    return keys


def addresses(keys):
    """Every address of the back office, with these records; without a record, only those of no record."""
    for route, name in routes():
        if not route.startswith("/admin/") or route.startswith(NOT_OPENED):
            continue
        label = next((label for label in keys if name.startswith(f"{label}_")), "")
        if "<path:object_id>" in route and keys.get(label) is None:
            continue
        address = readable(route)
        own = {
            "<path:object_id>": str(keys.get(label)),
            "<uuid:key>": str(keys["engagements_clientengagement"]),
        }
        for variable, word in {**WORDS, **own}.items():
            address = address.replace(variable, word)
        yield re.sub(r"<[^>]+>", "unknown", address)


def queries():
    """Addresses with a query: lists with all of their records and searched, suggestions of every field."""
    for model, page in admin.site._registry.items():
        listed = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        if isinstance(page, RecordAdmin):
            yield listed, {"archived": "all"}
        if page.search_fields:
            yield listed, SEARCHED
        for name in page.get_autocomplete_fields(None):
            named = {
                "app_label": model._meta.app_label,
                "model_name": model._meta.model_name,
                "field_name": name,
            }
            for term in ("", MARKER):
                yield "/admin/autocomplete/", {"term": term, **named}
    yield "/admin/search/", {"s": MARKER}
    yield "/admin/engagements/clientengagement/", {"stage": "all"}
    yield "/admin/engagements/categorybudget/", {"period": "short"}
    yield "/admin/engagements/servicebooking/", {"spent": "nearly"}
    yield "/admin/sales/opportunity/follow-ups/", {"owner": "all"}
    yield "/admin/sales/opportunity/funnel/", {"period": "all"}
    for status in ("OnHold", "refused-by-agency", "AwaitingStaffApproval"):
        yield "/admin/funding/claim/", {"status": status}
    yield "/admin/funding/claim/", {"window": "lapsing"}
    yield "/admin/funding/providerinvoice/", {"status": "waiting"}


def text_of(answer):
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode(errors="replace")


def plain(text):
    """A page without its tokens."""
    text = re.sub(r'(name="csrfmiddlewaretoken" value=|csrfToken: ?)"[^"]*"', "", text)
    return re.sub(r"<!--.*?-->", "", text)


def opened(browser, office, contact):
    """The status, the address it leads to, and the text of every page about a participant's records."""
    pages = {}
    visited = [(address, {}) for address in addresses(keys_by_label(office, contact))]
    for address, query in [*visited, *queries()]:
        answer = browser.get(address, query)
        text = text_of(answer)
        if address.endswith(DATED):
            text = ""
        pages[address, *query.items()] = (answer.status_code, answer.get("Location", ""), plain(text))
    return pages


class Told:
    """An office with a participant whom the person sees; ``hide_others`` adds those whom it does not."""

    def __init__(self):
        self.office = an_office()
        self.seen = a_participant(self.office, self.office.colleague, "Visible")
        self.representative = a_contact(first_name="Representing", scheme_number="430000099")
        Contact.objects.filter(pk=self.seen.pk).update(representative=self.representative)
        self.browser = browser_of(self.office.me)
        self.hidden = []

    def hide_others(self):
        hidden = [a_participant(self.office, manager, MARKER) for manager in (self.office.stranger, None)]
        # Whose name stands on the record of who is represented.
        with_records(self.office, self.representative, MARKER)
        details = {"phone1": MARKER, "street_address": MARKER, "primary_email": f"{MARKER}@records.example"}
        Contact.objects.filter(pk=self.representative.pk).update(**details)
        self.hidden = [*hidden, self.representative]

    def pages(self):
        self.browser.post("/admin/core/notice/read-all/")
        return opened(self.browser, self.office, self.seen)


@pytest.fixture(scope="module")
def made(module_transaction, tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    with override_settings(STORAGES=document_settings(folder)):
        told = Told()
        told.hide_others()
    return told, folder


@pytest.fixture
def told(db, made, settings):
    found, folder = made
    settings.STORAGES = document_settings(folder)
    return found


@pytest.mark.any_engine("Django's own lists and counts, of rows that the other tests compare on both engines")
def test_no_page_shows_or_counts_what_others_have(db, tmp_path, settings):
    settings.STORAGES = document_settings(tmp_path)
    told = Told()
    before = told.pages()
    told.hide_others()
    after = told.pages()
    assert sum(status == 200 for status, *_ in after.values()) > 350
    assert [key for key, page in after.items() if MARKER in str(page) and dict(key[1:]) != SEARCHED] == []
    assert [key for key, page in after.items() if page != before[key]] == []


def test_records_of_others_are_not_there(told):
    """A page of theirs is none, and nothing that is sent to it changes anything."""
    told.browser.post("/admin/core/notice/read-all/")
    changes, shown, changed = Change.objects.count(), [], []
    for contact in told.hidden:
        found = told.office.keys[contact]
        own = {label_of(model): keys[0] for model, keys in found.items() if keys and caseload_path(model)}
        for address in addresses({"engagements_clientengagement": "", **own}):
            if key_in(address, own) is None:
                continue
            for method in ("get", "post"):
                answer = getattr(told.browser, method)(address, {"reason": "-", "_archive": "1"})
                elsewhere = ("/admin/", address.partition(str(key_in(address, own)))[0])
                is_none = answer.status_code == 302 and answer["Location"] in elsewhere
                is_refused = answer.status_code in (403, 404, 405) or is_none
                if not is_refused or MARKER in text_of(answer):
                    shown.append((method, address, answer.status_code, answer.get("Location")))
                if Change.objects.count() != changes:
                    changed.append((method, address))
                    changes = Change.objects.count()
    assert (shown, changed) == ([], [])


def key_in(address, keys):
    named = [key for key in keys.values() if f"/{key}/" in address]
    return max(named, key=lambda key: len(str(key)), default=None)


def hidden_keys(told):
    """The keys of what belongs to hidden participants."""
    return {key for contact in told.hidden for own in told.office.keys[contact].values() for key in own}


FILTERS = {
    "contact__guid__exact": Contact,
    "participant__guid__exact": Contact,
    "plan": ClientEngagement,
    "draws_on": ServiceBooking,
}
#: What a new record may begin with.
INITIAL = {
    "document": Document,
    "provider_invoice": ProviderInvoice,
    "engagement": ClientEngagement,
    **dict.fromkeys(("contact", "primary_contact", "participant", "representative"), Contact),
}


def test_addresses_that_name_records_of_others_tell_nothing_of_them(told):
    own = told.office.keys[told.hidden[0]]
    filters, initial = (
        {name: str(own[model][0]) for name, model in named.items()} for named in (FILTERS, INITIAL)
    )
    for model, page in admin.site._registry.items():
        listed = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        if isinstance(page, RecordAdmin):
            assert MARKER not in text_of(told.browser.get(f"{listed}add/", initial)), listed
        for name, value in filters.items() if caseload_path(model) else ():
            assert MARKER not in text_of(told.browser.get(listed, {name: value})), (listed, name)
    entry = told.office.entry
    prices = {"contact": initial["contact"], "line": f"{entry.price_book_id}|{entry.product.code}|"}
    (line,) = told.browser.get("/admin/funding/claim/prices/", prices).json()["lines"]
    assert "left" not in line


def test_forms_offer_no_records_of_others(told):
    request = RequestFactory().get("/")
    request.user, request.session = told.office.me, {}
    hidden, offered = hidden_keys(told), set()
    for model, page in admin.site._registry.items():
        if not isinstance(page, RecordAdmin) or not page.has_add_permission(request):
            continue
        for name, form_field in page.get_form(request)().fields.items():
            if isinstance(form_field, ModelChoiceField) and caseload_path(form_field.queryset.model):
                keys = set(form_field.queryset.values_list("pk", flat=True))
                assert not keys & hidden, (model, name)
                offered.add(form_field.queryset.model)
    assert offered >= {Contact, ClientEngagement, ProviderInvoice}


# --- what is sent -----------------------------------------------------------------------------------------


def test_a_record_of_others_is_no_choice_of_a_form(told):
    before, number = ClientEngagement.objects.count(), Document.objects.count()
    for contact in (told.hidden[0], told.hidden[-1]):
        answer = told.browser.post(
            "/admin/engagements/clientengagement/add/",
            {
                "participant": str(contact.pk),
                "plan_start_date": "1/7/2026",
                "plan_end_date": "30/6/2027",
                "total_budget_amount": "100",
                "is_plan_managed": "on",
            },
        )
        errors = answer.context["adminform"].form.errors["participant"]
        assert "Select a valid choice. That choice is not one of the available choices." in errors
    assert ClientEngagement.objects.count() == before
    upload = {"contact": str(told.hidden[0].pk), "category": str(told.office.category.pk)}
    answer = told.browser.post("/admin/documents/document/add/", {**upload, "Files": a_pdf()})
    assert "Select a valid choice" in text_of(answer)
    answer = told.browser.post("/admin/documents/document/add/", {**upload, "contact": "", "Files": a_pdf()})
    assert UNSEEN in text_of(answer)
    assert Document.objects.count() == number


def test_nobody_enters_what_they_would_not_see(told):
    """The account of an organisation, an opportunity of nobody."""
    office, changes = told.office, Change.objects.count()
    account = {
        "client": str(office.provider.pk),
        "bsb": "062-000",
        "account_number": "9",
        "account_name": "-",
    }
    opportunity = {"name": "-", "owner": str(office.me.pk), "team": office.team.pk, "stage": office.stage.pk}
    for page, field, data in (
        ("payments/bankaccount", "contact", account),
        ("sales/opportunity", "primary_contact", opportunity),
    ):
        answer = told.browser.post(f"/admin/{page}/add/", data)
        assert answer.context["adminform"].form.errors == {field: [UNSEEN]}, page
    assert Change.objects.count() == changes


def a_pdf():
    return SimpleUploadedFile("plan.pdf", PDF, "application/pdf")


def test_actions_are_of_records_that_the_person_sees(told):
    """Ticked in the list, or sent back by a page that showed what would be done."""
    hidden = Claim.objects.get(pk=told.office.keys[told.hidden[0]][Claim][0])
    own = Claim.objects.get(pk=told.office.keys[told.seen][Claim][0])
    address = "/admin/funding/claim/?status=AwaitingStaffApproval"
    Claim.objects.filter(pk__in=[hidden.pk, own.pk]).update(funding_status="AwaitingStaffApproval")
    review = ActionReview(possible=[Claim.objects.get(pk=each.pk) for each in (hidden, own)])
    shown = review.sign(SimpleNamespace(user=told.office.me), "hold")
    answer = run_list_action(told.browser, address, "hold", [own], _do="1", shown=shown, reason="To be asked")
    assert answer.status_code in (200, 302)
    statuses = {each.pk: each.funding_status for each in Claim.objects.filter(pk__in=[hidden.pk, own.pk])}
    assert statuses == {own.pk: "OnHold", hidden.pk: "AwaitingStaffApproval"}
    run_list_action(told.browser, "/admin/funding/claim/", "archive_selected", [hidden])
    run_list_action(told.browser, "/admin/people/contact/", "archive_selected", [told.hidden[0]])
    assert Contact.objects.get(pk=told.hidden[0].pk).archive_date is None
    opportunity = Opportunity.objects.get(primary_contact=told.hidden[0])
    moved = {"opportunity": opportunity.pk, "stage": opportunity.stage_id, "next_date": ""}
    for page in ("board/move", "follow-ups/done"):
        assert told.browser.post(f"/admin/sales/opportunity/{page}/", moved).status_code == 404
    assert Opportunity.objects.get(pk=opportunity.pk).follow_up_date is not None


def every_action():
    """Every action of every list of records that belong to participants: model, status of the list, name."""
    request = RequestFactory().get("/")
    request.user, found = an_administrator(), {}
    for model, page in admin.site._registry.items():
        for status in page.status_labels if isinstance(page, ActionAdmin) else [""]:
            request.GET = QueryDict(f"status={status}" if status else "")
            for name in page.get_actions(request) if caseload_path(model) else ():
                found.setdefault((model, name), status)
    return [(model, status, name) for (model, name), status in found.items()]


def rows_of(model, keys):
    return list(model._base_manager.filter(pk__in=keys).order_by("pk").values())


@pytest.mark.any_engine("Django's own lists, whose rows are compared on both engines")
def test_no_action_of_any_list_is_done_to_records_of_others_whose_keys_are_sent(told):
    """Nor once the page that asks first is answered; each says that nothing was done."""
    hidden, sent = hidden_keys(told), every_action()
    for model, status, name in sent:
        keys = [key for key in model._base_manager.values_list("pk", flat=True) if key in hidden]
        if status:
            column = admin.site.get_model_admin(model).status_field
            model._base_manager.filter(pk__in=keys).update(**{column: status, "archive_date": None})
        before = rows_of(model, keys)
        listed = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        listed += f"?status={status}" if status else ""
        for answers in ({}, {"_do": "1", "reason": "-"}):
            data = {"action": name, "index": "0", "_selected_action": list(map(str, keys)), **answers}
            told.browser.cookies.pop("messages", None)
            answer = told.browser.post(listed, data)
            said = [str(each) for each in get_messages(answer.wsgi_request)]
            assert len(said) == 1, (listed, name)
            assert re.search(r"^No |: 0 |^Nothing was done", said[0]), (listed, name, said)
            assert MARKER not in text_of(answer), (listed, name)
            assert rows_of(model, keys) == before != [], (listed, name)
    assert len(sent) > 40


def test_a_new_contact_is_looked_after_by_whoever_enters_it(told):
    page = told.browser.get("/admin/people/contact/add/")
    assert page.context["adminform"].form["account_manager"].value() == told.office.me.pk
    data = form_data(page, first_name="New", last_name="Comer")
    refused = told.browser.post(
        "/admin/people/contact/add/", {**data, "account_manager": str(told.office.stranger.pk)}
    )
    assert refused.context["adminform"].form.errors == {"account_manager": [UNSEEN]}
    assert not Contact.objects.filter(first_name="New").exists()
    assert told.browser.post("/admin/people/contact/add/", data).status_code == 302
    assert Contact.objects.get(first_name="New").account_manager == told.office.me


def test_who_hands_a_participant_over_comes_to_the_list(told):
    contact = a_contact(first_name="Leaving", account_manager=told.office.me)
    address = f"/admin/people/contact/{contact.pk}/change/"
    page = told.browser.get(address)
    data = form_data(page, account_manager=str(told.office.stranger.pk), _continue="1")
    answer = told.browser.post(address, data)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/people/contact/")
    assert "was changed successfully" in text_of(told.browser.get(answer["Location"]))
    assert told.browser.get(address)["Location"] == "/admin/"


def test_a_hidden_record_that_a_visible_one_refers_to_stays_when_it_is_saved(told):
    plan = ClientEngagement.objects.get(pk=told.office.keys[told.seen][ClientEngagement][0])
    ClientEngagement.objects.filter(pk=plan.pk).update(support_coordinator=told.hidden[0])
    address = f"/admin/engagements/clientengagement/{plan.pk}/change/"
    data = form_data(told.browser.get(address), total_budget_amount="1234")
    assert told.browser.post(address, data).status_code == 302
    plan.refresh_from_db()
    assert (plan.support_coordinator, plan.total_budget_amount) == (told.hidden[0], 1234)


def test_an_overview_links_to_what_the_person_sees(told):
    """A representative whom others look after is named, without a link to a page that there is not."""
    told.seen.refresh_from_db()
    representative = told.seen.representative
    page = text_of(told.browser.get(f"/admin/people/contact/{told.seen.pk}/overview/"))
    assert representative.full_name in page
    assert f"/admin/people/contact/{representative.pk}/" not in page
    Contact.objects.filter(pk=representative.pk).update(account_manager=told.office.me)
    page = text_of(told.browser.get(f"/admin/people/contact/{told.seen.pk}/overview/"))
    assert f"/admin/people/contact/{representative.pk}/" in page


def test_who_sees_some_participants_enters_what_everybody_sees(told):
    answer = told.browser.post("/admin/people/client/add/", {"business_name": "New provider"})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert Client.objects.filter(business_name="New provider").exists()


def test_of_a_closed_model_nothing_is_visible(told):
    assert caseload_path(Change) is None
    assert Change.objects.exists()
    assert not told.office.me.caseload.visible(Change.objects.all()).exists()


# --- what is about all participants -----------------------------------------------------------------------


def test_pages_about_all_participants_are_closed(told):
    closed = [
        (page, declared)
        for page in admin.site._registry.values()
        for declared in getattr(page, "pages", ())
        if declared.of_all
    ]
    assert {declared.path for _, declared in closed} >= {"months", "merge", "make/<str:month>"}
    menu = text_of(told.browser.get("/admin/"))
    for path in ("payments/statement/months/", "payments/statement/month/2026-09/"):
        answer = told.browser.get(f"/admin/{path}")
        assert answer.status_code == 403
        assert "This page is about all participants; your role sees some of them." in text_of(answer)
        assert f"/admin/{path}" not in menu
    month = {"month": "2026-09"}
    for contact, status in ((told.seen, 302), (told.hidden[0], 404)):
        address = f"/admin/payments/statement/make-one/{contact.pk}/"
        assert told.browser.post(address, month).status_code == status
    answer = told.browser.get("/admin/payments/statement/add/", follow=True)
    assert "“Make statement” is on their page" in text_of(answer)
    for name in ("claimfile", "remittance", "paymentrun", "accountsexport", "core/change", "fileimport"):
        assert f"/{name}/" not in menu
    for model in admin.site._registry:
        if caseload_path(model) is None and model not in (Notice, FileExport):
            page = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
            answer = told.browser.get(page, follow=True)
            assert answer.status_code == 403, model
            assert "your role sees some of them" in text_of(answer), model


@pytest.mark.parametrize("is_long", [False, True], ids=["at once", "by a worker"])
def test_files_have_no_more_of_a_person_who_is_not_seen_than_the_name(told, monkeypatch, is_long):
    codes = ("KEYCODE", "439999998", "key@example.org")
    values = dict(zip(("unique_code", "scheme_number", "primary_email"), codes, strict=True))
    key_contact = a_contact(first_name="Keyperson", last_name="Ofharbour", **values)
    Client.objects.filter(pk=told.office.provider.pk).update(key_contact=key_contact)
    monkeypatch.setattr("apps.core.admin_base.exports.SMALL_EXPORT", 0 if is_long else 2_000)

    def exported(browser):
        answer = browser.get("/admin/people/client/export/csv/", follow=True)
        run_tasks()
        parts = FileExportPart.objects.filter(file_export__staff=browser.session["_auth_user_id"])
        return b"".join(bytes(part.content) for part in parts).decode() if is_long else text_of(answer)

    text = exported(told.browser)
    assert [name for name in ("Keyperson", "Ofharbour") if name in text] == ["Keyperson", "Ofharbour"]
    assert [code for code in codes if code in text] == []
    everything = exported(browser_of(an_administrator()))
    assert [code for code in codes if code in everything] == [*codes]


def test_an_export_is_downloaded_by_whoever_sees_what_it_was_made_for(told):
    export = FileExport.objects.create(
        record_type="people.contact", file_name="Contact.csv", staff=told.office.me, status="Ready"
    )
    FileExportPart.objects.create(file_export=export, content=MARKER.encode())
    address = f"/admin/core/fileexport/{export.pk}/content/"
    assert told.browser.get(address).status_code == 403
    FileExport.objects.filter(pk=export.pk).update(sight=told.office.me.caseload.digest())
    assert told.browser.get(address).status_code == 200


def test_a_notice_about_a_record_of_others_is_neither_shown_nor_mailed(told, mailoutbox):
    own, hidden = (
        Notice.objects.filter(
            staff=told.office.me, url__contains=str(told.office.keys[contact][Claim][0])
        ).get()
        for contact in (told.seen, told.hidden[0])
    )
    for notice in (own, hidden):
        mail_notice.func(notice.pk)
    assert [mail.body for mail in mailoutbox] == [f"{own.text}"]
    assert told.browser.get(f"/admin/core/notice/{hidden.pk}/visit/")["Location"] == "/admin/"


@pytest.mark.parametrize(
    ("participants", "sentence"),
    [
        (Participants.LOCATION, "You see the participants looked after at {here}."),
        (Participants.TEAMS, "You see the participants looked after by {team}."),
        (Participants.OWN, "You see the participants whom you look after."),
        (Participants.ALL, ""),
    ],
)
def test_the_home_page_says_whom_one_sees(db, participants, sentence):
    office = an_office(participants)
    colleagues, mine, others = (
        a_contact(first_name=name, account_manager=person)
        for name, person in (("Colleague", office.colleague), ("Mine", office.me), ("Other", office.stranger))
    )
    browser = browser_of(office.me)
    assert browser.get("/admin/").context["sight"] == sentence.format(here=office.here, team=office.team)
    rows = browser.get("/admin/people/contact/").context["cl"].result_list
    expected = {
        Participants.OWN: {mine},
        Participants.ALL: {colleagues, mine, others},
    }.get(participants, {colleagues, mine})
    assert {colleagues, mine, others} & set(rows) == expected


def test_who_sees_no_participant_is_told_whom_they_would_see(db):
    a_contact()
    browser = browser_of(an_office(Participants.OWN).me)
    assert "Nothing is waiting." in text_of(browser.get("/admin/"))
    empty = text_of(browser.get("/admin/people/contact/"))
    assert "<h2>No contacts that you see</h2>" in empty
    assert "You see the participants whom you look after." in empty


def test_the_record_that_a_duplicate_was_merged_into_is_named_to_who_sees_it(db):
    office = an_office()
    duplicate = a_contact(account_manager=office.colleague)
    survivor = a_contact(account_manager=office.colleague, last_name=MARKER)
    merge(survivor, duplicate)
    page = f"/admin/people/contact/{duplicate.pk}/change/"
    assert MARKER in text_of(browser_of(office.me).get(page))
    Contact.objects.filter(pk=survivor.pk).update(account_manager=office.stranger)
    shown = text_of(browser_of(office.me).get(page))
    assert MARKER not in shown
    assert "was merged into one that you do not see" in shown
    for path, status in {"history": 200, "overview": 200, "merge": 403}.items():
        answer = browser_of(office.me).get(page.replace("change", path), follow=True)
        assert (answer.status_code, MARKER in text_of(answer)) == (status, False), path
