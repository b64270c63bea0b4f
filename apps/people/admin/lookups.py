"""The lists that people's records choose from."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin

from apps.core.admin_base import RecordAdmin
from apps.people.models import Location, Position, Team


class LookupAdmin(RecordAdmin):
    """A short list that other records choose from."""

    menu_group = "Lists"
    list_display: ClassVar[Any] = ("name", "archived")
    search_fields: ClassVar[Any] = ("name",)
    ordering: ClassVar[Any] = ("name",)


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
