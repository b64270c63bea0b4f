"""Requirements of the first files: a row for each thing that a file needs, and where it is mended.

The page *Before the first files* has all rows; the pages that make a file show on top the rows that lack
something. Apps above add rows and files of their own to ``FIRST_FILES``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from apps.core.admin_base.display import admin_url
from apps.core.models import Subscriber
from apps.funding.choices import ADMINISTER_PERMISSION, BillPermission
from apps.funding.models import ClaimFile
from apps.funding.validation.guards import lower_first
from apps.people.models import Role
from apps.people.services import who_may


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that a first file needs; ``lacks`` says in a sentence what is missing, else nothing.

    It is mended on the ``page`` of the admin of ``model``, called ``place``, by those with ``permission``
    there. ``key``: of the record whose page it is. ``who_else``: who does it, for those who may not.
    """

    label: str
    lacks: Callable[[], str]
    place: str
    model: type[Model]
    page: str = "changelist"
    permission: str = "view"
    key: object = None
    who_else: str = ""

    def link(self, request: HttpRequest) -> str:
        """The address of the page where it is mended; empty for those who may not."""
        may = getattr(admin.site.get_model_admin(self.model), f"has_{self.permission}_permission")
        keys = () if self.key is None else (self.key,)
        return admin_url(self.model, self.page, *keys) if may(request) else ""


@dataclass(frozen=True, slots=True)
class FirstFile:
    """A kind of file with what its first one needs; shown to those who may view the model's records."""

    title: str
    model: type[Model]
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """A requirement as a person sees it: what lacks, and the link to where it is mended."""

    label: str
    lacking: str
    place: str
    link: str
    who_else: str

    @classmethod
    def of(cls, requirement: Requirement, request: HttpRequest) -> "RequirementRow":
        place = requirement.place
        who_else = requirement.who_else or f"Whoever administers the {lower_first(place)} enters it."
        return cls(requirement.label, requirement.lacks(), place, requirement.link(request), who_else)


def rows_of(requirements: Iterable[Requirement], request: HttpRequest) -> list[RequirementRow]:
    return [RequirementRow.of(each, request) for each in requirements]


def lacking_rows(requirements: Iterable[Requirement], request: HttpRequest) -> list[RequirementRow]:
    """The rows of what is missing, for the top of the page that makes the file."""
    return [row for row in rows_of(requirements, request) if row.lacking]


def granted_to_somebody(label: str, sentence: str, *permissions: str) -> Requirement:
    """Permissions that one person with a login must have together."""
    return Requirement(label, lambda: "" if who_may(*permissions) else sentence, "Roles", Role)


def granted_to_two(label: str, sentence: str, first: tuple[str, ...], second: tuple[str, ...]) -> Requirement:
    """Permissions of two steps that one person must not take both of."""

    def lacks() -> str:
        some, others = who_may(*first), who_may(*second)
        return "" if some and others and len(some | others) > 1 else sentence

    return Requirement(label, lacks, "Roles", Role)


def entered_in_settings(label: str, sentence: str, column: str) -> Requirement:
    """A column of the organisation's settings."""

    def lacks() -> str:
        return "" if getattr(Subscriber.current(), column) else sentence

    return Requirement(label, lacks, "Organisation settings", Subscriber, "change", "change", 1)


CLAIM_FILE_REQUIREMENTS: tuple[Requirement, ...] = (
    entered_in_settings(
        "Registration number",
        "Without the registration number nothing can be claimed.",
        "registration_number",
    ),
    entered_in_settings(
        "Business number (ABN)",
        "Without the business number (ABN) invoices to the agency are left out.",
        "business_number",
    ),
    granted_to_somebody(
        "Somebody who makes claim files",
        "Nobody's role lets them make, send and withdraw claim files and claim from the agency.",
        ADMINISTER_PERMISSION,
        f"funding.{BillPermission.SEND_FILES}",
        f"funding.{BillPermission.CLAIM}",
    ),
    granted_to_somebody(
        "Somebody who imports the answers",
        "Nobody's role lets them record payments and add and change results and remittances.",
        f"funding.{BillPermission.PAY}",
        *(f"funding.{verb}_{model}" for verb in ("add", "change") for model in ("claimresult", "remittance")),
    ),
)

FIRST_FILES: list[FirstFile] = [FirstFile("A first claim file", ClaimFile, CLAIM_FILE_REQUIREMENTS)]


def shown_files(request: HttpRequest) -> list[FirstFile]:
    """The kinds of files that this person may view."""
    return [
        each for each in FIRST_FILES if admin.site.get_model_admin(each.model).has_view_permission(request)
    ]
