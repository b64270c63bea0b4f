"""The short lists that people's records choose from; roles and custom fields have modules of their own."""

from django.contrib import admin

from apps.core.admin_base import LookupAdmin
from apps.people.models import Location, Position, Team


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
