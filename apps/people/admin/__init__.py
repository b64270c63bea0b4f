"""The back office's pages of staff, clients, contacts and the lists they choose from."""

from apps.people.admin import custom_fields, people, roles, staff
from apps.people.admin.lookups import LookupAdmin
from apps.people.admin.search import NumberSearchAdmin, digits_of, searched_digits

__all__ = [
    "LookupAdmin",
    "NumberSearchAdmin",
    "custom_fields",
    "digits_of",
    "people",
    "roles",
    "searched_digits",
    "staff",
]
