"""The back office's pages for staff, clients, contacts and the lists they choose from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RadioFilter, RelatedDropdownFilter
from unfold.decorators import action, display

from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.core.models import Subscriber
from apps.odata import clock
from apps.people import client_rules, contact_rules, custom_answers, leaving, signing_in, staff_rules
from apps.people.choices import AppliesTo
from apps.people.models import Client, Contact, CustomField, Location, Position, Role, Staff, Team
from apps.people.staff_forms import LeavingForm, PasswordForm, PersonForm, RoleForm, StaffForm

# --- fieldsets that several forms have ----------------------------------------------------------------

ADDRESS = ("street_address", "street_address2", "suburb", "city", "state", "post_code", "country")
POSTAL_ADDRESS = (
    "postal_street_address",
    "postal_street_address2",
    "postal_suburb",
    "postal_city",
    "postal_state",
    "postal_post_code",
)
ADDRESSES = (
    ("Address", {"fields": ADDRESS, "classes": ("tab",)}),
    ("Postal address", {"fields": POSTAL_ADDRESS, "classes": ("tab",)}),
)
REACHED_BY = (
    "Reached by",
    {
        "fields": (
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
        ),
        "classes": ("tab",),
    },
)
PERSONAL = (
    "Personal",
    {
        "fields": (
            "gender",
            ("birthday", "send_birthday_reminder"),
            ("partner_first_name", "partner_last_name"),
            ("partner_birthday", "send_partner_birthday_reminder"),
            "number_of_children",
            "hobbies_interests",
            "additional_information",
        ),
        "classes": ("tab",),
    },
)


# --- what several pages share -------------------------------------------------------------------------


class AsksCustomFields(RecordAdmin):
    """A page whose form asks the subscriber's own fields as well, each by its kind."""

    asked_of: ClassVar[AppliesTo]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        held = custom_answers.answers_of(obj) if obj is not None else {}
        fields = {}
        for each in self._asked(request):
            field = custom_answers.form_field(each, held.get(each.pk, []))
            field.initial = custom_answers.initial(each, held.get(each.pk, []))
            field.short_description = each.name  # type: ignore[attr-defined]  # the label when only shown
            fields[custom_answers.name_of(each)] = field
        form = type("WithCustomFields", (self.form,), fields)
        return super().get_form(request, obj, change=change, **{"form": form, **options})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = list(super().get_fieldsets(request, obj))
        names = [custom_answers.name_of(each) for each in self._asked(request)]
        if names:
            place = len(fieldsets) - (obj is not None)  # the stamps stay last
            fieldsets.insert(place, ("Custom fields", {"fields": names, "classes": ("tab",)}))
        return fieldsets

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        record = super().get_object(request, object_id, from_field)
        if record is not None:
            # Shown as they stand to those who may see the form but not change it.
            held = custom_answers.answers_of(record)
            for each in self._asked(request):
                setattr(record, custom_answers.name_of(each), ", ".join(held.get(each.pk, [])))
        return record

    def store_lists(self, request: HttpRequest, form: Any) -> None:
        super().store_lists(request, form)
        given = {
            each.pk: custom_answers.responses(form.cleaned_data.get(custom_answers.name_of(each)))
            for each in self._asked(request)
        }
        custom_answers.answer(form.instance, given)

    def lists_of(self, record: Any) -> dict[str, list[str]]:
        names = dict(CustomField.objects.filter(applies_to=self.asked_of).values_list("pk", "name"))
        answers = custom_answers.answers_of(record)
        return super().lists_of(record) | {names[key]: values for key, values in answers.items()}

    def _asked(self, request: HttpRequest) -> list[CustomField]:
        """Read once for a request."""
        if not hasattr(request, "_custom_fields"):
            request._custom_fields = custom_answers.asked_of(self.asked_of)  # type: ignore[attr-defined]
        return request._custom_fields  # type: ignore[attr-defined]


class FindsByNumber(RecordAdmin):
    """A list searched by numbers as people write them: ``430 123 456`` or ``(02) 9000-0000``."""

    number_columns: ClassVar[Sequence[str]] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        digits = number_in(search_term)
        if digits is None:
            return super().get_search_results(request, queryset, search_term)
        anywhere = Q()
        for column in self.number_columns:
            queryset = queryset.alias(**{f"{column}_digits": without_blanks(column)})
            anywhere |= Q(**{f"{column}_digits__contains": digits})
        found, _ = super().get_search_results(request, queryset.filter(anywhere), "")
        return found, False


def number_in(text: str) -> str | None:
    """The digits of a number that somebody looks for; none when it is a name, or too short to tell.

    A phone number is sought without its leading zero or country code, so either spelling finds both.
    """
    digits = re.sub(r"[\s()+./-]", "", text)
    if not digits.isdecimal() or len(digits) < 4:
        return None
    if len(digits) == 11 and digits.startswith("61"):
        return digits[2:]
    return digits[1:] if len(digits) == 10 and digits.startswith("0") else digits


def without_blanks(column: str) -> Any:
    """The column without what people put between digits."""
    bare: Any = F(column)
    for mark in (" ", "-", "(", ")"):
        bare = Replace(bare, Value(mark), Value(""))
    return bare


class PersonAdmin(FindsByNumber, AsksCustomFields):
    """What the pages of staff and contacts have in common."""

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        usual = {
            "accepts_email_contact": Subscriber.current().email_consent_default,
            "use_primary_email": True,
        }
        return {**usual, **super().get_changeform_initial_data(request)}


def _person(request: HttpRequest) -> Staff:
    """Whoever is signed in; every page here is only for those who are."""
    assert isinstance(request.user, Staff)
    return request.user


# --- staff --------------------------------------------------------------------------------------------


class LoginFilter(RadioFilter):
    """Who may sign in now."""

    title = "login"
    parameter_name = "login"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("disabled", "Disabled")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        disabled = Q(disable_login_date__lte=clock.now())
        if self.value() == "open":
            return queryset.exclude(disabled).filter(archive_date=None)
        return queryset.filter(disabled) if self.value() == "disabled" else queryset


@admin.register(Staff)
class StaffAdmin(PersonAdmin):
    """Staff, who are the users of the back office."""

    form = StaffForm
    warnings = staff_rules.WARNINGS
    asked_of = AppliesTo.STAFF
    menu_group = "People"
    menu_order = 10
    icon = "badge"
    list_display = ("person", "role", "position", "location", "phone1", "login", "archived")
    list_select_related = ("role", "position", "location")
    list_filter = (
        ArchivedFilter,
        LoginFilter,
        ("role", RelatedDropdownFilter),
        ("teams", RelatedDropdownFilter),
        ("location", RelatedDropdownFilter),
    )
    list_filter_submit = True
    search_fields = ("first_name", "last_name", "primary_email", "unique_code", "abbreviation")
    search_help_text = "Name, email, initials, code or phone"
    number_columns = ("phone1", "phone2", "home_phone")
    ordering = ("last_name", "first_name", "guid")
    actions = ("archive_selected", "restore_selected", "close_logins", "open_logins")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("first_name", "last_name"),
                    ("primary_email", "abbreviation"),
                    ("role", "position"),
                    ("location", "teams"),
                    "account_manager",
                    "disable_login_date",
                )
            },
        ),
        REACHED_BY,
        *ADDRESSES,
        PERSONAL,
        (
            "Employment",
            {
                "fields": (
                    ("personal_title", "personal_title_other"),
                    "unique_code",
                    "scheme_number",
                    "employment_type",
                    "commencement_date",
                    "working_hours_per_week",
                ),
                "classes": ("tab",),
            },
        ),
    )

    @display(description="name", ordering="last_name", header=True)
    def person(self, staff: Staff) -> list[str]:
        initials = staff.abbreviation or f"{staff.first_name[:1]}{staff.last_name[:1]}"
        return [staff.full_name, staff.primary_email, initials[:3]]

    @display(description="login", label={"Open": "success", "Disabled": "danger", "No password": "warning"})
    def login(self, staff: Staff) -> str:
        if not staff.is_active:
            return "Disabled"
        return "Open" if staff.has_usable_password() else "No password"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not of those who may do more: to set their email or password would be a way to all of it."""
        if not super().has_change_permission(request):
            return False
        return not isinstance(obj, Staff) or signing_in.may_do_all_of(request.user, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.set_unusable_password()
            messages.info(request, f"{obj} has no password yet, so cannot sign in until one is set.")
        super().save_model(request, obj, form, change)

    # --- passwords and logins

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.password_view)
        return [path("<path:object_id>/password/", view, name="people_staff_password"), *super().get_urls()]

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        links = super().record_links(request, object_id)
        if not self.has_change_permission(request):
            return links
        password = {"title": "Set password", "icon": "key", "link": self.page_url("password", object_id)}
        return [password, *links]

    def password_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Set somebody's password; it is shown to nobody and written nowhere."""
        person = self.get_object(request, object_id)
        if person is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_change_permission(request, person):
            raise PermissionDenied
        form = PasswordForm(person, request.POST or None)
        if form.is_valid():
            form.save()
            if person.pk == request.user.pk:
                update_session_auth_hash(request, person)
            self.message_user(request, f"{person} has a new password.", messages.SUCCESS)
            return redirect("admin:people_staff_change", object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Password of {person}",
            "opts": self.opts,
            "original": person,
            "form": form,
        }
        return TemplateResponse(request, "people/set_password.html", context)

    @action(description="Disable login", permissions=["change"])
    def close_logins(self, request: HttpRequest, queryset: QuerySet[Staff]) -> None:
        count = signing_in.close_logins(self._who_may_leave(request, queryset))
        self.message_user(request, f"{count or 'No'} logins disabled.")

    @action(description="Enable login", permissions=["change"])
    def open_logins(self, request: HttpRequest, queryset: QuerySet[Staff]) -> None:
        count = signing_in.open_logins(self._within_reach(request, queryset))
        self.message_user(request, f"{count or 'No'} logins enabled.")

    # --- leaving

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        return super().archive_records(request, self._who_may_leave(request, records))

    def archiving_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        return {} if record.is_archived else {"leaving_form": LeavingForm(record)}

    def change_archive_status(self, request: HttpRequest, record: Any) -> None:
        form = LeavingForm(record, request.POST)
        if record.is_archived or not form.is_valid():
            super().change_archive_status(request, record)
            return
        leaver = Staff.objects.filter(pk=record.pk)
        if not self._who_may_leave(request, leaver).exists():
            return
        if form.cleaned_data["successor"]:
            count = leaving.hand_over(record, form.cleaned_data["successor"])
            self.message_user(request, f"{count} records handed over to {form.cleaned_data['successor']}.")
        if form.cleaned_data["close_login"]:
            signing_in.close_logins(leaver)
        super().change_archive_status(request, record)

    def _within_reach(self, request: HttpRequest, staff: QuerySet[Staff]) -> QuerySet[Staff]:
        """Those of them whom this person may change."""
        people = Staff.objects.filter(pk__in=staff.values("pk")).select_related("role")
        return people.filter(pk__in=[each.pk for each in people if self.has_change_permission(request, each)])

    def _who_may_leave(self, request: HttpRequest, staff: QuerySet[Staff]) -> QuerySet[Staff]:
        """Those of them who can be archived or shut out by this person, telling why others cannot."""
        others = self._within_reach(request, staff).exclude(pk=_person(request).pk)
        if staff.filter(pk=_person(request).pk).exists():
            self.message_user(request, "You cannot shut yourself out; somebody else has to.", messages.ERROR)
        if not leaving.somebody_stays_in_charge(others):
            text = (
                "Nobody would be left who may do everything. Give another member of staff such a role first."
            )
            self.message_user(request, text, messages.ERROR)
            return others.none()
        return others


@admin.register(Client)
class ClientAdmin(FindsByNumber, AsksCustomFields):
    """Organisations: customers and providers of the subscriber."""

    warnings = client_rules.WARNINGS
    asked_of = AppliesTo.CLIENT
    menu_group = "People"
    menu_order = 20
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
    list_filter = (ArchivedFilter,)
    list_filter_submit = True
    search_fields = ("business_name", "unique_code", "external_reference", "business_number")
    search_help_text = "Name, ABN, code, reference or phone"
    number_columns = ("business_number", "business_phone", "business_phone2")
    ordering = ("business_name", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "business_name",
                    ("business_number", "unique_code"),
                    ("business_phone", "business_phone2"),
                    ("web_address", "business_fax"),
                    ("key_contact", "external_reference"),
                )
            },
        ),
        *ADDRESSES,
    )


@admin.register(Contact)
class ContactAdmin(PersonAdmin):
    """Participants, their representatives, and people at clients."""

    form = PersonForm
    warnings = contact_rules.WARNINGS
    asked_of = AppliesTo.CONTACT
    menu_group = "People"
    menu_order = 30
    icon = "person"
    list_display = ("person", "scheme_number", "phone1", "client", "role", "account_manager", "archived")
    list_select_related = ("client", "role", "account_manager")
    list_filter = (
        ArchivedFilter,
        ("role", RelatedDropdownFilter),
        ("scheme_price_guide_region", ChoicesDropdownFilter),
    )
    list_filter_submit = True
    search_fields = ("first_name", "last_name", "primary_email", "secondary_email", "unique_code")
    search_help_text = "Name, scheme number, email, code or phone"
    number_columns = ("scheme_number", "phone1", "phone2", "home_phone")
    ordering = ("last_name", "first_name", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("first_name", "last_name"),
                    ("scheme_number", "scheme_price_guide_region"),
                    ("primary_email", "role"),
                    ("client", "position_title"),
                    ("account_manager", "unique_code"),
                    ("representative", "representative_relationship"),
                    ("personal_title", "personal_title_other"),
                )
            },
        ),
        REACHED_BY,
        *ADDRESSES,
        PERSONAL,
    )

    @display(description="name", ordering="last_name", header=True)
    def person(self, contact: Contact) -> list[str]:
        initials = f"{contact.first_name[:1]}{contact.last_name[:1]}"
        return [contact.full_name, contact.primary_email or "", initials]

    def autocomplete_label(self, record: Any) -> str:
        return f"{record} · {record.scheme_number}" if record.scheme_number else str(record)


# --- the lists they choose from -----------------------------------------------------------------------


class LookupAdmin(RecordAdmin):
    """A short list that other records choose from."""

    menu_group = "Lists"
    list_display: ClassVar[Any] = ("name", "archived")
    search_fields: ClassVar[Any] = ("name",)
    ordering: ClassVar[Any] = ("name",)


@admin.register(Role)
class RoleAdmin(LookupAdmin):
    """What people do, and what they may do in the back office."""

    form = RoleForm
    menu_order = 800
    icon = "verified_user"
    list_display = ("name", "all_permissions", "archived")
    fieldsets = ((None, {"fields": ("name", "all_permissions", "permissions")}),)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        return ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not of a role that allows more than one's own."""
        if not super().has_change_permission(request):
            return False
        return not isinstance(obj, Role) or signing_in.may_do_all_of(request.user, Staff(role=obj))

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        reachable = [each.pk for each in records if self.has_change_permission(request, each)]
        return super().archive_records(request, records.filter(pk__in=reachable))

    def lists_of(self, record: Any) -> dict[str, list[str]]:
        """Permissions by their codes: keys of theirs differ between installations."""
        pairs = record.permissions.values_list("content_type__app_label", "codename")
        return {"permissions": [f"{app}.{codename}" for app, codename in pairs]}


@admin.register(Position)
class PositionAdmin(LookupAdmin):
    """Position titles."""

    menu_order = 810
    icon = "work"


@admin.register(Location)
class LocationAdmin(LookupAdmin):
    """Places staff work from."""

    menu_order = 820
    icon = "location_on"


@admin.register(Team)
class TeamAdmin(LookupAdmin):
    """Groups of staff."""

    menu_order = 830
    icon = "groups"
    list_display = ("name", "id", "archived")


@admin.register(CustomField)
class CustomFieldAdmin(LookupAdmin):
    """The subscriber's own fields."""

    menu_order = 840
    icon = "add_notes"
    list_display = ("name", "applies_to", "kind", "position", "archived")
    list_filter = (ArchivedFilter, ("applies_to", ChoicesDropdownFilter), ("kind", ChoicesDropdownFilter))
    list_filter_submit = True
    ordering = ("applies_to", "position", "name")
    fieldsets = ((None, {"fields": ("name", ("applies_to", "kind"), "options", "position")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """What is asked of whom, and how, stays once there are answers."""
        readonly = super().get_readonly_fields(request, obj)
        if obj is not None and obj.answers.exists():
            return (*readonly, "applies_to", "kind")
        return readonly
