"""The addresses of the pages that belong to no record."""

from django.templatetags.static import static
from django.urls import path, re_path
from django.utils.functional import lazy
from django.views.generic import RedirectView

from apps.core import views

urlpatterns = [
    path("", views.start_page, name="start"),
    re_path(r"^livez/?$", views.livez, name="livez"),
    re_path(r"^readyz/?$", views.readyz, name="readyz"),
    path(".well-known/security.txt", views.security_txt, name="security-txt"),
    path("favicon.ico", RedirectView.as_view(url=lazy(static, str)("favicon.svg"))),
]
