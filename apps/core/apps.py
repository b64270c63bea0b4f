"""The app that every record's base stands in."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from apps.core import domains, search_indexes, virus_scanner


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Settings and history"

    def ready(self) -> None:
        # They import models, which are there from now on.
        from apps.core import declaration_checks
        from apps.core.importing import checks

        register(domains.check_domains, "domains")
        register(declaration_checks.check_declarations, "domains")
        register(checks.check_imports, "domains")
        # Indexes are in migrations, which commands that only read would load for it: asked by lint, and by
        # check --deploy.
        register(search_indexes.check_search_indexes, Tags.models, deploy=True)
        register(virus_scanner.check_scanner, Tags.security, deploy=True)
