"""Staff, clients and contacts, and the lists they choose from."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "apps.people"
    label = "people"
    verbose_name = "People"
    default_auto_field = "django.db.models.BigAutoField"
