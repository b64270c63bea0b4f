"""The back office's pages of people and the lists they choose from; Django registers those it imports."""

from django.apps import apps
from django.contrib import admin

from apps.people.admin import custom_fields, lookups, people, roles, staff

# Second factors and sessions are their owner's, on pages of django-allauth.
admin.site.unregister(
    model
    for model in apps.get_models()
    if model.__module__.startswith("allauth.") and admin.site.is_registered(model)
)
