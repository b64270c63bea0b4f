"""The back office of sales; Django registers the pages when it imports this package."""

from apps.sales.admin import home, notices, records
