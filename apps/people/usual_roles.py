"""The roles that most offices begin with: added on a page of the list of roles, and by the demo."""

import fnmatch
from collections.abc import Collection
from dataclasses import dataclass

from django.apps import apps
from django.contrib.auth.models import Permission
from django.db.models import QuerySet

from apps.core.models import normalised
from apps.people.choices import Participants
from apps.people.drafts import RoleDraft
from apps.people.models import Role
from apps.people.services import create_roles


@dataclass(frozen=True, slots=True)
class UsualRole:
    """A role with its permissions as patterns of ``app.codename``, and what it is for, as a sentence."""

    name: str
    purpose: str
    patterns: tuple[str, ...] = ()
    participants: str = Participants.ALL.value
    all_permissions: bool = False

    @property
    def gives_access(self) -> bool:
        return bool(self.patterns) or self.all_permissions

    def grants(self, code: str) -> bool:
        return any(fnmatch.fnmatch(code, pattern) for pattern in self.patterns)


#: Enters documents, provider invoices, claims and invoices, and what the agency answers.
CLAIMS = (
    *("people.view_*", "documents.view_*", "documents.add_document", "documents.change_document"),
    *("people.add_client", "people.change_client", "funding.view_*", "funding.*_funding_invoices"),
    *("funding.send_claim_files", "funding.*_claimresult", "funding.*_remittance", "core.view_change"),
    *("funding.add_claim", "funding.add_invoice", "funding.add_providerinvoice"),
    *("funding.change_claim", "funding.change_invoice", "funding.change_providerinvoice"),
)

#: Payment runs take two people: accounts officers make them, plan managers release them.
USUAL_ROLES = (
    UsualRole("Administrator", "May do everything, now and later.", all_permissions=True),
    UsualRole(
        "Plan manager",
        "Keeps participants and plans, enters and approves claims; confirms bank accounts and releases"
        " payment runs that others made.",
        (
            *CLAIMS,
            *("people.add_contact", "people.change_contact", "engagements.*"),
            *("sales.view_*", "sales.add_opportunity", "sales.change_opportunity"),
            *("payments.view_paymentrun", "payments.view_bankaccount"),
            *("payments.confirm_bankaccount", "payments.release_paymentrun"),
        ),
    ),
    UsualRole(
        "Accounts officer",
        "Enters and claims invoices, keeps prices, enters bank accounts, makes payment runs, statements and"
        " accounts exports.",
        (
            *CLAIMS,
            *("engagements.view_*", "funding.administer_credit_invoices", "funding.*_costcentre"),
            *("funding.*_price*", "funding.*_product", "payments.*_bankaccount", "payments.view_paymentrun"),
            *("payments.add_paymentrun", "payments.change_paymentrun"),
            *("payments.*_accountsexport", "payments.*_statement*"),
        ),
    ),
    UsualRole(
        "Support coordinator",
        "Sees the participants whose account manager one is: their plans, claims and documents.",
        (
            *("people.view_*", "documents.view_*", "documents.add_document", "documents.change_document"),
            *("people.add_contact", "people.change_contact", "sales.view_*", "sales.change_opportunity"),
            *("engagements.view_*", "funding.view_price*", "funding.view_product"),
            *("funding.view_providerinvoice", "funding.add_providerinvoice", "funding.view_claim"),
        ),
        Participants.OWN.value,
    ),
    UsualRole(
        "Read only",
        "Sees people, documents, opportunities, plans, claims and prices, and changes nothing.",
        ("people.view_*", "documents.view_*", "sales.view_*", "engagements.view_*", "funding.view_*"),
    ),
    UsualRole("Participant", "Of contacts: gives no access to the back office."),
    UsualRole("Representative", "Of contacts: gives no access to the back office."),
    UsualRole("Provider contact", "Of contacts: gives no access to the back office."),
)


def service_permissions() -> QuerySet[Permission]:
    """The permissions that mean something here: of this service's records, and nothing is ever deleted."""
    labels = [app.label for app in apps.get_app_configs() if app.name.startswith("apps.")]
    found = Permission.objects.filter(content_type__app_label__in=labels).select_related("content_type")
    return found.exclude(codename__startswith="delete_").order_by("content_type__app_label", "codename")


def missing_roles() -> list[UsualRole]:
    """Those of the usual roles of whose name there is no role, current or archived."""
    known = set(Role.objects.values_list("name_key", flat=True))
    return [role for role in USUAL_ROLES if normalised(role.name) not in known]


def add_usual_roles(names: Collection[str]) -> list[str]:
    """Create the usual roles of these names that are missing; the names of those that were created.

    ``ValidationFailed`` where the author may not do what a role grants.
    """
    codes = {f"{each.content_type.app_label}.{each.codename}": each for each in service_permissions()}
    wanted = [role for role in missing_roles() if role.name in names]
    drafts = []
    for role in wanted:
        values = {
            "name": role.name,
            "all_permissions": role.all_permissions,
            "participants": role.participants,
            "permissions": [permission for code, permission in codes.items() if role.grants(code)],
        }
        drafts.append(RoleDraft(values, given=values))
    create_roles(drafts)
    return [role.name for role in wanted]
