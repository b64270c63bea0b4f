"""Machine callers: API applications, their tokens, limits and idempotency keys."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "apps.access"
    label = "access"
    verbose_name = "API access"
    default_auto_field = "django.db.models.BigAutoField"
