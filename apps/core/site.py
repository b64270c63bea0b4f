"""The back office as a site of Django's admin."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from unfold.sites import UnfoldAdminSite


class BackOfficeSite(UnfoldAdminSite):
    """The library's site, which makes the list of a person's pages once a request.

    Django and the menu ask for it two to four times a page, each time for a tenth of the page's CPU.
    """

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.app_lists: WeakKeyDictionary[HttpRequest, object] = WeakKeyDictionary()

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> object:
        if app_label is not None:
            return super().get_app_list(request, app_label)
        if request not in self.app_lists:
            self.app_lists[request] = super().get_app_list(request)
        return self.app_lists[request]

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
