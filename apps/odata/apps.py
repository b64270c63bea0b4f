"""The protocol as a Django app: it adds SQL functions to SQLite and checks the declarations."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.backends.signals import connection_created

from apps.odata import checks
from apps.odata.query import sqlite_functions


class ODataConfig(AppConfig):
    name = "apps.odata"
    verbose_name = "OData interface"

    def ready(self) -> None:
        connection_created.connect(sqlite_functions.register_functions, dispatch_uid="odata.sqlite")
        register(checks.check_declarations, "odata")
