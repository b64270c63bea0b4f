"""Roles in the back office: what people do, and what they may do."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Permission
from django.db.models import Model, QuerySet
from django.forms.models import ModelChoiceIterator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst
from unfold.decorators import display

from apps.base.drafts import ValidationFailed
from apps.core.admin_base import LookupAdmin, Page, RecordAdmin, RecordForm, fieldset
from apps.core.admin_base.record_fields import RecordsField
from apps.people.choices import Participants
from apps.people.models import Role, Staff
from apps.people.usual_roles import add_usual_roles, missing_roles, service_permissions

USUAL_PERMISSIONS = ("view", "add", "change")
LIMITED = (
    "A role that sees some participants has none of the permissions for what tells of several: claim files,"
    " remittances, payment runs, accounts exports, the history of all records, imports, applications, staff"
    " and roles."
)


class PermissionMatrix(forms.CheckboxSelectMultiple):
    """Permissions as a table: a row for each model, a column for each usual permission."""

    template_name = "people/permission_matrix.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, object] | None) -> dict[str, object]:
        context = super().get_context(name, value, attrs)
        context["widget"]["rows"] = self._rows({str(key) for key in value or ()})
        return context

    def _rows(self, granted: set[str]) -> list[dict[str, object]]:
        by_model: dict[Any, dict[str, Any]] = defaultdict(lambda: {"usual": {}, "others": []})
        for permission in cast("ModelChoiceIterator[Permission]", self.choices).queryset:
            row = by_model[permission.content_type]
            action, _, noun = permission.codename.partition("_")
            box = {
                "value": permission.pk,
                "checked": str(permission.pk) in granted,
                "label": capfirst(permission.name.removeprefix("Can ")),
            }
            if action in USUAL_PERMISSIONS and noun == permission.content_type.model:
                row["usual"][action] = box
            else:
                row["others"].append(box)
        rows = [
            {
                "label": capfirst(str(content_type.model_class()._meta.verbose_name_plural)),
                "usual": [row["usual"].get(action) for action in USUAL_PERMISSIONS],
                "others": row["others"],
            }
            for content_type, row in by_model.items()
            if content_type.model_class() is not None
        ]
        return sorted(rows, key=lambda row: row["label"])


class RoleForm(RecordForm):
    """A role, with its permissions as a table."""

    permissions = RecordsField(queryset=Permission.objects.none(), required=False, widget=PermissionMatrix)

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        field = self.fields.get("permissions")
        if isinstance(field, RecordsField):
            field.queryset = service_permissions()


class CoveredAdmin(RecordAdmin):
    """Records with a role, which only those may change whose own role covers it.

    To set somebody's email or password would otherwise be a way to all that they may do.
    """

    def role_of(self, record: Model) -> Role:
        raise NotImplementedError

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if not super().has_change_permission(request):
            return False
        return obj is None or (isinstance(request.user, Staff) and request.user.covers(self.role_of(obj)))

    def changeable(self, request: HttpRequest, records: QuerySet[Model]) -> QuerySet[Any]:
        return records.filter(
            pk__in=[each.pk for each in records if self.has_change_permission(request, each)]
        )


@admin.register(Role)
class RoleAdmin(CoveredAdmin, LookupAdmin):
    """The roles of people: what they do, and what they may do in the back office."""

    form = RoleForm
    menu_order = 800
    icon = "verified_user"
    list_pages = (Page("usual", permission="add_usual"),)
    list_display = ("name", "participants", "all_permissions", "requires_second_factor", "archived")
    fieldsets = (
        fieldset(None, "name", "participants", "all_permissions", "requires_second_factor"),
        fieldset(None, "permissions", description=LIMITED),
    )

    readonly_fields = ("granted",)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        return ()

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Who may not change the role sees the same table, closed: Django would list them in a line."""
        if obj is None or self.has_change_permission(request, obj):
            return self.fieldsets
        head, _ = self.fieldsets
        return (head, fieldset(None, "granted", description=LIMITED))

    @display(description="permissions")
    def granted(self, role: Role) -> str:
        field = RecordsField(queryset=service_permissions(), widget=PermissionMatrix)
        field.widget.attrs["disabled"] = True
        return field.widget.render("granted", role.permissions.values_list("pk", flat=True))

    def role_of(self, record: Role) -> Role:
        return record

    # --- the roles that most offices begin with

    def has_add_usual_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Their rules refuse whoever may not do what a role grants."""
        role = getattr(request.user, "role", None)
        return self.has_add_permission(request) and role is not None and role.all_permissions

    def import_links(self, request: HttpRequest) -> list[dict[str, str]]:
        usual = [{"title": "Usual roles", "link": self.page_url("usual")}]
        offered = self.has_add_usual_permission(request) and missing_roles()
        return [*super().import_links(request), *(usual if offered else [])]

    def usual_page(self, request: HttpRequest) -> HttpResponse:
        """Show the usual roles that are missing; add those that were ticked."""
        if request.method == "POST":
            try:
                added = add_usual_roles(request.POST.getlist("role"))
            except ValidationFailed as failed:  # somebody else added one at the same moment
                messages.error(request, " ".join(issue.message for _, issue in failed.issues))
                return redirect(self.page_url("usual"))
            words = f"Added: {', '.join(added)}." if added else "Nothing was added: no role was ticked."
            messages.add_message(request, messages.SUCCESS if added else messages.WARNING, words)
            return redirect(self.page_url("changelist"))
        missing = [(role, Participants(role.participants).label) for role in missing_roles()]
        return self.render_page(request, "people/usual_roles.html", "Usual roles", missing=missing)
