"""Staff in the back office: their records, passwords and logins, and the handover of their work."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import action, display

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.base.errors import plural
from apps.core.admin_base import ArchivedFilter, ConditionFilter, Conditions, Page, RecordLink, fieldset
from apps.core.admin_base.archiving import call_where_allowed
from apps.core.admin_base.display import list_url
from apps.core.admin_base.record_fields import RecordSelect
from apps.core.models import Change, PersonalDataRead
from apps.people.admin.people import ADDRESSES, CONTACT_DETAILS, PERSONAL, PersonAdmin
from apps.people.admin.roles import CoveredAdmin
from apps.people.authentication.forms import PasswordForm, PasswordLinkForm
from apps.people.authentication.password_mail import link_path, link_validity
from apps.people.choices import AppliesTo
from apps.people.handover import Assignment, find_assignments, hand_over, leave, restore_staff
from apps.people.models import Role, Staff
from apps.people.services import (
    disable_logins,
    enable_logins,
    record_password_link,
    remove_second_factors,
    with_enabled_login,
)


def staff_of(request: HttpRequest) -> Staff:
    """The signed-in person; pages that ask for them are only for those who are."""
    assert isinstance(request.user, Staff)
    return request.user


class HandoverForm(forms.Form):
    """Who takes over from somebody who leaves: one person for all, or another one for some kinds of work."""

    def __init__(self, leaver: Staff, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.assignments = [
            (each, count) for each in find_assignments(leaver) if (count := each.records.count())
        ]
        self.fields["successor"] = self.successor_field("Hand over everything to")
        for number, (each, _) in enumerate(self.assignments):
            self.fields[f"successor_{number}"] = self.successor_field(each.title)

    @staticmethod
    def successor_field(label: str) -> forms.Field:
        widget = RecordSelect(Staff._meta.get_field("account_manager"), admin.site)
        return forms.ModelChoiceField(Staff.objects.all(), required=False, label=label, widget=widget)

    def rows(self) -> list[tuple[Assignment, int, str, forms.BoundField]]:
        """The assignments, their numbers of records, the addresses of their lists, and their fields."""
        return [
            (each, count, list_url(each.records.model, **each.list_filter), self[f"successor_{number}"])
            for number, (each, count) in enumerate(self.assignments)
        ]

    def successors(self) -> dict[str, Staff]:
        chosen = self.cleaned_data
        found = {
            each.name: chosen[f"successor_{number}"] or chosen["successor"]
            for number, (each, _) in enumerate(self.assignments)
        }
        return {name: successor for name, successor in found.items() if successor}


class LoginFilter(ConditionFilter):
    """Staff by whether they can sign in now."""

    title = "login"
    parameter_name = "login"

    def conditions(self, model: type[Model]) -> Conditions:
        disabled = Q(disable_login_date__lte=clock.now())
        enabled = ~disabled & Q(archive_date=None)
        return {"enabled": ("Enabled", enabled), "disabled": ("Disabled", disabled)}


@admin.register(Staff)
class StaffAdmin(CoveredAdmin, PersonAdmin):
    """Staff, who are the users of the back office."""

    purpose = "The people who work here. They sign in with their email, and may do what their role allows."
    applies_to = AppliesTo.STAFF
    archive_title = "Leaves"
    overview_fields = (
        *("role", "position", "location", "phone1", "primary_email", "account_manager"),
        *("employment_type", "commencement_date", "disable_login_date", "last_login"),
    )
    menu_group = "People"
    menu_order = 10
    icon = "badge"
    record_pages = (Page("password", "Set password", permission="change"), *PersonAdmin.record_pages)
    list_display = ("person", "role", "position", "location", "phone1", "login", "archived")
    list_select_related = ("role", "position", "location")
    list_filter = (
        ArchivedFilter,
        LoginFilter,
        ("role", RelatedDropdownFilter),
        ("teams", RelatedDropdownFilter),
        ("location", RelatedDropdownFilter),
    )
    search_help_text = "Name, email, initials, code or phone"
    left_out_of_form = "password", "last_login"
    ordering = ("last_name", "first_name", "guid")
    actions = (
        "archive_selected",
        "restore_selected",
        "disable_logins",
        "enable_logins",
        "remove_second_factors",
    )
    fieldsets = (
        fieldset(
            None,
            ("first_name", "last_name"),
            ("primary_email", "abbreviation"),
            ("role", "position"),
            ("location", "teams"),
            "account_manager",
            "disable_login_date",
        ),
        CONTACT_DETAILS,
        *ADDRESSES,
        PERSONAL,
        fieldset(
            "Employment",
            ("personal_title", "personal_title_other"),
            "unique_code",
            "scheme_number",
            "employment_type",
            "commencement_date",
            "working_hours_per_week",
            style="tab",
        ),
    )

    @display(
        description="login", label={"Enabled": "success", "Disabled": "danger", "No password": "warning"}
    )
    def login(self, staff: Staff) -> str:
        if not staff.is_active:
            return "Disabled"
        return "Enabled" if staff.has_usable_password() else "No password"

    def record_links(self, request: HttpRequest, record: Staff) -> list[RecordLink]:
        audits = (
            ("core.view_change", "Changes made", Change),
            ("core.view_personaldataread", "Personal data read", PersonalDataRead),
        )
        return super().record_links(request, record) + [
            RecordLink(title, list_url(model, staff__guid__exact=record.pk), is_minor=True)
            for permission, title, model in audits
            if request.user.has_perm(permission)
        ]

    def role_of(self, record: Staff) -> Role:
        return record.role

    def save_model(self, request: HttpRequest, obj: Model, form: object, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            messages.info(
                request, f"{obj} has no password yet: set one, or make a link by which they choose it."
            )

    # --- passwords and logins

    def password_page(self, request: HttpRequest, record: Staff) -> HttpResponse:
        """Set somebody's password, which is written nowhere, or make a link by which they choose one."""
        if "link" in request.POST or "mail" in request.POST:
            return self.password_link_page(request, record)
        form = PasswordForm(record, request.POST or None)
        if form.is_valid():
            form.save()
            if record.pk == request.user.pk:
                update_session_auth_hash(request, record)
            self.message_user(request, f"{record} has a new password.", messages.SUCCESS)
            return redirect(self.page_url("change", record.pk))
        title = f"Password of {record}"
        can_mail = bool(settings.EMAIL_HOST)
        return self.render_page(
            request, "people/set_password.html", title, record, form=form, can_mail=can_mail
        )

    def password_link_page(self, request: HttpRequest, record: Staff) -> HttpResponse:
        """Mail the link to the person, or show it for the administrator to hand over."""
        record_password_link(record)
        if "mail" not in request.POST:
            title = f"Link for {record}"
            link = request.build_absolute_uri(link_path(record))
            return self.render_page(
                request, "people/password_link_made.html", title, record, link=link, validity=link_validity()
            )
        form = PasswordLinkForm({"email": record.primary_email})
        if form.is_valid():
            form.save(request)
            self.message_user(request, f"A mail to {record.primary_email} is on its way.", messages.SUCCESS)
        return redirect(self.page_url("change", record.pk))

    @action(description="Disable login", permissions=["change"])
    def disable_logins(self, request: HttpRequest, queryset: QuerySet[Staff]) -> None:
        enabled = with_enabled_login(self.changeable(request, queryset))
        count, refused = call_where_allowed(disable_logins, enabled)
        self.show_issues(request, refused.values())
        self.message_user(request, f"{count or 'No'} logins disabled.")

    @action(description="Enable login", permissions=["change"])
    def enable_logins(self, request: HttpRequest, queryset: QuerySet[Staff]) -> None:
        count = enable_logins(self.changeable(request, queryset))
        self.message_user(request, f"{count or 'No'} logins enabled.")

    @action(description="Remove two-factor authentication", permissions=["change"])
    def remove_second_factors(self, request: HttpRequest, queryset: QuerySet[Staff]) -> None:
        count = remove_second_factors(self.changeable(request, queryset))
        self.message_user(request, f"{count or 'No'} people had second factors, which are removed.")

    # --- handover

    def restore_records(self, request: HttpRequest, records: QuerySet[Model]) -> int:
        return restore_staff(self.changeable(request, records))

    def archiving_page(self, request: HttpRequest, record: Staff) -> HttpResponse:
        """The page of somebody's work and who takes it over; then the end of their login, or its return."""
        if "_restore" in request.POST:
            self.change_archive_status(request, record)
            return redirect(self.page_url("change", record.pk))
        form = HandoverForm(record, request.POST or None)
        if request.method == "POST" and form.is_valid() and self.hand_over(request, record, form):
            return redirect(self.page_url("change", record.pk))
        title = f"{record} has left" if record.is_archived else f"{record} leaves"
        return self.render_page(request, "people/leaver.html", title, record, form=form)

    def hand_over(self, request: HttpRequest, record: Staff, form: HandoverForm) -> bool:
        """True when the work was handed over and the person is archived; messages say why not."""
        service = hand_over if record.is_archived else leave
        try:
            count = service(record, form.successors())
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
            return False
        done = "" if record.is_archived else f"{record} is archived and can no longer sign in. "
        self.message_user(request, f"{done}{plural(count, 'record')} handed over.", messages.SUCCESS)
        return True
