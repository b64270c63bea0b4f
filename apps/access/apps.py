"""Machine callers: API applications, their tokens, limits and idempotency keys."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "apps.access"
    verbose_name = "API access"
