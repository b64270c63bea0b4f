"""Model serializers that show the same members as the interface does, under the names of the columns."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from rest_framework.serializers import ModelSerializer
from rest_framework.validators import UniqueValidator

from apps.core.models import normalised
from apps.people.models import Client, Contact, Location, Position, Role, Staff, Team

STAMPS = ("creation_date", "modify_date", "archive_date")
ADDRESS = ("street_address", "street_address2", "suburb", "city", "state", "country", "post_code")
POSTAL_ADDRESS = (
    "postal_street_address",
    "postal_street_address2",
    "postal_suburb",
    "postal_city",
    "postal_state",
    "postal_post_code",
)
CLIENT = (
    "guid",
    "business_name",
    "business_number",
    "unique_code",
    "is_self",
    "external_reference",
    "business_phone",
    "business_phone2",
    "business_fax",
    "web_address",
    *STAMPS,
)
STAFF = (
    "guid",
    "first_name",
    "last_name",
    "abbreviation",
    "personal_title",
    "personal_title_other",
    "accepts_email_contact",
    "accepts_sms_contact",
    "unique_code",
    "scheme_number",
    "gender",
    "send_birthday_reminder",
    "birthday",
    "send_partner_birthday_reminder",
    "partner_birthday",
    "partner_first_name",
    "partner_last_name",
    "number_of_children",
    "hobbies_interests",
    "additional_information",
    "use_primary_email",
    "primary_email",
    "use_secondary_email",
    "secondary_email",
    "phone1",
    "phone2",
    "fax",
    "home_phone",
    "social_network_a_url",
    "social_network_b_url",
    "video_channel_url",
    "professional_network_url",
    "other_social_media_url",
    "working_hours_per_week",
    "employment_type",
    "commencement_date",
    "disable_login_date",
    *STAMPS,
)


class UniqueTwinValidator(UniqueValidator):
    """A UniqueValidator that asks the folded twin of a column, which has the index."""

    def __init__(self, twin: str, model: type[Model] = Client) -> None:
        super().__init__(model._default_manager.all())
        self.twin = twin

    def filter_queryset(self, value: Any, queryset: Any, field_name: str) -> Any:
        return queryset.filter(**{self.twin: normalised(value)})


class ContactBriefSerializer(ModelSerializer):
    class Meta:
        model = Contact
        fields = ("guid", "first_name", "last_name", "archive_date")


class StaffBriefSerializer(ModelSerializer):
    class Meta:
        model = Staff
        fields = ("guid", "first_name", "last_name", "archive_date")


class RoleBriefSerializer(ModelSerializer):
    class Meta:
        model = Role
        fields = ("guid", "name", "archive_date")


class PositionBriefSerializer(ModelSerializer):
    class Meta:
        model = Position
        fields = ("guid", "name", "archive_date")


class LocationBriefSerializer(ModelSerializer):
    class Meta:
        model = Location
        fields = ("guid", "name", "archive_date")


class TeamBriefSerializer(ModelSerializer):
    class Meta:
        model = Team
        fields = ("id", "name", "archive_date")


class ClientSerializer(ModelSerializer):
    class Meta:
        model = Client
        fields = CLIENT
        extra_kwargs = {
            "business_name": {"validators": [UniqueTwinValidator("business_name_key")]},
            "unique_code": {"validators": [UniqueTwinValidator("unique_code_key")]},
        }


class NewClientSerializer(ClientSerializer):
    """A client as it is entered: with its addresses, answered with its key contact."""

    key_contact = ContactBriefSerializer(read_only=True)

    class Meta(ClientSerializer.Meta):
        fields = (*CLIENT, *ADDRESS, *POSTAL_ADDRESS, "key_contact")


class StaffSerializer(ModelSerializer):
    """A staff member with all that belongs to one."""

    teams = TeamBriefSerializer(many=True, read_only=True)
    account_manager = StaffBriefSerializer(read_only=True)
    role = RoleBriefSerializer(read_only=True)
    position = PositionBriefSerializer(read_only=True)
    location = LocationBriefSerializer(read_only=True)

    class Meta:
        model = Staff
        fields = (
            *STAFF,
            *ADDRESS,
            *POSTAL_ADDRESS,
            "teams",
            "account_manager",
            "role",
            "position",
            "location",
        )
