"""The back office's pages of people and the lists they choose from; Django registers those it imports."""

from apps.people.admin import custom_fields, lookups, people, roles, staff

__all__ = ["custom_fields", "lookups", "people", "roles", "staff"]
