"""What every record shares."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "apps.core"
    label = "core"
    verbose_name = "Settings and history"
    default_auto_field = "django.db.models.BigAutoField"
