"""Bank accounts in the back office: entered by one person, confirmed by another.

Their numbers stand on the record's own pages alone: lists, panels and messages name the owner.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import F, Model, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.base.errors import Refusal
from apps.core.admin_base import (
    ArchivedFilter,
    ConditionFilter,
    Conditions,
    Page,
    RecordAdmin,
    RecordFilter,
    RecordForm,
    RecordLink,
    fieldset,
    record_panel,
    register_panels,
)
from apps.core.admin_base.display import list_column, record_link
from apps.payments.drafts import AccountDraft
from apps.payments.models import BSB, BankAccount, plain_account_number, plain_bsb
from apps.payments.services.accounts import confirm_account, create_bank_accounts
from apps.payments.validation import CONFIRM_PERMISSION, CONFIRMATION_LENGTH
from apps.people.admin.staff import staff_of
from apps.people.models import Client, Contact

CONFIRMED = Q(confirmed_at__isnull=False) & (Q(confirmed_for=F("client")) | Q(confirmed_for=F("contact")))
COLUMNS = ("state", "entered_by", "creation_date", "confirmed_by")


class BsbField(forms.CharField):
    def to_python(self, value: object) -> str:
        return plain_bsb(super().to_python(value) or "")


class NumberField(forms.CharField):
    def to_python(self, value: object) -> str:
        return plain_account_number(super().to_python(value) or "")


class BankAccountForm(RecordForm):
    """The form of a new account."""

    bsb = BsbField(label="BSB", max_length=12, validators=[BSB], widget=UnfoldAdminTextInputWidget)
    account_number = NumberField(max_length=20, widget=UnfoldAdminTextInputWidget)


class ConfirmedFilter(ConditionFilter):
    """Accounts that are confirmed, and those that nothing is paid to yet."""

    title = "confirmed"
    parameter_name = "confirmed"

    def conditions(self, model: type[Model]) -> Conditions:
        return {"yes": ("Confirmed", CONFIRMED), "no": ("To be confirmed", ~CONFIRMED)}


@admin.register(BankAccount)
class BankAccountAdmin(RecordAdmin):
    """An account is never changed: another one takes its place, and it is archived."""

    purpose = "The accounts that organisations and people are paid to, each confirmed by a second person."
    menu_group = "Payments"
    menu_order = 240
    icon = "account_balance_wallet"
    form = BankAccountForm
    draft_class = AccountDraft
    create = staticmethod(create_bank_accounts)
    record_pages: ClassVar[Any] = (Page("confirm", "Confirm", permission="confirm"),)
    actions = ("archive_selected",)
    list_display = ("owner_name", *COLUMNS, "archived")
    list_display_links = ("owner_name",)
    list_select_related = ("client", "contact", "entered_by", "confirmed_by")
    search_fields = ("client__business_name", "contact__first_name", "contact__last_name")
    search_help_text = "Organisation's or person's name"
    list_filter = (
        ArchivedFilter,
        ConfirmedFilter,
        ("client", RecordFilter),
        ("contact", RecordFilter),
    )
    fieldsets = (
        fieldset(
            None,
            ("client", "contact"),
            ("bsb", "account_number"),
            "account_name",
            description="Of one organisation or of one person. Nothing is paid to it before a second person"
            " has confirmed it. The account that the owner had before is archived.",
        ),
    )
    of_record = fieldset(
        None, "state", "entered_by", "confirmed_by", "confirmed_at", "confirmation", "unconfirmed_because"
    )
    readonly_fields = (
        "state",
        "entered_by",
        "confirmed_by",
        "confirmed_at",
        "confirmation",
        "unconfirmed_because",
    )

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["payments.css"]}

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        first, *others = super().get_fieldsets(request, obj)
        return [first, *others] if obj is None else [first, self.of_record, *others]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No form changes an account; the permission is for archiving."""
        return obj is None and super().has_change_permission(request)

    def has_confirm_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request) and request.user.has_perm(CONFIRM_PERMISSION)

    def record_links(self, request: HttpRequest, record: BankAccount) -> list[RecordLink]:
        return [] if record.is_confirmed or record.is_archived else super().record_links(request, record)

    owner_name = list_column("owner", "owner", str, is_sorted=False)

    @display(
        description="state",
        label={
            "Confirmed": "success",
            "To be confirmed": "warning",
            "Confirm again": "danger",
            "Replaced": "info",
        },
    )
    def state(self, account: BankAccount) -> str:
        if account.is_archived:
            return "Replaced"
        if account.is_confirmed:
            return "Confirmed"
        return "Confirm again" if account.unconfirmed_because else "To be confirmed"

    def confirm_page(self, request: HttpRequest, record: BankAccount) -> HttpResponse:
        """Ask how it was confirmed, and by whom; then confirm it."""
        if request.method == "POST":
            try:
                confirm_account(record.pk, staff_of(request), request.POST.get("confirmation", ""))
            except Refusal as refused:
                messages.error(request, str(refused))
                owned = BankAccount.objects.filter(client=record.client, contact=record.contact)
                newer = owned.filter(archive_date=None).exclude(pk=record.pk).first()
                if newer is not None:
                    return redirect(self.page_url("change", newer.pk))
            else:
                messages.success(request, f"The account of {record.owner} is confirmed.")
                return redirect(self.page_url("change", record.pk))
        return self.render_page(
            request,
            "payments/confirm.html",
            f"Confirm the account of {record.owner}",
            record,
            owner=record_link(record.owner),
            entered=request.POST.get("confirmation", ""),
            length=CONFIRMATION_LENGTH,
            shown_records={type(record.owner): [record.owner.pk]},
        )


register_panels(Client, record_panel(BankAccount, COLUMNS, column="client", can_add=True, order=60))
register_panels(Contact, record_panel(BankAccount, COLUMNS, column="contact", can_add=True, order=60))
