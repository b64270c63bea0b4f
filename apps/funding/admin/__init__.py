"""The back office's pages of funding; Django registers a page when its module is imported."""

from apps.funding.admin import prices

__all__ = ["prices"]
