"""What this service offers, in the order its service document lists it."""

from apps.odata.service import Service
from apps.people.resources import (
    ClientResource,
    ContactResource,
    CustomFieldResource,
    LocationResource,
    PositionResource,
    RoleResource,
    StaffResource,
    TeamResource,
)

service = Service(
    StaffResource,
    ClientResource,
    ContactResource,
    RoleResource,
    PositionResource,
    LocationResource,
    TeamResource,
    CustomFieldResource,
)
