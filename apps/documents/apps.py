"""Uploaded documents and the categories they are filed under."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "apps.documents"
    label = "documents"
    verbose_name = "Documents"
    default_auto_field = "django.db.models.BigAutoField"
