"""A provider invoice beside a form: its total, its document, and the way to its claim."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from apps.documents.admin import preview_kind
from apps.funding.admin import lookups
from apps.funding.models import ProviderInvoice


def claim_address(paper: ProviderInvoice) -> str:
    """The claim form filled from a provider invoice."""
    return f"{reverse('admin:funding_claim_add')}?{urlencode({'provider_invoice': str(paper.pk)})}"


def paper_named(guid: str | None) -> ProviderInvoice | None:
    key = lookups.key_in(guid)
    if key is None:
        return None
    return ProviderInvoice.objects.select_related("document", "contact", "provider").filter(pk=key).first()


def paper_shown(request: HttpRequest, paper: ProviderInvoice | None) -> dict[str, Any]:
    """What is shown beside a form of a provider invoice: its total, and its document as browsers show it."""
    if paper is None:
        return {"paper": None}
    document = paper.document
    preview = None
    if document is not None and request.user.has_perm("documents.view_document"):
        shown = preview_kind(document)
        address = reverse("admin:documents_document_preview", args=[document.pk])
        preview = (shown, address) if shown else None
    return {"paper": paper, "paper_document": document, "preview": preview}
