"""What stands already that the rules of bills ask about: permissions, uses, references."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q

from apps.core.identifiers import folded
from apps.funding.bill_rules import MAY_ADMINISTER, MAY_CREDIT
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.settling import key_of
from apps.odata import clock
from apps.odata.among import Among
from apps.odata.drafts import Draft
from apps.people.models import Role, Staff


def look_up_claims(drafts: Sequence[Draft]) -> None:
    """Put into settled claims what their rules ask; at most four queries, however many claims.

    ``permissions`` of the staff member in charge, ``used_by``: the number of the claim that took the provider
    invoice, ``reference_of``: what has the reference already.
    """
    look_up_permissions(drafts)
    look_up_uses(drafts)
    look_up_references(drafts)


# --- permissions ----------------------------------------------------------------------------------------


def look_up_permissions(drafts: Sequence[Draft]) -> None:
    """Put the funding permissions of the staff members in charge into ``permissions``: one query."""
    keys = {key_of(draft, "staff") for draft in drafts} - {None}
    granted = permissions_of(keys) if keys else {}
    for draft in drafts:
        key = key_of(draft, "staff")
        if key is None:
            draft.spoil("permissions")
        else:
            draft.fill("permissions", granted.get(key, frozenset()))


def permissions_of(keys: Collection[Any]) -> dict[Any, frozenset[str]]:
    """The funding permissions of staff members; those archived or whose login is disabled have none."""
    names = (MAY_ADMINISTER, MAY_CREDIT)
    key: Any = Staff._meta.pk
    enabled = Q(disable_login_date=None) | Q(disable_login_date__gt=clock.now())
    rows = Staff.objects.filter(Among(key, keys), enabled, archive_date=None).order_by()
    asked = {f"grants_{number}": grants(name) for number, name in enumerate(names)}
    found = rows.annotate(**asked).values_list("pk", "role__all_permissions", *asked)
    return {
        key: frozenset(name for name, has in zip(names, each, strict=True) if everything or has)
        for key, everything, *each in found
    }


def grants(permission: str) -> Exists:
    app, codename = permission.split(".")
    granted = Role.permissions.through.objects.filter(
        role_id=OuterRef("role_id"), permission__content_type__app_label=app, permission__codename=codename
    )
    return Exists(granted)


# --- provider invoices ----------------------------------------------------------------------------------


def look_up_uses(drafts: Sequence[Draft]) -> None:
    """Put into ``used_by`` which claim took the provider invoice, one of these drafts included: one query."""
    taking = [draft for draft in drafts if draft.takes_provider_invoice]
    keys = {key_of(draft, "provider_invoice") for draft in taking} - {None}
    users = users_of(keys) if keys else {}
    first: dict[Any, int] = {}
    for number, draft in enumerate(drafts):
        paper = key_of(draft, "provider_invoice")
        draft.fill("used_by", None)
        if paper not in keys:
            continue
        key, claim = users.get(paper, (draft.key, None))
        if key != draft.key:
            draft.fill("used_by", f"claim {claim}")
        elif first.setdefault(paper, number) != number:
            draft.fill("used_by", f"record {first[paper] + 1} of this request")


def users_of(keys: Collection[Any]) -> dict[Any, tuple[Any, str]]:
    """The (key, number) of the claims that took these provider invoices, by provider invoice."""
    field: Any = Claim._meta.get_field("provider_invoice")
    taken = Claim.objects.filter(Among(field, keys), takes_provider_invoice=True).order_by()
    rows = taken.values_list("provider_invoice", "pk", "claim_number")
    return {paper: (key, number) for paper, key, number in rows}


def look_up_references(drafts: Sequence[Draft]) -> None:
    """Put into ``reference_of`` what has the same provider's reference already; two queries at most.

    Only of references that are new to their provider invoice, or whose provider is: they must be no other
    provider invoice's, and no live claim's that is built on another.
    """
    for draft in drafts:
        draft.fill("reference_of", None)
    asked = [(number, draft, told) for number, draft in enumerate(drafts) if (told := new_reference(draft))]
    if not asked:
        return
    holders = holders_of({told for _, _, told in asked})
    first: dict[tuple[Any, str], tuple[int, Any]] = {}
    for number, draft, told in asked:
        paper = draft.provider_invoice.pk
        others = [label for held_by, label in holders.get(told, ()) if held_by != paper]
        at, earlier = first.setdefault(told, (number, paper))
        if others:
            draft.fill("reference_of", others[0])
        elif earlier != paper:
            draft.fill("reference_of", f"record {at + 1} of this request")


def new_reference(draft: Draft) -> tuple[Any, str] | None:
    """(provider, folded reference) of a claim that says one of them anew."""
    provider, reference = key_of(draft, "provider"), folded(draft.__dict__.get("provider_invoice_reference"))
    if provider is None or reference is None or key_of(draft, "provider_invoice") is None:
        return None
    paper = draft.provider_invoice
    if reference == paper.reference_key and (paper.provider_id is not None or paper.is_reusable):
        return None
    return provider, reference


def holders_of(references: set[tuple[Any, str]]) -> dict[tuple[Any, str], list[tuple[Any, str]]]:
    """(provider invoice, what to call the holder) of those that have one of these references."""
    found: dict[tuple[Any, str], list[tuple[Any, str]]] = {}
    texts = {text for _, text in references}
    field: Any = ProviderInvoice._meta.get_field("reference_key")
    papers = ProviderInvoice.objects.filter(Among(field, texts)).order_by("pk")
    for provider, text, key in papers.values_list("provider", "reference_key", "pk"):
        found.setdefault((provider, text), []).append((key, "another provider invoice of this provider"))
    field = Claim._meta.get_field("provider_invoice_reference_key")
    providers: Any = Claim._meta.get_field("provider")
    claims = Claim.objects.filter(
        Among(providers, {provider for provider, _ in references}), Among(field, texts), archive_date=None
    ).order_by("pk")
    rows = claims.values_list(
        "provider", "provider_invoice_reference_key", "provider_invoice", "claim_number"
    )
    for provider, text, key, number in rows:
        found.setdefault((provider, text), []).append((key, f"claim {number}"))
    return found
