"""Plans, their service bookings and budgets."""

from django.apps import AppConfig


class EngagementsConfig(AppConfig):
    name = "apps.engagements"
    label = "engagements"
    verbose_name = "Engagements"
    default_auto_field = "django.db.models.BigAutoField"
