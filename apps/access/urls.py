"""The address of the token endpoint, with and without a trailing slash."""

from django.urls import re_path

from apps.access.views import TokenView

urlpatterns = [re_path(r"^connect/token/?$", TokenView.as_view(), name="token")]
