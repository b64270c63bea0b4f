"""The first steps of an office: a row for each thing that the first claim or file needs, and its page.

The page *Getting started* has all rows; the pages that make a file show on top the rows that lack
something. Apps above add steps of their own to ``FIRST_STEPS``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from apps.core.admin_base import HOME_PANELS, HomeContent, HomePanel, Work
from apps.core.admin_base.display import admin_url
from apps.core.models import Subscriber
from apps.documents.models import DocumentCategory
from apps.engagements.models import ClientEngagement
from apps.funding.choices import ADMINISTER_PERMISSION, BillPermission
from apps.funding.models import Claim, ClaimFile, PriceBookEntry
from apps.funding.validation.guards import lower_first
from apps.people.models import Client, Contact, Role, Staff
from apps.people.services import who_may, with_enabled_login


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that a first step needs; ``lacks`` says in a sentence what is missing, else nothing.

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
class FirstStep:
    """A first record or file with what it needs; shown to those who may view the model's records."""

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


def there_is(label: str, sentence: str, place: str, records: QuerySet[Any]) -> Requirement:
    """Records of which there must be one, entered or imported in their list."""
    return Requirement(label, lambda: "" if records.exists() else sentence, place, records.model)


def no_own_name() -> str:
    default = Subscriber._meta.get_field("name").default
    if Subscriber.current().name != default:
        return ""
    return f"Invoices, statements and mails are from “{default}” before its name is entered."


def no_roles() -> str:
    roles = Role.objects.filter(archive_date=None, all_permissions=False, permissions__isnull=False)
    return "" if roles.exists() else "Only administrators may do anything: others have no role yet."


def no_second_person() -> str:
    found = with_enabled_login(Staff.objects.filter(archive_date=None))
    if not Subscriber.current().four_eyes or len(found[:2]) == 2:
        return ""
    return (
        "Only one person can sign in, and with four eyes another approves what was entered. Add somebody, or"
        " switch four eyes off in the organisation settings."
    )


CLAIM_REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "Name of the organisation",
        no_own_name,
        *("Organisation settings", Subscriber, "change", "change", 1),
    ),
    Requirement("Roles", no_roles, "Usual roles", Role, "usual", "add_usual"),
    Requirement("Colleagues", no_second_person, "Staff", Staff),
    there_is(
        "Price guide",
        "No price guide is imported: there is nothing to claim.",
        *("Price books", PriceBookEntry.objects.filter(price_book__archive_date=None)),
    ),
    there_is(
        "A document category",
        "No category is there for documents, of which claims are made: “Provider invoices”, for example.",
        *("Document categories", DocumentCategory.objects.filter(archive_date=None)),
    ),
    there_is(
        "A provider",
        "No organisation is entered whose invoices could be claimed.",
        *("Organisations and providers", Client.objects.filter(archive_date=None, is_self=False)),
    ),
    there_is(
        "A participant",
        "No contact has a scheme number.",
        "Participants and contacts",
        Contact.objects.filter(archive_date=None).exclude(scheme_number=None),
    ),
    there_is(
        "A plan",
        "No participant has a plan: every claim would be warned about.",
        *("Plans", ClientEngagement.objects.filter(archive_date=None)),
    ),
)
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

FIRST_STEPS: list[FirstStep] = [
    FirstStep("A first claim", Claim, CLAIM_REQUIREMENTS),
    FirstStep("A first claim file", ClaimFile, CLAIM_FILE_REQUIREMENTS),
]


def shown_steps(request: HttpRequest) -> list[FirstStep]:
    """The steps whose records this person may view."""
    return [
        each for each in FIRST_STEPS if admin.site.get_model_admin(each.model).has_view_permission(request)
    ]


def first_steps(request: HttpRequest) -> HomeContent:
    """How much each first step lacks, on the home page while there is no claim."""
    if Claim.objects.exists():
        return HomeContent()
    address = admin_url(ClaimFile, "first_steps")
    return HomeContent(
        [
            Work(f"{step.title}: missing", len(lacking_rows(step.requirements, request)), address)
            for step in shown_steps(request)
        ]
    )


HOME_PANELS.append(HomePanel("Getting started", Claim, 1, first_steps))
