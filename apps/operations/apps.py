"""Backups, verification, the move between databases, and the records of one person."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "apps.operations"
    label = "operations"
    verbose_name = "Operations"
