"""Forms of the back office for staff and what they may do: roles, passwords, leaving."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django import forms
from django.apps import apps
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import Permission
from django.db.models import QuerySet
from django.utils.text import capfirst
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget, UnfoldBooleanWidget

from apps.core.admin_base import RecordForm
from apps.odata import clock
from apps.people.leaving import somebody_stays_in_charge
from apps.people.models import Role, Staff
from apps.people.signing_in import may_do_all_of

USUAL_RIGHTS = ("view", "add", "change")


def permissions_of_the_house() -> Any:
    """The permissions that mean something here: of our own records, and nothing is ever deleted."""
    ours = [app.label for app in apps.get_app_configs() if app.name.startswith("apps.")]
    found = Permission.objects.filter(content_type__app_label__in=ours).select_related("content_type")
    return found.exclude(codename__startswith="delete_").order_by("content_type__app_label", "codename")


class PermissionMatrix(forms.CheckboxSelectMultiple):
    """Permissions as a table: a row for each kind of record, a column for each usual right, others below."""

    template_name = "people/permission_matrix.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        context["widget"]["rows"] = self._rows({str(key) for key in value or ()})
        return context

    def _rows(self, held: set[str]) -> list[dict[str, Any]]:
        by_model: dict[Any, dict[str, Any]] = defaultdict(lambda: {"usual": {}, "besides": []})
        for permission in self.choices.queryset:  # type: ignore[attr-defined]
            row = by_model[permission.content_type]
            right, _, noun = permission.codename.partition("_")
            box = {
                "value": permission.pk,
                "checked": str(permission.pk) in held,
                "label": capfirst(permission.name.removeprefix("Can ")),
            }
            if right in USUAL_RIGHTS and noun == permission.content_type.model:
                row["usual"][right] = box
            else:
                row["besides"].append(box)
        rows = [
            {
                "label": capfirst(str(content_type.model_class()._meta.verbose_name_plural)),
                "usual": [row["usual"].get(right) for right in USUAL_RIGHTS],
                "besides": row["besides"],
            }
            for content_type, row in by_model.items()
            if content_type.model_class() is not None
        ]
        return sorted(rows, key=lambda row: row["label"])


def leave_somebody_in_charge(others: QuerySet[Staff]) -> None:
    """Refuse what would leave nobody who may do everything once ``others`` no longer may."""
    if not somebody_stays_in_charge(others):
        raise forms.ValidationError(
            "Nobody would be left who may do everything. Give somebody else such a role first.",
            code="NotAllowed",
        )


class RoleForm(RecordForm):
    """Nobody grants what they may not do themselves."""

    permissions = forms.ModelMultipleChoiceField(
        queryset=Permission.objects.none(), required=False, widget=PermissionMatrix
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "permissions" in self.fields:
            self.fields["permissions"].queryset = permissions_of_the_house()  # type: ignore[attr-defined]

    def clean_all_permissions(self) -> bool:
        everything = bool(self.cleaned_data["all_permissions"])
        if everything and not self.user.is_superuser:
            raise forms.ValidationError(
                "Only somebody who may do everything grants everything.", code="NotAllowed"
            )
        if not everything:
            leave_somebody_in_charge(Staff.objects.filter(role=self.instance.pk))
        return everything

    def clean_permissions(self) -> Any:
        chosen = self.cleaned_data["permissions"]
        beyond = [each for each in chosen if not self.user.has_perm(_code(each))]
        if beyond:
            names = ", ".join(each.name.removeprefix("Can ") for each in beyond)
            raise forms.ValidationError(f"You may not do this yourself: {names}.", code="NotAllowed")
        return chosen


def _code(permission: Permission) -> str:
    return f"{permission.content_type.app_label}.{permission.codename}"


class PersonForm(RecordForm):
    """Numbers are taken as people write them, and stored as the scheme does."""

    def clean_scheme_number(self) -> str | None:
        number = self.cleaned_data["scheme_number"]
        return "".join(number.split()) if number else None


class StaffForm(PersonForm):
    """Nobody gives a role that allows more than their own, or closes their own login."""

    def clean_role(self) -> Role:
        role = self.cleaned_data["role"]
        given_anew = self.instance._state.adding or role.pk != self.instance.role_id
        if given_anew and not may_do_all_of(self.user, Staff(role=role)):
            raise forms.ValidationError(
                "This role allows more than your own, so you cannot give it.", code="NotAllowed"
            )
        if not role.all_permissions:
            leave_somebody_in_charge(Staff.objects.filter(pk=self.instance.pk))
        return role

    def clean_disable_login_date(self) -> Any:
        moment = self.cleaned_data["disable_login_date"]
        if moment is not None and self.instance.pk == self.user.pk and moment <= clock.now():
            raise forms.ValidationError("You would lock yourself out.", code="NotAllowed")
        return moment


class PasswordForm(SetPasswordForm):
    """A new password, held against the password rules, twice."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


class LeavingForm(forms.Form):
    """What happens to the work of somebody who leaves."""

    successor = forms.ModelChoiceField(
        queryset=Staff.objects.none(),
        required=False,
        label="Hand over to",
        empty_label="Nobody: leave everything as it is",
        help_text="Becomes account manager wherever the leaver is.",
        widget=UnfoldAdminSelectWidget(),
    )
    close_login = forms.BooleanField(
        required=False, initial=True, label="Disable the login as well", widget=UnfoldBooleanWidget()
    )

    def __init__(self, leaver: Staff, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        current = Staff.objects.filter(archive_date=None).exclude(pk=leaver.pk)
        self.fields["successor"].queryset = current  # type: ignore[attr-defined]
