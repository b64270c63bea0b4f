"""Clients and contacts in the back office, and what their pages share with those of staff."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter
from unfold.decorators import display

from apps.base.drafts import Draft, Issue
from apps.core.admin_base import OVERVIEW, ArchivedFilter, RecordLink, fieldset, record_panel, register_panels
from apps.core.admin_base.display import admin_url, link, list_url
from apps.core.admin_base.pages import sees_everybody
from apps.core.caseload import visible_rows
from apps.core.models import PersonalDataRead, Subscriber
from apps.core.read_log import log_shown
from apps.people.admin.custom_fields import CustomFieldsAdmin, CustomFieldsForm
from apps.people.admin.merging import MergingAdmin
from apps.people.choices import AppliesTo
from apps.people.duplicates import MESSAGE, describe, find_duplicates
from apps.people.models import Client, Contact, Staff
from apps.people.validation import CLIENT_WARNINGS, PERSON_WARNINGS

# --- fieldsets that several forms have ----------------------------------------------------------------

ADDRESSES = (
    fieldset(
        "Address",
        "street_address",
        "street_address2",
        "suburb",
        "city",
        "state",
        "post_code",
        "country",
        style="tab",
    ),
    fieldset(
        "Postal address",
        "postal_street_address",
        "postal_street_address2",
        "postal_suburb",
        "postal_city",
        "postal_state",
        "postal_post_code",
        style="tab",
    ),
)
CONTACT_DETAILS = fieldset(
    "Contact details",
    ("use_primary_email", "use_secondary_email"),
    "secondary_email",
    ("phone1", "phone2"),
    ("home_phone", "fax"),
    ("accepts_email_contact", "accepts_sms_contact"),
    "professional_network_url",
    "social_network_a_url",
    "social_network_b_url",
    "video_channel_url",
    "other_social_media_url",
    style="tab",
)
PERSONAL = fieldset(
    "Personal",
    "gender",
    ("birthday", "send_birthday_reminder"),
    ("partner_first_name", "partner_last_name"),
    ("partner_birthday", "send_partner_birthday_reminder"),
    "number_of_children",
    "hobbies_interests",
    "additional_information",
    style="tab",
)


# --- people -------------------------------------------------------------------------------------------


class ContactForm(CustomFieldsForm):
    """The form of a contact; its primary email is used when there is one."""

    def draft(self) -> Draft:
        draft = super().draft()
        if "primary_email" in draft.invalid:
            return draft
        changed = {"primary_email", "use_primary_email"}.intersection(self.changed_data)
        email = draft.get("primary_email")
        if email is None or (not self.is_new and changed == {"primary_email"}):
            draft.fill("use_primary_email", email is not None)
            draft.given |= {"use_primary_email"}
        return draft


class PersonAdmin(CustomFieldsAdmin):
    """The pages of staff and contacts, as far as they are the same."""

    record_pages = (OVERVIEW, *CustomFieldsAdmin.record_pages)
    main_page = "overview"
    warnings = PERSON_WARNINGS

    @display(description="name", ordering="last_name", header=True)
    def person(self, person: Any) -> list[str]:
        initials = getattr(person, "abbreviation", None) or f"{person.first_name[:1]}{person.last_name[:1]}"
        return [person.full_name, person.primary_email or "", initials[:3]]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        defaults = {
            "accepts_email_contact": Subscriber.current().email_consent_default,
            "use_primary_email": True,
        }
        return {**defaults, **super().get_changeform_initial_data(request)}


@admin.register(Client)
class ClientAdmin(MergingAdmin):
    """Organisations: customers and providers of the subscriber."""

    purpose = "Organisations: providers whose invoices are claimed, and customers."
    warnings = CLIENT_WARNINGS
    applies_to = AppliesTo.CLIENT
    record_pages = (OVERVIEW, *MergingAdmin.record_pages)
    main_page = "overview"
    overview_fields = (
        *("business_number", "unique_code", "business_phone", "business_phone2", "web_address"),
        *("key_contact", "external_reference"),
    )
    menu_group = "People"
    menu_order = 20
    menu_title = "Organisations and providers"
    icon = "domain"
    list_display = (
        "business_name",
        "business_number",
        "unique_code",
        "business_phone",
        "key_contact",
        "archived",
    )
    list_select_related = ("key_contact",)
    search_help_text = "Name, ABN, code, reference or phone"
    ordering = ("business_name", "guid")
    fieldsets = (
        fieldset(
            None,
            "business_name",
            ("business_number", "unique_code"),
            ("business_phone", "business_phone2"),
            ("web_address", "business_fax"),
            ("key_contact", "external_reference"),
        ),
        *ADDRESSES,
    )


@admin.register(Contact)
class ContactAdmin(PersonAdmin, MergingAdmin):
    """Participants, their representatives, and people at clients."""

    purpose = "Participants, their representatives, and people at organisations."
    form = ContactForm
    record_pages = (OVERVIEW, *MergingAdmin.record_pages)
    applies_to = AppliesTo.CONTACT
    overview_fields = (
        *("scheme_number", "scheme_price_guide_region", "birthday", "phone1", "phone2", "primary_email"),
        *("role", "client", "position_title", "representative", "representative_relationship"),
        *("account_manager", "unique_code"),
    )
    menu_group = "People"
    menu_order = 30
    menu_title = "Participants and contacts"
    icon = "person"
    list_display = ("person", "scheme_number", "phone1", "client", "role", "account_manager", "archived")
    list_select_related = ("client", "role", "account_manager")
    list_filter = (
        ArchivedFilter,
        ("role", RelatedDropdownFilter),
        ("scheme_price_guide_region", ChoicesDropdownFilter),
    )
    search_help_text = "Name, scheme number, email, code or phone"
    ordering = ("last_name", "first_name", "guid")
    fieldsets = (
        fieldset(
            None,
            ("first_name", "last_name"),
            ("scheme_number", "scheme_price_guide_region"),
            ("primary_email", "role"),
            ("client", "position_title"),
            ("account_manager", "unique_code"),
            ("representative", "representative_relationship"),
            ("personal_title", "personal_title_other"),
        ),
        CONTACT_DETAILS,
        *ADDRESSES,
        PERSONAL,
    )

    def find_warnings_to_confirm(self, draft: Draft, person: object) -> list[Issue]:
        """A person who is there already, with a link to that record."""
        contacts = visible_rows(person, Contact.objects.all())
        found = [(each, each.contact) for each in find_duplicates([draft], contacts) if each.contact]
        log_shown("Refusal", {Contact: [contact.pk for _, contact in found]}, "PossibleDuplicate")
        links = [link(admin_url(contact, "change", contact.pk), describe(contact)) for _, contact in found]
        return [
            Issue("PossibleDuplicate", each.field, format_html(MESSAGE, other, each.shared))
            for (each, _), other in zip(found, links, strict=True)
        ]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A participant whom somebody enters who sees those of some is looked after by them."""
        own = {} if sees_everybody(request) else {"account_manager": request.user.pk}
        return {**own, **super().get_changeform_initial_data(request)}

    def record_links(self, request: HttpRequest, record: Contact) -> list[RecordLink]:
        links = super().record_links(request, record)
        if not request.user.has_perm("core.view_personaldataread"):
            return links
        address = list_url(PersonalDataRead, q=record.pk)
        return [*links, RecordLink("Who read this", address, is_minor=True)]

    def autocomplete_label(self, record: Contact) -> str:
        return f"{record} · {record.scheme_number}" if record.scheme_number else str(record)


PERSON_COLUMNS = ("full_name", "scheme_number", "phone1", "primary_email", "role")
register_panels(
    Contact,
    record_panel(Contact, PERSON_COLUMNS, column="representative", title="Represents", order=80),
)
register_panels(Client, record_panel(Contact, PERSON_COLUMNS, column="client", title="Contacts", order=50))
register_panels(
    Staff,
    record_panel(Contact, PERSON_COLUMNS, column="account_manager", title="Account manager of", order=50),
)
