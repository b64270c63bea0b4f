"""The back office as a site of Django's admin."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from unfold.settings import get_config
from unfold.sites import UnfoldAdminSite


class BackOfficeSite(UnfoldAdminSite):
    """The library's site with our menu alone."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """The pages of a person by app, made where a template asks for it.

        Django has it in the context of each page, for a fifth of a small page's CPU; ours show the menu.
        """
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, object]]:
        """The menu as it is: the library copies it and completes what a setting may lack."""
        navigation = get_config(self.settings_name)["SIDEBAR"]["navigation"]
        menu: list[dict[str, object]] = import_string(navigation)(request)
        return menu

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """A page for those who are signed in; 400 for NUL characters, which PostgreSQL keeps in no text.

        The fields of forms refuse them, but not every page has a form.
        """

        @wraps(view)
        def without_nul(request: HttpRequest, *args: object, **options: object) -> Any:
            given = (*request.GET.lists(), *request.POST.lists())
            if any("\0" in text for _, texts in given for text in texts):
                raise BadRequest("A text of the address or the form has a NUL character.")
            return view(request, *args, **options)

        return super().admin_view(without_nul, cacheable)

    def i18n_javascript(self, request: HttpRequest, extra_context: object = None) -> HttpResponseBase:
        """The texts of Django's scripts, which every form page asks for: the browser keeps them for a day."""
        response = super().i18n_javascript(request, extra_context)
        patch_cache_control(response, private=True, max_age=86_400)
        return response


class BackOfficeConfig(AdminConfig):
    """Django's admin with our site."""

    default_site = "apps.core.site.BackOfficeSite"
