"""The back office's pages of people and the lists they choose from; Django registers those it imports."""

from django.contrib import admin

from apps.people.admin import custom_fields, lookups, people, roles, staff

# Second factors and sessions are their owner's, on pages of django-allauth.
admin.site.unregister([model for model in admin.site._registry if model.__module__.startswith("allauth.")])
