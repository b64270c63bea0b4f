"""The addresses of the pages that belong to no record."""

from django.templatetags.static import static
from django.urls import path, re_path
from django.utils.functional import lazy
from django.views.generic import RedirectView

from apps.core import error_pages

urlpatterns = [
    path("", error_pages.start, name="start"),
    re_path(r"^livez/?$", error_pages.livez, name="livez"),
    re_path(r"^readyz/?$", error_pages.readyz, name="readyz"),
    path("favicon.ico", RedirectView.as_view(url=lazy(static, str)("favicon.svg"))),
]
