"""Roles in the back office: what people do, and what they may do."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from apps.core.admin_base import LookupAdmin, RecordForm, fieldset
from apps.people.authentication import role_covers
from apps.people.models import Role, Staff
from apps.people.services import an_administrator_remains

USUAL_PERMISSIONS = ("view", "add", "change")


def service_permissions() -> Any:
    """The permissions that mean something here: of this service's records, and nothing is ever deleted."""
    labels = [app.label for app in apps.get_app_configs() if app.name.startswith("apps.")]
    found = Permission.objects.filter(content_type__app_label__in=labels).select_related("content_type")
    return found.exclude(codename__startswith="delete_").order_by("content_type__app_label", "codename")


class PermissionMatrix(forms.CheckboxSelectMultiple):
    """Permissions as a table: a row for each model, a column for each usual permission."""

    template_name = "people/permission_matrix.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        context["widget"]["rows"] = self._rows({str(key) for key in value or ()})
        return context

    def _rows(self, granted: set[str]) -> list[dict[str, Any]]:
        by_model: dict[Any, dict[str, Any]] = defaultdict(lambda: {"usual": {}, "others": []})
        for permission in self.choices.queryset:  # type: ignore[attr-defined]
            row = by_model[permission.content_type]
            verb, _, noun = permission.codename.partition("_")
            box = {
                "value": permission.pk,
                "checked": str(permission.pk) in granted,
                "label": capfirst(permission.name.removeprefix("Can ")),
            }
            if verb in USUAL_PERMISSIONS and noun == permission.content_type.model:
                row["usual"][verb] = box
            else:
                row["others"].append(box)
        rows = [
            {
                "label": capfirst(str(content_type.model_class()._meta.verbose_name_plural)),
                "usual": [row["usual"].get(verb) for verb in USUAL_PERMISSIONS],
                "others": row["others"],
            }
            for content_type, row in by_model.items()
            if content_type.model_class() is not None
        ]
        return sorted(rows, key=lambda row: row["label"])


def check_administrator_remains(leavers: QuerySet[Staff]) -> None:
    """Raise when nobody could do everything any more once these staff cannot."""
    if not an_administrator_remains(leavers):
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
            self.fields["permissions"].queryset = service_permissions()  # type: ignore[attr-defined]

    def clean_all_permissions(self) -> bool:
        everything = bool(self.cleaned_data["all_permissions"])
        if everything and not self.user.is_superuser:
            raise forms.ValidationError(
                "Only somebody who may do everything grants everything.", code="NotAllowed"
            )
        if not everything:
            check_administrator_remains(Staff.objects.filter(role=self.instance.pk))
        return everything

    def clean_permissions(self) -> Any:
        chosen = self.cleaned_data["permissions"]
        codes = {each: f"{each.content_type.app_label}.{each.codename}" for each in chosen}
        refused = [each for each, code in codes.items() if not self.user.has_perm(code)]
        if refused:
            names = ", ".join(each.name.removeprefix("Can ") for each in refused)
            raise forms.ValidationError(f"You may not do this yourself: {names}.", code="NotAllowed")
        return chosen


@admin.register(Role)
class RoleAdmin(LookupAdmin):
    """What people do, and what they may do in the back office."""

    form = RoleForm
    menu_order = 800
    icon = "verified_user"
    list_display = ("name", "all_permissions", "archived")
    fieldsets = (fieldset(None, "name", "all_permissions", "permissions"),)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        return ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not of a role that allows more than one's own."""
        if not super().has_change_permission(request):
            return False
        return not isinstance(obj, Role) or role_covers(request.user, Staff(role=obj))

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        allowed = [each.pk for each in records if self.has_change_permission(request, each)]
        return super().archive_records(request, records.filter(pk__in=allowed))
