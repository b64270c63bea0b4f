"""The back office's pages of funding; Django registers a page when its module is imported."""

from apps.funding.admin import (
    answers,
    claim_files,
    claim_windows,
    claims,
    documents,
    first_steps,
    home,
    invoices,
    notices,
    panels,
    plan_changes,
    price_books,
    price_guide,
    provider_invoices,
    rejection_sentences,
    remittances,
)
