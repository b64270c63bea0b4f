"""Pages of signing in: the login, links by which people choose a password, the first administrator."""

from collections.abc import Callable
from typing import Any

from allauth.account.utils import perform_login
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.contrib import admin, messages
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import AuthenticationForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.generic import FormView
from requests import RequestException

from apps.people.authentication.adapters import FAILED, refuse
from apps.people.authentication.first_administrator import FirstAdministratorForm, is_valid_token
from apps.people.authentication.forms import ChosenPasswordForm, PasswordLinkForm, StaffLoginForm
from apps.people.authentication.password_mail import link_validity
from apps.people.models import Staff
from apps.people.services import administrators


def back_office_page(request: HttpRequest) -> dict[str, object]:
    """Context processor: the frame of the back office around pages of django-allauth and of this module."""
    # What is refused before anybody is looked up, such as another host, has a page without the frame.
    if not (request.path_info.startswith("/admin/account/") and hasattr(request, "user")):
        return {}
    return admin.site.each_context(request)


class LoginView(auth_views.LoginView):
    """The back office's login; second factors are asked for by the stages of django-allauth."""

    template_name = "people/login.html"
    authentication_form = StaffLoginForm

    def get(self, request: HttpRequest, *arguments: object, **options: object) -> HttpResponse:
        if admin.site.has_permission(request):
            return HttpResponseRedirect(self.get_success_url())  # `redirect` takes a word for a view's name
        return super().get(request, *arguments, **options)

    def get_context_data(self, **context: object) -> dict[str, object]:
        target = self.get_redirect_url()
        return super().get_context_data(
            **admin.site.each_context(self.request),
            title="Log in",
            # Of the form of the passkey, which is django-allauth's.
            redirect_field=format_html('<input type="hidden" name="next" value="{}">', target),
            providers=get_adapter().list_providers(self.request),
            lacks_administrator=not administrators().exists(),
            **context,
        )

    def get_default_redirect_url(self) -> str:
        return reverse("admin:index")

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response: HttpResponse = perform_login(
            self.request, form.get_user(), redirect_url=self.get_success_url()
        )
        return response


def refuse_unreachable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """django-allauth leaves errors of its first question, for the provider's configuration, to the caller."""

    def answer(request: HttpRequest, **options: object) -> HttpResponse:
        try:
            return view(request, **options)
        except RequestException:
            return refuse(request, FAILED)

    return answer


provider_login = refuse_unreachable(openid_connect.login)
provider_callback = refuse_unreachable(openid_connect.callback)


class PasswordLinkView(FormView):
    """Somebody who has forgotten their password asks for a mail; the answer is the same for every email."""

    form_class = PasswordLinkForm
    template_name = "people/password_link.html"
    success_url = reverse_lazy("account_login")
    extra_context = {"title": "Forgotten password"}

    def form_valid(self, form: PasswordLinkForm) -> HttpResponse:
        form.save(self.request)
        text = "If this is a login, a mail with a link is on its way. The link is valid for"
        messages.success(self.request, f"{text} {link_validity()}.")
        return super().form_valid(form)


@method_decorator(never_cache, name="dispatch")
class PasswordChoiceView(auth_views.PasswordResetConfirmView):
    """The page of the link: somebody chooses their password."""

    form_class = ChosenPasswordForm
    template_name = "people/password_choice.html"
    success_url = reverse_lazy("account_login")
    extra_context = {"title": "Choose a password"}

    def get_user(self, uidb64: str) -> Staff | None:
        staff: Any = super().get_user(uidb64)
        return staff if staff is not None and staff.is_active else None

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, "Your password is set. Log in with it.")
        return response


@method_decorator(never_cache, name="dispatch")
class FirstAdministratorView(FormView):
    """The first administrator of an installation, by the address that the server printed."""

    form_class = FirstAdministratorForm
    template_name = "people/first_administrator.html"
    extra_context = {"title": "First administrator"}

    def dispatch(self, request: HttpRequest, *arguments: object, **options: Any) -> object:
        if administrators().exists() or not is_valid_token(options["token"]):
            raise Http404
        return super().dispatch(request, *arguments, **options)

    def form_valid(self, form: FirstAdministratorForm) -> HttpResponse:
        if not form.save():
            return self.form_invalid(form)
        messages.success(self.request, "The service has its first administrator. Log in.")
        return redirect("account_login")
