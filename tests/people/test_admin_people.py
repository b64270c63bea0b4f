"""Staff, clients and contacts in the back office."""

import re
from uuid import UUID

import pytest
from django.contrib.admin import site
from django.db import IntegrityError
from django.urls import reverse

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core import saving
from apps.core.models import Change
from apps.people.admin.people import ClientAdmin
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.models import Client, Contact, CustomField, Role, Staff
from tests.people.records import (
    a_client,
    a_contact,
    a_role,
    a_staff_member,
    an_administrator,
    form_data,
    get_unrendered,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(client):
    """Signed in: somebody who may change staff and roles, and little else."""
    role = a_role("people.view_staff", "people.change_staff", "people.view_role", "people.change_role")
    person = a_staff_member(role=role)
    client.force_login(person)
    return person


def page_of(record, name="change"):
    return f"/admin/people/{record._meta.model_name}/{record.pk}/{name}/"


def errors_on(answer, name):
    return answer.context["adminform"].form.errors.get(name, [])


def add(client, model, **fields):
    address = f"/admin/people/{model}/add/"
    return client.post(address, form_data(get_unrendered(client, address), **fields))


# --- rules on forms


@pytest.mark.parametrize(
    ("model", "text", "names"),
    [
        ("client", "24/7 Care Pty Ltd", {"business_name": "24/7 Care Pty Ltd"}),
        ("contact", "Mai Anh Nguyen", {"first_name": "Mai Anh", "last_name": "Nguyen"}),
        ("contact", "Nguyen", {"first_name": "", "last_name": "Nguyen"}),
        ("contact", "430 123 456", {"first_name": None, "last_name": None}),
        ("client", "51 824 753 556", {"business_name": None}),
    ],
)
def test_a_name_that_was_looked_up_is_not_typed_again_where_it_is_added(client, ada, model, text, names):
    form = client.get(f"/admin/people/{model}/add/", {"_popup": "1", "_name": text}).context["adminform"].form
    assert {name: form[name].value() for name in names} == names


def test_a_conflict_is_an_error_on_its_field(client, ada):
    acme = a_client(business_name="Acme Pty Ltd", archive_date=clock.now())
    answer = add(client, "client", business_name="  ACME pty ltd ")
    (error,) = errors_on(answer, "business_name")
    assert error.startswith("Another client has it already. See ")
    assert str(acme.pk) in error
    assert error.endswith(", archived.")
    assert Client.objects.count() == 1


@pytest.mark.both_engines("somebody else writes meanwhile")
@pytest.mark.parametrize("lost_race", [IntegrityError, ValidationFailed([])])
def test_a_conflict_that_arrives_between_check_and_insert_is_an_error_too(
    client, ada, monkeypatch, lost_race
):
    insert_records, inserts = saving.insert_records, []

    def insert_too_late(*args):
        inserts.append(args)
        if len(inserts) == 2:  # the first is the check, whose records are rolled back
            raise lost_race
        return insert_records(*args)

    monkeypatch.setattr(saving, "insert_records", insert_too_late)
    answer = add(client, "client", business_name="Acme")
    assert answer.status_code == 302
    assert len(inserts) == 4
    assert Client.objects.get().business_name == "Acme"


def test_rules_of_the_interface_hold_in_the_form(client, ada):
    answer = add(
        client, "contact", first_name="Mia", last_name="N", send_birthday_reminder="on", state="Otago"
    )
    assert errors_on(answer, "birthday")
    assert errors_on(answer, "country")
    assert not Contact.objects.exists()


def test_a_record_with_a_warning_is_stored_and_the_warning_is_shown(client, ada):
    address = "/admin/people/client/add/"
    unusual = {"business_number": "12", "country": "Australia", "state": "Tassie", "post_code": "700"}
    data = form_data(get_unrendered(client, address), business_name="Acme", **unusual)
    page = client.post(address, data, follow=True).content.decode()
    assert "It is no Australian Business Number" in page
    assert "Australian states are ACT, NSW" in page
    assert "Did it lose its leading zero: 0700?" in page
    assert Client.objects.get().business_number == "12"


def add_contact(client, **fields):
    page = get_unrendered(client, "/admin/people/contact/add/")
    answer = client.post(
        "/admin/people/contact/add/", form_data(page, first_name="Mia", last_name="Nguyen", **fields)
    )
    assert answer.status_code == 302
    return Contact.objects.latest("creation_date")


def test_whether_a_contacts_email_is_used_follows_whether_there_is_one(client, ada):
    assert not add_contact(client).use_primary_email  # nothing stops a participant without an email
    contact = add_contact(client, primary_email="mia@example.org")
    assert contact.use_primary_email
    for email in ("", "mia@example.com"):
        client.post(
            page_of(contact), form_data(get_unrendered(client, page_of(contact)), primary_email=email)
        )
        contact.refresh_from_db()
        assert (contact.primary_email, contact.use_primary_email) == (email or None, bool(email))


def test_a_scheme_number_may_have_blanks_and_is_stored_without(client, ada):
    add(
        client,
        "contact",
        first_name="Mia",
        last_name="N",
        scheme_number="430 123 456",
        use_primary_email=None,
    )
    assert Contact.objects.get().scheme_number == "430123456"


# --- searching


@pytest.mark.both_engines("found or summed by the database")
@pytest.mark.parametrize(
    "sought",
    ["430123456", "430 123 456", "0412 345 678", "+61 412 345 678", "nguyen mia", "Mia Ng", "MIA@EX"],
)
def test_a_contact_is_found_however_it_is_written(client, ada, sought):
    a_contact(
        first_name="Mia",
        last_name="Nguyen",
        scheme_number="430123456",
        phone1="(0412) 345-678",
        primary_email="mia@example.org",
    )
    a_contact(first_name="Leo", last_name="Silva", scheme_number="430999999", phone1="0499 999 999")
    page = get_unrendered(client, "/admin/people/contact/", {"q": sought})
    assert [str(each) for each in page.context["cl"].result_list] == ["Mia Nguyen"]


@pytest.mark.both_engines("statements are counted")
@pytest.mark.parametrize("model", ["staff", "client", "contact"])
def test_a_list_takes_the_same_queries_for_any_number_of_rows(
    client, ada, model, django_assert_max_num_queries
):
    build = {"staff": a_staff_member, "client": a_client, "contact": a_contact}[model]
    for _ in range(25):
        build(**({"client": a_client()} if model == "contact" else {}))
    client.get(f"/admin/people/{model}/")
    with django_assert_max_num_queries(11):  # the last ones read the default filters and the chosen columns
        client.get(f"/admin/people/{model}/")


def test_an_empty_list_says_why_it_is_empty_and_offers_the_next_step(client, ada):
    expected = {
        "": ("No clients yet", ClientAdmin.purpose, "Add the first client", "Import"),
        "?q=walsh": ("Nothing found for “walsh”", "Clear the search", "Add client"),
        "?archived=yes": ("No clients match these filters", "Clear the filters", "Add client"),
    }
    for query, texts in expected.items():
        page = client.get(f"/admin/people/client/{query}").content.decode()
        box = page[page.index('class="rs-empty"') :].split("</form>")[0]
        assert [text for text in texts if text not in box] == [], query
    silent = [page for page in site._registry.values() if not getattr(page, "purpose", "")]
    of_one_record = {"SubscriberAdmin", "PaymentSettingsAdmin"}  # so no list
    assert {type(page).__name__ for page in silent} == of_one_record


# --- staff as users


def test_new_staff_have_no_password_until_one_is_set(client, ada):
    role = a_role("people.view_client")
    add(
        client,
        "staff",
        first_name="Leo",
        last_name="Silva",
        primary_email="leo@example.org",
        role=str(role.pk),
    )
    person = Staff.objects.get(primary_email="leo@example.org")
    assert not person.has_usable_password()
    page = page_of(person, "password")
    weak = client.post(page, {"new_password1": "leo12345", "new_password2": "leo12345"})
    assert weak.status_code == 200
    assert weak.context["form"].errors
    new = {"new_password1": "quite another thing", "new_password2": "quite another thing"}
    assert client.post(page, new).status_code == 302
    person.refresh_from_db()
    assert person.check_password("quite another thing")


def test_a_password_like_the_persons_own_email_is_refused(client, ada):
    person = a_staff_member(primary_email="wilhelmina@example.org")
    new = {"new_password1": "wilhelmina@example", "new_password2": "wilhelmina@example"}
    answer = client.post(page_of(person, "password"), new)
    assert "too similar" in answer.content.decode()


def test_a_password_is_neither_shown_nor_in_the_history(client, ada):
    person = a_staff_member()
    new = {"new_password1": "quite another thing", "new_password2": "quite another thing"}
    client.post(page_of(person, "password"), new)
    person.refresh_from_db()
    for page in ("change", "history", "password"):
        text = client.get(page_of(person, page)).content.decode()
        assert person.password not in text
        assert "pbkdf2" not in text
        assert "quite another thing" not in text
    assert person.password not in str(list(Change.objects.values_list("differences", flat=True)))


def test_setting_a_password_ends_the_persons_sessions_but_not_ones_own(client, ada):
    elsewhere = client.__class__()
    elsewhere.force_login(ada)
    new = {"new_password1": "quite another thing", "new_password2": "quite another thing"}
    client.post(page_of(ada, "password"), new)
    assert client.get("/admin/").status_code == 200
    assert elsewhere.get("/admin/").status_code == 302


def test_nobody_changes_those_who_may_do_more(client, clerk):
    boss = an_administrator()
    before = boss.password
    assert client.post(page_of(boss), {"primary_email": "mine@example.org"}).status_code == 403
    new = {"new_password1": "quite another thing", "new_password2": "quite another thing"}
    assert client.post(page_of(boss, "password"), new).status_code == 403
    assert client.post(page_of(boss, "archiving"), {}).status_code == 403
    for action in ("archive_selected", "disable_logins"):
        client.post("/admin/people/staff/", {"action": action, "_selected_action": [str(boss.pk)]})
    boss.refresh_from_db()
    assert (boss.password, boss.is_active) == (before, True)
    former = an_administrator(archive_date=clock.now())
    chosen = {"action": "restore_selected", "_selected_action": [str(former.pk)]}
    client.post("/admin/people/staff/?archived=yes", chosen)
    former.refresh_from_db()
    assert former.is_archived


@pytest.mark.parametrize("lookup", ["password__startswith", "password", "password__gte"])
def test_an_address_finds_nobody_by_a_secret(client, clerk, lookup):
    """Else who may view staff reads the hash of each password, letter by letter."""
    assert client.get("/admin/people/staff/", {lookup: "pbkdf2_sha256$"}).status_code == 400
    assert client.get("/admin/people/staff/", {"last_name__startswith": "A"}).status_code == 200


@pytest.mark.both_engines("conditions are those of the database")
@pytest.mark.parametrize(
    "condition",
    [
        "last_name__regex=(.|.)*(.|.)*$x",  # which Python tries for years
        "last_name__iregex=(",
        "creation_date__year=" + "9" * 30,
        "last_name__range=1",
        "teams=" + "9" * 30,
        "teams__id__in=1," + "9" * 30,
        "opened_by__contained_by=1",
    ],
)
def test_an_address_has_no_condition_that_computes_for_ever_or_fails(client, condition):
    client.force_login(an_administrator())
    name, _, text = condition.partition("=")
    answer = client.get("/admin/people/staff/", {name: text})
    assert answer.status_code == (302 if name.startswith("opened_by") else 400)


@pytest.mark.parametrize(
    "condition", ["teams__id__in=1,2", "teams=1", "last_name__icontains=a", "pk__isnull=0", "archived=all"]
)
def test_an_address_has_the_conditions_of_our_links(client, condition):
    client.force_login(an_administrator())
    name, _, text = condition.partition("=")
    assert client.get("/admin/people/staff/", {name: text}).status_code == 200


def test_nobody_gives_a_role_that_allows_more_than_their_own(client, clerk):
    boss_role = a_role(all_permissions=True)
    colleague = a_staff_member()
    for person in (clerk, colleague):
        answer = client.post(
            page_of(person), form_data(get_unrendered(client, page_of(person)), role=str(boss_role.pk))
        )
        assert "allows more than your own" in str(errors_on(answer, "role"))


def test_nobody_grants_what_they_may_not_do(client, clerk):
    role = Role.objects.get(pk=a_role("people.view_staff").pk)
    beyond = a_role("people.change_client").permissions.get()
    data = form_data(get_unrendered(client, page_of(role)))
    answer = client.post(page_of(role), {**data, "permissions": [beyond.pk], "all_permissions": "on"})
    assert errors_on(answer, "permissions")
    assert errors_on(answer, "all_permissions")


def test_a_roles_permissions_are_granted_and_in_the_history(client, ada):
    role = a_role()
    wanted = a_role("people.view_client").permissions.get()
    data = form_data(get_unrendered(client, page_of(role)))
    client.post(page_of(role), {**data, "permissions": [wanted.pk]})
    assert role.permissions.get() == wanted
    assert Change.objects.first().differences == {"permissions": [[], ["people.view_client"]]}


def test_nobody_locks_themselves_out(client, ada):
    for action in ("archive_selected", "disable_logins"):
        client.post("/admin/people/staff/", {"action": action, "_selected_action": [str(ada.pk)]})
    client.post(page_of(ada, "archiving"), {"disable_login": "on"})
    data = form_data(
        get_unrendered(client, page_of(ada)), disable_login_date_0="2020-01-01", disable_login_date_1="00:00"
    )
    assert "lock yourself out" in str(errors_on(client.post(page_of(ada), data), "disable_login_date"))
    ada.refresh_from_db()
    assert ada.is_active


def test_logins_are_disabled_and_enabled_in_bulk(client, ada):
    people = [a_staff_member() for _ in range(2)]
    chosen = [str(each.pk) for each in people]
    client.post("/admin/people/staff/", {"action": "disable_logins", "_selected_action": chosen})
    clock.reset_now()
    assert not any(Staff.objects.get(pk=key).is_active for key in chosen)
    client.post("/admin/people/staff/", {"action": "enable_logins", "_selected_action": chosen})
    assert all(Staff.objects.get(pk=key).is_active for key in chosen)


# --- leaving


def test_the_last_administrator_keeps_all_permissions(client, ada):
    lesser = a_role("people.view_staff")
    in_role = form_data(get_unrendered(client, page_of(ada)), role=str(lesser.pk))
    assert "Nobody would be left" in str(errors_on(client.post(page_of(ada), in_role), "role"))
    off = form_data(get_unrendered(client, page_of(ada.role)))
    off.pop("all_permissions", None)
    assert "Nobody would be left" in str(errors_on(client.post(page_of(ada.role), off), "all_permissions"))
    an_administrator()
    assert client.post(page_of(ada), in_role).status_code == 302


@pytest.mark.parametrize(
    ("action", "column"), [("archive_selected", "archive_date"), ("disable_logins", "disable_login_date")]
)
def test_one_who_cannot_leave_keeps_no_other_from_it(client, ada, action, column):
    former, other = a_staff_member(guid=UUID(int=1), disable_login_date=clock.now()), a_staff_member()
    chosen = {"action": action, "_selected_action": [str(each.pk) for each in (former, ada, other)]}
    page = client.post("/admin/people/staff/", chosen, follow=True).content.decode()
    assert "You would lock yourself out." in page
    for person in (ada, other):
        person.refresh_from_db()
    assert getattr(ada, column) is None
    assert getattr(other, column) is not None


def test_a_leaver_who_cannot_be_archived_keeps_their_work(client, ada):
    record, successor = a_contact(account_manager=ada), a_staff_member()
    answer = client.post(page_of(ada, "archiving"), {"successor": str(successor.pk)}, follow=True)
    assert "You would lock yourself out." in answer.content.decode()
    record.refresh_from_db()
    assert record.account_manager == ada


# --- custom fields


def a_custom_field(kind, options="", name=None):
    return CustomField.objects.create(
        name=name or f"Field {kind}", applies_to=AppliesTo.CONTACT, kind=kind, options=options
    )


def answer_of(contact):
    found = contact.custom_field_answers.prefetch_related("responses")
    return {each.custom_field.kind: [one.response for one in each.responses.all()] for each in found}


def test_custom_fields_are_answered_by_their_kind_and_in_the_history(client, ada):
    fields = {kind: a_custom_field(kind, "Red\nGreen\nBlue") for kind in AnswerKind.values}
    record = a_contact()
    given = {
        "Text": "hello",
        "Number": "12.50",
        "Date": "2026-07-01",
        "YesNo": "Yes",
        "Choice": "Red",
        "Choices": ["Red", "Blue"],
    }
    sent = {f"custom_{fields[kind].pk.hex}": value for kind, value in given.items()}
    data = {**form_data(get_unrendered(client, page_of(record))), **sent}
    assert client.post(page_of(record), data).status_code == 302
    answers = answer_of(record)
    assert answers == {kind: value if isinstance(value, list) else [value] for kind, value in given.items()}
    line = Change.objects.get(record_key=str(record.pk), kind="Changed")
    assert line.differences["Field Choices"] == [[], ["Blue", "Red"]]
    assert len(line.differences) == len(given)
    # Opened and saved again, nothing changes.
    client.post(page_of(record), form_data(get_unrendered(client, page_of(record))))
    assert answer_of(record) == answers
    assert Change.objects.get(record_key=str(record.pk), kind="Changed") == line


def test_answers_of_another_kind_are_refused(client, ada):
    wrong = {"Number": "many", "Date": "2026-02-30", "YesNo": "Maybe", "Choice": "Pink", "Choices": ["Pink"]}
    fields = {kind: a_custom_field(kind, "Red\nGreen") for kind in wrong}
    answers = {f"custom_{fields[kind].pk.hex}": text for kind, text in wrong.items()}
    record = a_contact()
    data = form_data(get_unrendered(client, page_of(record)))
    page = client.post(page_of(record), data | answers)
    assert all(errors_on(page, name) for name in answers)
    assert answer_of(record) == {}


def test_an_option_taken_off_the_list_stays_with_whoever_chose_it(client, ada):
    field = a_custom_field("Choice", "Red\nGreen")
    record = a_contact()
    name = f"custom_{field.pk.hex}"
    client.post(page_of(record), {**form_data(get_unrendered(client, page_of(record))), name: "Red"})
    field.options = "Green"
    field.save()
    assert client.post(page_of(record), form_data(get_unrendered(client, page_of(record)))).status_code == 302
    assert answer_of(record) == {"Choice": ["Red"]}


def test_answers_are_shown_to_those_who_may_only_look(client):
    field = a_custom_field("Text", name="Nickname")
    record = a_contact()
    answered = record.custom_field_answers.create(custom_field=field)
    answered.responses.create(response="Mimi")
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    page = client.get(page_of(record)).content.decode()
    assert "Nickname" in page
    assert "Mimi" in page


def test_two_custom_fields_of_one_kind_of_record_cannot_share_a_name(client, ada):
    a_custom_field("Text", name="Nickname")
    fields = {"name": "NICKNAME", "applies_to": "Contact", "kind": "Text", "position": "0"}
    assert errors_on(add(client, "customfield", **fields), "name")
    assert add(client, "customfield", **{**fields, "applies_to": "Client"}).status_code == 302


def test_every_page_of_people_opens(client, ada):
    for model in ("staff", "client", "contact", "role", "position", "location", "team", "customfield"):
        assert client.get(reverse(f"admin:people_{model}_changelist")).status_code == 200
        assert client.get(reverse(f"admin:people_{model}_add")).status_code == 200


def test_participants_to_choose_from_have_their_scheme_numbers(client, ada):
    a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430 123 456")
    a_contact(first_name="Mia", last_name="Novak", scheme_number=None)
    asked = {"app_label": "people", "model_name": "contact", "field_name": "representative", "term": "mia n"}
    found = client.get(reverse("admin:autocomplete"), asked).json()["results"]
    assert [each["text"] for each in found] == ["Mia Nguyen · 430 123 456", "Mia Novak"]


def test_autocomplete_needs_the_permission_to_view(client, clerk):
    asked = {"app_label": "people", "model_name": "contact", "field_name": "client", "term": "acme"}
    assert client.get(reverse("admin:autocomplete"), asked).status_code == 403
    client.logout()
    assert client.get(reverse("admin:autocomplete"), asked).status_code == 302


def test_unusual_permissions_are_listed_below_their_record(client, ada):
    page = client.get("/admin/people/role/add/").content.decode()
    rows = [part.split("</tr>")[0] for part in page.split('<tr class="rs-others">')[1:]]
    assert all('name="permissions"' in row for row in rows)
    assert any("funding invoices" in row for row in rows)
    assert any("Confirm bank accounts" in row for row in rows)


def test_who_may_not_change_a_role_sees_its_permissions_in_the_same_table_closed(client):
    role = a_role("people.view_role", "people.change_client")
    client.force_login(a_staff_member(role=role))
    page = client.get(f"/admin/people/role/{role.pk}/change/").content.decode()
    boxes = re.findall(r'<input type="checkbox" name="granted"[^>]*>', page)
    assert boxes
    assert all(" disabled" in box for box in boxes)
    assert [re.search('aria-label="(.*?)"', box)[1] for box in boxes if " checked" in box] == [
        "Change client",
        "View role",
    ]
    assert 'name="permissions"' not in page


def test_the_tab_is_titled_by_the_record_or_by_what_is_listed(client, ada):
    mia = a_contact(first_name="Mia", last_name="Nguyen")
    for place, title in (
        ("contact/", "Contacts"),
        (f"contact/{mia.pk}/overview/", "Mia Nguyen"),
        (f"contact/{mia.pk}/change/", "Mia Nguyen | Change contact"),
    ):
        page = client.get(f"/admin/people/{place}").content.decode()
        assert f"<title> {title} | " in page


@pytest.mark.parametrize(
    ("place", "title"),
    [
        ("", "Home"),
        ("funding/claim/", "Claims"),
        ("funding/claim/queues/", "Work queues"),
        ("funding/claim/month-end/", "Month end"),
        ("sales/opportunity/board/", "Pipeline"),
        ("people/client/add/", "Organisations and providers"),
    ],
)
def test_one_entry_of_the_menu_is_marked(client, ada, place, title):
    sidebar = client.get(f"/admin/{place}").context["sidebar_navigation"]
    assert [item["title"] for group in sidebar for item in group["items"] if item["active"]] == [title]


@pytest.mark.any_engine("labels are the models'")
def test_an_organisation_is_called_so_wherever_a_record_refers_to_one(client):
    labels = {
        (model._meta.label, field.name): str(field.verbose_name)
        for model in site._registry
        for field in model._meta.get_fields()
        if field.concrete and field.related_model is Client
    }
    assert {("people.Contact", "client"), ("documents.Document", "client")} <= set(labels)
    assert [place for place, label in labels.items() if "client" in label.lower()] == []
    client.force_login(an_administrator())
    page = client.get(f"/admin/people/contact/{a_contact(client=a_client()).pk}/overview/").content.decode()
    found = [re.search(rf">\s*{label}\s*<", page) is not None for label in ("Organisation", "Client")]
    assert found == [True, False]
