"""The back office's pages of funding; Django registers a page when its module is imported."""

from apps.funding.admin import bills, prices, provider_invoices

__all__ = ["bills", "prices", "provider_invoices"]
