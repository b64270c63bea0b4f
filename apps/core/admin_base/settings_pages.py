"""Pages of settings: one record of each kind, and the lists that belong to them."""

from typing import ClassVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from apps.core.admin_base.record_admin import RecordAdmin


class SettingsAdmin(RecordAdmin):
    """One record, so no list: the menu leads straight to the form."""

    menu_group = "Administration"
    record_pages = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: object = None) -> HttpResponse:
        return redirect(self.page_url("change", 1))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> object:
        """The settings; the defaults while nobody has saved any."""
        return super().get_object(request, "1", from_field) or self.model(pk=1)


class SettingsListAdmin(RecordAdmin):
    """A list that belongs to settings: who may change these may change it, and nobody else sees it."""

    settings_permission: ClassVar[str] = "core.change_subscriber"
    menu_group = "Administration"

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm(self.settings_permission))

    has_add_permission = has_change_permission = has_module_permission = has_view_permission
