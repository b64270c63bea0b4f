"""The app that every record's base stands in."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from apps.core import domains, virus_scanner


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Settings and history"

    def ready(self) -> None:
        register(domains.check_domains, "domains")
        register(virus_scanner.check_scanner, Tags.security, deploy=True)
