"""Answers to django-allauth: who may sign in, by what, and what is said about it."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from apps.access.throttling import client_address
from apps.core.models import Subscriber
from apps.people.authentication.attempts import remember_device, too_many_response
from apps.people.models import Staff
from apps.people.services import find_staff

#: What django-allauth calls the errors of its limits.
LIMITS_REACHED = frozenset({"rate_limited", "too_many_login_attempts"})
BACKEND = "apps.people.authentication.StaffBackend"
CLOSED = "This login is disabled, or its role has no access to the back office."
UNKNOWN = "Nobody here has the email {email}. Ask an administrator."
UNVERIFIED = "The identity provider does not say that it has verified the email {email}."
FAILED = "The identity provider could not be asked. Try again, or sign in with your password."


def refuse(request: HttpRequest, message: str) -> HttpResponse:
    messages.error(request, message)
    return redirect("account_login")


class AccountAdapter(DefaultAccountAdapter):
    """Sign-in of staff: by an administrator's invitation only, while their login is open."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def pre_login(self, request: HttpRequest, user: Staff, **details: object) -> HttpResponse | None:
        return None if user.is_active and user.is_staff else refuse(request, CLOSED)

    def login(self, request: HttpRequest, user: Staff) -> None:
        user.backend = BACKEND
        super().login(request, user)

    def post_login(self, request: HttpRequest, user: Staff, **details: object) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **details)
        remember_device(request, response, user.primary_email_key)
        return response

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or "0.0.0.0"  # noqa: S104  a socket without an address

    def add_message(self, request: HttpRequest, level: object, *texts: object, **options: object) -> None:
        """Leaves out the greeting after each sign-in."""
        if "account/messages/logged_in.txt" not in texts:
            super().add_message(request, level, *texts, **options)

    def validation_error(self, code: str, *args: object) -> object:
        """Over a limit the answer is 429, and not the form with a message."""
        if code in LIMITS_REACHED:
            raise ImmediateHttpResponse(too_many_response(self.request))
        return super().validation_error(code, *args)

    def send_notification_mail(
        self, template_prefix: str, user: Staff, *details: object, **options: object
    ) -> None:
        """A mail about a change of somebody's second factors."""
        super().send_notification_mail(template_prefix, user, *details, email=user.primary_email)


class SecondFactorAdapter(DefaultMFAAdapter):
    """Second factors, under the organisation's name."""

    def _get_site_name(self) -> str:
        return Subscriber.current().name or "Records Service"

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """The last second factor stays where the role requires one."""
        others = authenticator.user.authenticator_set.exclude(type=Authenticator.Type.RECOVERY_CODES)
        is_last = not others.exclude(pk=authenticator.pk).exists()
        return not (is_last and authenticator.user.role.requires_second_factor)


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """Sign-in by the organisation's identity provider: roles still say what people may do.

    The first sign-in connects the provider's subject with the staff member who has the email.
    """

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        if sociallogin.is_existing:
            return
        address = next(iter(sociallogin.email_addresses), None)
        email = address.email if address else ""
        if address and not address.verified and not settings.OIDC_TRUSTS_EMAIL:
            raise ImmediateHttpResponse(refuse(request, UNVERIFIED.format(email=email)))
        staff = find_staff(email)
        if not email or staff is None:
            raise ImmediateHttpResponse(refuse(request, UNKNOWN.format(email=email or "that it gives")))
        sociallogin.connect(request, staff)

    def on_authentication_error(self, request: HttpRequest, *details: object, **options: object) -> None:
        raise ImmediateHttpResponse(refuse(request, FAILED))

    # Until the second factor is proven, the session holds the sign-in: of a staff member their key alone.

    def serialize_instance(self, instance: Model) -> object:
        if isinstance(instance, Staff):
            return {"pk": str(instance.pk)}
        return super().serialize_instance(instance)

    def deserialize_instance(self, model: type[Model], data: Any) -> object:
        if model is Staff:
            return Staff.objects.get(pk=data["pk"])
        return super().deserialize_instance(model, data)
