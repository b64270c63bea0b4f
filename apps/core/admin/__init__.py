"""The back office's pages of the organisation's settings and of the history of all records."""

from django.contrib import admin
from django.contrib.auth.models import Group

from apps.core.admin import changes, subscriber

admin.site.unregister(Group)  # permissions are granted by roles

__all__ = ["changes", "subscriber"]
