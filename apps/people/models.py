"""Staff, clients and contacts, and the lists they choose from (interface.md 2.1, 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Permission
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Concat, Lower

from apps.base import clock
from apps.core.caseload import Caseload, caseload_by
from apps.core.models import (
    Consent,
    Lookup,
    NormalisedField,
    Record,
    Responsibility,
    Searched,
    TimestampedModel,
    normalised,
    optional_reference,
    optional_text,
)
from apps.people.choices import (
    AnswerKind,
    AppliesTo,
    Gender,
    Participants,
    PersonalTitle,
    PriceGuideRegion,
)
from apps.people.limited_roles import needs_everybody


def index_of_given(name: str) -> models.Index:
    """An index of the contacts that refer to somebody; the many that do not cost it nothing."""
    return models.Index(
        fields=[name], name=f"people_contact_{name}"[:30], condition=models.Q(**{f"{name}__isnull": False})
    )


def merged_into() -> models.ForeignKey[Any, Any]:
    """The record that a duplicate was merged into; it has few, so its index has only those."""
    return optional_reference("self", related_name="merged_records", editable=False, db_index=False)


class Role(Lookup, Record):
    """The role of somebody: what they do, and what they may do in the back office."""

    permissions = models.ManyToManyField(Permission, blank=True)
    all_permissions = models.BooleanField(default=False, help_text="May do everything, now and later.")
    requires_second_factor = models.BooleanField(
        default=False,
        help_text="Staff of this role add an authenticator app or a passkey before they do anything else.",
    )

    participants = models.CharField(
        "sees",
        max_length=8,
        choices=Participants,
        default=Participants.ALL,
        db_default=Participants.ALL,
        help_text="Whose records staff of this role see: claims, plans, documents and all else of these.",
    )

    class Meta(Record.Meta):
        ordering = ("name",)

    @property
    def sees_everybody(self) -> bool:
        return self.participants == Participants.ALL

    def permission_codes(self) -> frozenset[str]:
        """The permissions of the role, as ``app.codename``, without those that need to see everybody."""
        names = ("content_type__app_label", "content_type__model", "codename")
        rows = self.permissions.values_list(*names)
        return frozenset(
            f"{app}.{codename}"
            for app, model, codename in rows
            if self.sees_everybody or not needs_everybody(app, model, codename)
        )

    def ticked_codes(self) -> frozenset[str]:
        """The permissions that are ticked, with those that the role has once it sees everybody."""
        pairs = self.permissions.values_list("content_type__app_label", "codename")
        return frozenset(f"{app}.{codename}" for app, codename in pairs)


class Position(Lookup, Record):
    """A position title."""

    class Meta(Record.Meta):
        ordering = ("name",)


class Location(Lookup, Record):
    """A place staff work from."""

    class Meta(Record.Meta):
        ordering = ("name",)


class Team(Lookup, TimestampedModel):
    """A group of staff, known by a number (interface.md 2.1)."""

    id = models.AutoField("number", primary_key=True)

    class Meta(TimestampedModel.Meta):
        ordering = ("name",)


class Addressed(models.Model):
    """A street address and a postal one."""

    street_address = optional_text()
    street_address2 = optional_text("street address, second line")
    suburb = optional_text()
    city = optional_text()
    state = optional_text()
    country = optional_text()
    post_code = optional_text("postcode")
    postal_street_address = optional_text("postal address")
    postal_street_address2 = optional_text("postal address, second line")
    postal_suburb = optional_text()
    postal_city = optional_text()
    postal_state = optional_text()
    postal_post_code = optional_text("postal postcode")

    class Meta:
        abstract = True


class Person(Addressed):
    """The common part of staff and contacts."""

    searched: ClassVar[Searched] = Searched(
        names=("first_name", "last_name"),
        codes=("unique_code", "scheme_number"),
        texts=("primary_email", "phone1"),
        in_lists=("secondary_email",),
        numbers=("scheme_number", "phone1", "phone2", "home_phone"),
    )

    primary_email: models.EmailField[Any, Any]  # of staff it is the login

    first_name = models.CharField(max_length=90)
    last_name = models.CharField(max_length=90)
    personal_title = optional_text("title", 5, choices=PersonalTitle)
    personal_title_other = optional_text("other title")
    accepts_email_contact = models.CharField(max_length=12, choices=Consent, default=Consent.YES)
    accepts_sms_contact = models.CharField(
        "accepts SMS contact", max_length=12, choices=Consent, default=Consent.YES
    )
    unique_code = optional_text()
    unique_code_key = NormalisedField(of="unique_code", unique=True)
    scheme_number = optional_text(length=20)
    gender = optional_text(length=11, choices=Gender)
    send_birthday_reminder = models.BooleanField(default=False)
    birthday = models.DateField(null=True, blank=True)
    send_partner_birthday_reminder = models.BooleanField(default=False)
    partner_birthday = models.DateField("partner's birthday", null=True, blank=True)
    partner_first_name = optional_text("partner's first name")
    partner_last_name = optional_text("partner's last name")
    number_of_children = models.IntegerField(null=True, blank=True, validators=[MinValueValidator(0)])
    hobbies_interests = optional_text("hobbies and interests", 400)
    additional_information = optional_text(length=400)
    use_primary_email = models.BooleanField(default=False)
    use_secondary_email = models.BooleanField(default=False)
    secondary_email = models.EmailField(max_length=90, null=True, blank=True)
    phone1 = optional_text("phone 1")
    phone2 = optional_text("phone 2")
    fax = optional_text()
    home_phone = optional_text()
    social_network_a_url = optional_text("social network A")
    social_network_b_url = optional_text("social network B")
    video_channel_url = optional_text("video channel")
    professional_network_url = optional_text("professional network")
    other_social_media_url = optional_text("other social media")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.full_name

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}"

    @property
    def email_address(self) -> str | None:
        """The address that letters of ours are mailed to."""
        address: str | None = self.primary_email or self.secondary_email
        return address


class StaffManager(BaseUserManager["Staff"]):
    """Finds staff by login, which is the primary email without regard to case."""

    def get_by_natural_key(self, username: str | None) -> Staff:
        return self.select_related("role").get(primary_email_key=normalised(username))


class Staff(Person, AbstractBaseUser, Record):
    """Somebody who works for the subscriber, and so a user of the back office."""

    searched = replace(
        Person.searched,
        in_lists=("secondary_email", "abbreviation"),
        without_index="an organisation has hundreds of staff, which are read at once",
    )

    caseload_path = ""

    abbreviation = optional_text("initials", 5)
    primary_email = models.EmailField(max_length=90, help_text="The login.")
    primary_email_key = NormalisedField(of="primary_email", unique=True)
    working_hours_per_week = models.SmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(168)]
    )
    employment_type = optional_text()
    commencement_date = models.DateField(null=True, blank=True)
    disable_login_date = models.DateTimeField("login disabled from", null=True, blank=True)
    role = models.ForeignKey(Role, on_delete=models.PROTECT, related_name="staff")
    position = optional_reference(Position, "position title")
    location = optional_reference(Location)
    account_manager = optional_reference("self", related_name="manages")
    teams = models.ManyToManyField(Team, blank=True, related_name="staff")

    authenticator_set: Any  # second factors and recovery codes, of allauth.mfa

    objects: ClassVar[StaffManager] = StaffManager()

    responsibilities = (Responsibility("account_manager"),)

    USERNAME_FIELD = EMAIL_FIELD = "primary_email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    secret_columns = frozenset({"password"})
    unrecorded_columns = frozenset({"last_login"})

    class Meta(Record.Meta):
        verbose_name = "staff member"
        verbose_name_plural = "staff"
        ordering = ("last_name", "first_name", "guid")
        indexes = (
            models.Index(fields=["creation_date", "guid"], name="people_staff_newest"),
            models.Index(fields=["modify_date", "guid"], name="people_staff_modified"),
        )

    def get_full_name(self) -> str:
        """The full name, as Django's and the back office's templates call it."""
        return self.full_name

    @property
    def is_active(self) -> bool:
        """True when the login is open now."""
        if self.is_archived:
            return False
        return self.disable_login_date is None or self.disable_login_date > clock.now()

    @property
    def is_staff(self) -> bool:
        """May enter the back office: whoever's role grants anything."""
        return bool(self.is_superuser or self.granted)

    @property
    def is_superuser(self) -> bool:
        return self.is_active and self.role.all_permissions

    @cached_property
    def granted(self) -> frozenset[str]:
        """The permissions of the role, as ``app.codename``."""
        return self.role.permission_codes()

    @property
    def lacks_second_factor(self) -> bool:
        """True when the role requires an authenticator app or a passkey, and there is none."""
        return self.role.requires_second_factor and not self.authenticator_set.exists()

    def covers(self, role: Role) -> bool:
        """True when their own role grants everything that another does.

        Nobody sets the password, the login or the role of somebody who may do more than they: that would be
        a way to all of it.
        """
        if not self.role.sees_everybody and role.participants != self.role.participants:
            return False
        return self.is_superuser or (not role.all_permissions and role.ticked_codes() <= self.granted)

    @cached_property
    def caseload(self) -> Caseload | None:
        """The participants whom they see, themselves always; ``None``: all."""
        match self.role.participants:
            case Participants.ALL:
                return None
            case Participants.LOCATION if self.location_id is not None:
                return caseload_by([self.location_id], [], [self.pk])
            case Participants.TEAMS:
                return caseload_by([], list(self.teams.values_list("pk", flat=True)), [self.pk])
            case _:
                return Caseload((self.pk,), lambda: ([], [], [self.pk]))

    @property
    def sight(self) -> str:
        """The sentence of whose records they see; empty for all."""
        match self.role.participants:
            case Participants.ALL:
                return ""
            case Participants.LOCATION if self.location is not None:
                return f"You see the participants looked after at {self.location}."
            case Participants.TEAMS if names := sorted(map(str, self.teams.all())):
                return f"You see the participants looked after by {' and '.join(names)}."
            case _:
                return "You see the participants whom you look after."

    def has_perm(self, perm: str, obj: models.Model | None = None) -> bool:
        return self.is_active and (self.role.all_permissions or perm in self.granted)

    def has_perms(self, perm_list: Iterable[str], obj: models.Model | None = None) -> bool:
        return all(self.has_perm(perm, obj) for perm in perm_list)

    def has_module_perms(self, app_label: str) -> bool:
        if not self.is_active:
            return False
        return self.role.all_permissions or any(perm.startswith(f"{app_label}.") for perm in self.granted)


class Client(Addressed, Record):
    """An organisation that is a customer or a provider of the subscriber."""

    searched = Searched(
        names=("business_name",),
        codes=("business_number", "unique_code"),
        texts=("external_reference",),
        numbers=("business_number", "business_phone", "business_phone2"),
    )

    caseload_path = ""

    business_name = models.CharField(max_length=255)
    business_name_key = NormalisedField(of="business_name", unique=True, max_length=765)
    business_number = optional_text("business number (ABN)")
    unique_code = optional_text()
    unique_code_key = NormalisedField(of="unique_code", unique=True)
    is_self = models.BooleanField("the subscriber itself", default=False, editable=False)
    external_reference = optional_text()
    business_phone = optional_text()
    business_phone2 = optional_text("business phone 2")
    business_fax = optional_text()
    web_address = optional_text()
    key_contact = optional_reference("Contact", related_name="key_contact_of")

    merged_into = merged_into()

    class Meta(Record.Meta):
        ordering = ("business_name", "guid")
        indexes = (
            models.Index(fields=["creation_date", "guid"], name="people_client_newest"),
            models.Index(fields=["modify_date", "guid"], name="people_client_modified"),
            models.Index(fields=["business_number"], name="people_client_business_number"),
            models.Index(fields=["business_name"], name="people_client_by_name"),
            models.Index(
                fields=["merged_into"],
                name="people_client_merged_into",
                condition=models.Q(merged_into__isnull=False),
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=["is_self"], condition=models.Q(is_self=True), name="people_client_one_self"
            ),
        )

    def __str__(self) -> str:
        return self.business_name


#: The name of a person as duplicates are sought, in one index.
FULL_NAME = Lower(Concat("first_name", models.Value(" "), "last_name"))


class Contact(Person, Record):
    """A person who is no member of staff: a participant, a representative, somebody at a client."""

    responsibilities = (Responsibility("account_manager"),)
    caseload_path = "account_manager"

    primary_email = models.EmailField(max_length=90, null=True, blank=True)
    # Few contacts have each of these four: the indexes below contain only those that do.
    client = optional_reference(Client, "organisation", related_name="contacts", db_index=False)
    role = optional_reference(Role, related_name="contacts", db_index=False)
    position_title = optional_text()
    scheme_price_guide_region = optional_text("price guide region", 20, choices=PriceGuideRegion)
    representative = optional_reference("self", related_name="represents", db_index=False)
    representative_relationship = optional_text()
    account_manager = optional_reference(Staff, related_name="contacts", db_index=False)
    merged_into = merged_into()

    class Meta(Record.Meta):
        ordering = ("last_name", "first_name", "guid")
        indexes = (
            models.Index(fields=["creation_date", "guid"], name="people_contact_newest"),
            models.Index(fields=["modify_date", "guid"], name="people_contact_modified"),
            models.Index(fields=["scheme_number"], name="people_contact_scheme_number"),
            models.Index(fields=["last_name", "first_name"], name="people_contact_by_name"),
            models.Index(FULL_NAME, name="people_contact_full_name"),
            index_of_given("client"),
            index_of_given("role"),
            index_of_given("representative"),
            index_of_given("account_manager"),
            index_of_given("merged_into"),
        )


class CustomField(Lookup, Record):
    """A question the subscriber asks of staff, clients or contacts beyond the fields built in."""

    columns_fixed_by: ClassVar[dict[str, Sequence[str]]] = {"answers": ("applies_to", "kind")}

    name_key = NormalisedField(of="name")
    applies_to = models.CharField(max_length=7, choices=AppliesTo)
    kind = models.CharField(max_length=7, choices=AnswerKind, default=AnswerKind.TEXT)
    options = models.TextField(blank=True, default="", help_text="For choices: one to a line.")
    position = models.PositiveSmallIntegerField(default=0)

    class Meta(Record.Meta):
        ordering = ("applies_to", "position", "name")
        constraints = (
            models.UniqueConstraint(fields=["applies_to", "name_key"], name="people_customfield_unique_name"),
        )

    @property
    def choices(self) -> list[str]:
        """The options that are chosen from, in their order."""
        return [line.strip() for line in self.options.splitlines() if line.strip()]


class CustomFieldAnswer(models.Model):
    """One record's answer to one custom field; exactly one of staff, client and contact is set."""

    custom_field = models.ForeignKey(CustomField, on_delete=models.CASCADE, related_name="answers")
    staff = models.ForeignKey(Staff, null=True, on_delete=models.CASCADE, related_name="custom_field_answers")
    client = models.ForeignKey(
        Client, null=True, on_delete=models.CASCADE, related_name="custom_field_answers"
    )
    contact = models.ForeignKey(
        Contact, null=True, on_delete=models.CASCADE, related_name="custom_field_answers"
    )

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=["custom_field", "staff"], name="people_answer_once_staff"),
            models.UniqueConstraint(fields=["custom_field", "client"], name="people_answer_once_client"),
            models.UniqueConstraint(fields=["custom_field", "contact"], name="people_answer_once_contact"),
            models.CheckConstraint(
                name="people_answer_of_one_record",
                condition=models.Q(staff__isnull=False, client__isnull=True, contact__isnull=True)
                | models.Q(staff__isnull=True, client__isnull=False, contact__isnull=True)
                | models.Q(staff__isnull=True, client__isnull=True, contact__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.custom_field}: {', '.join(self.texts)}"

    @property
    def texts(self) -> list[str]:
        return [each.response for each in self.responses.all()]


class CustomFieldResponse(models.Model):
    """One response within an answer; fields of kind Choices can have several."""

    answer = models.ForeignKey(CustomFieldAnswer, on_delete=models.CASCADE, related_name="responses")
    response = models.CharField(max_length=400)

    class Meta:
        default_permissions = ()
        ordering = ("id",)

    def __str__(self) -> str:
        return self.response
