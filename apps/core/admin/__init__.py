"""The back office's pages of the organisation's settings and of the history of all records."""

from django.contrib import admin
from django.contrib.auth.models import Group
from django_tasks_db.models import DBTaskResult

from apps.core.admin import changes, file_exports, file_imports, notices, subscriber

admin.site.unregister(Group)  # permissions are granted by roles
admin.site.unregister(DBTaskResult)  # what a task did is told by the records that it is about
