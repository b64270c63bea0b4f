"""What stands already that the rules of bills ask about: permissions, uses, references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from apps.core.identifiers import normalised
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.defaults import key_of, users_of
from apps.funding.validation.bills import ADMINISTER_PERMISSION, CREDIT_PERMISSION
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.odata.batched_queries import Conversation, all_of, prepared_query
from apps.odata.write.drafts import Draft
from apps.people.models import Role, Staff


def look_up_claims(drafts: Sequence[Draft]) -> Conversation[None]:
    """Put into settled claims what their rules ask; at most three questions, however many claims.

    ``used_by``: the number of the claim that took the provider invoice, ``reference_of``: what has the
    reference already.
    """
    yield from all_of(look_up_uses(drafts), look_up_references(drafts))


# --- permissions ----------------------------------------------------------------------------------------


def look_up_permissions(drafts: Sequence[Draft]) -> Conversation[None]:
    """Put the funding permissions of the staff members in charge into ``permissions``: one question.

    ``None`` of those who have left or whose login is closed.
    """
    keys = {key_of(draft, "staff") for draft in drafts} - {None}
    granted = granted_by((yield permissions_asked(keys))) if keys else {}
    for draft in drafts:
        key = key_of(draft, "staff")
        if key is None:
            draft.mark_invalid("permissions")
        else:
            draft.fill("permissions", granted.get(key))


NAMES = (ADMINISTER_PERMISSION, CREDIT_PERMISSION)


@prepared_query
def permissions_asked(keys: Any) -> QuerySet[Any, Any]:
    """(key, when the login is disabled, whether everything is granted, whether each of ``NAMES`` is)."""
    rows = Staff.objects.filter(AnyOf(Staff._meta.get_field("guid"), keys), archive_date=None).order_by()
    asked = {f"grants_{number}": grants(name) for number, name in enumerate(NAMES)}
    return rows.annotate(**asked).values_list("pk", "disable_login_date", "role__all_permissions", *asked)


def granted_by(rows: Iterable[tuple[Any, ...]]) -> dict[Any, frozenset[str]]:
    """What staff members may do; those archived or whose login is disabled are not among them."""
    now = clock.now()
    return {
        key: frozenset(name for name, has in zip(NAMES, each, strict=True) if everything or has)
        for key, disabled, everything, *each in rows
        if disabled is None or disabled > now
    }


def grants(permission: str) -> Exists:
    app, codename = permission.split(".")
    granted = Role.permissions.through.objects.filter(
        role_id=OuterRef("role_id"), permission__content_type__app_label=app, permission__codename=codename
    )
    return Exists(granted)


# --- provider invoices ----------------------------------------------------------------------------------


def look_up_uses(drafts: Sequence[Draft]) -> Conversation[None]:
    """Put into ``used_by`` which claim took the provider invoice, one of these drafts included.

    ``is_lost``: it was free until these drafts waited for it.
    """
    taking = [draft for draft in drafts if draft.takes_provider_invoice]
    keys = {key_of(draft, "provider_invoice") for draft in taking} - {None}
    rows = (yield users_of(keys)) if keys else []
    users = {paper: (key, number) for paper, key, number in rows}
    first: dict[Any, int] = {}
    for number, draft in enumerate(drafts):
        paper = key_of(draft, "provider_invoice")
        draft.fill("used_by", None)
        draft.fill("is_lost", False)
        if paper not in keys:
            continue
        key, claim = users.get(paper, (draft.key, None))
        if key != draft.key:
            draft.fill("used_by", f"claim {claim}")
            draft.fill("is_lost", not draft.was_used)
        elif first.setdefault(paper, number) != number:
            draft.fill("used_by", f"record {first[paper] + 1} of this request")


def look_up_references(drafts: Sequence[Draft]) -> Conversation[None]:
    """Put into ``reference_of`` what has the same provider's reference already; two questions at most.

    Only of references that are new to their provider invoice, or whose provider is: they must be no other
    provider invoice's, and no live claim's that is built on another.
    """
    for draft in drafts:
        draft.fill("reference_of", None)
    asked = [(number, draft, told) for number, draft in enumerate(drafts) if (told := new_reference(draft))]
    if not asked:
        return
    holders = yield from holders_of({told for _, _, told in asked})
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
    provider, reference = (
        key_of(draft, "provider"),
        normalised(draft.__dict__.get("provider_invoice_reference")),
    )
    if provider is None or reference is None or key_of(draft, "provider_invoice") is None:
        return None
    paper = draft.provider_invoice
    if reference == paper.reference_key and (paper.provider_id is not None or paper.is_reusable):
        return None
    return provider, reference


def holders_of(
    references: set[tuple[Any, str]],
) -> Conversation[dict[tuple[Any, str], list[tuple[Any, str]]]]:
    """(provider invoice, what to call the holder) of those that have one of these references."""
    found: dict[tuple[Any, str], list[tuple[Any, str]]] = {}
    texts = {text for _, text in references}
    papers, claims = yield [
        papers_called(texts),
        claims_called({provider for provider, _ in references}, texts),
    ]
    for provider, text, key in papers:
        found.setdefault((provider, text), []).append((key, "another provider invoice of this provider"))
    for provider, text, key, number in claims:
        found.setdefault((provider, text), []).append((key, f"claim {number}"))
    return found


@prepared_query
def papers_called(texts: Any) -> QuerySet[Any, Any]:
    field: Any = ProviderInvoice._meta.get_field("reference_key")
    papers = ProviderInvoice.objects.filter(AnyOf(field, texts)).order_by("pk")
    return papers.values_list("provider", "reference_key", "pk")


@prepared_query
def claims_called(providers: Any, texts: Any) -> QuerySet[Any, Any]:
    provider: Any = Claim._meta.get_field("provider")
    reference: Any = Claim._meta.get_field("provider_invoice_reference_key")
    claims = Claim.objects.filter(AnyOf(provider, providers), AnyOf(reference, texts), archive_date=None)
    return claims.order_by("pk").values_list(
        "provider", "provider_invoice_reference_key", "provider_invoice", "claim_number"
    )
