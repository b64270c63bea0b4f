"""The protocol kernel as a Django app: it teaches SQLite what it lacks and checks the declarations."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.backends.signals import connection_created

from apps.odata import checks
from apps.odata.read import sqlite_functions


class ODataConfig(AppConfig):
    name = "apps.odata"
    label = "odata"
    verbose_name = "OData interface"

    def ready(self) -> None:
        connection_created.connect(sqlite_functions.prepare, dispatch_uid="odata.sqlite")
        register(checks.check_declarations, "odata")
