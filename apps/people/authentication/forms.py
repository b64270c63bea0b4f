"""Forms of signing in: codes of second factors, and links by which people choose a password."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from cryptography.exceptions import InvalidSignature
from django import forms
from django.contrib.auth.forms import SetPasswordForm
from django.db import transaction
from django.http import HttpRequest
from django.urls import get_script_prefix
from unfold.forms import AuthenticationForm
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget

from apps.access.callers import Limits
from apps.access.throttling import RATE_LIMITER, LimitReached
from apps.core import history
from apps.core.models import normalised
from apps.people.authentication.attempts import too_many_response
from apps.people.authentication.password_mail import mail_password_link
from apps.people.models import Staff
from apps.people.services import change_logins, find_staff

#: Codes that are tried for one person: 200 of a million a day.
CODES = Limits(per_minute=5, per_day=200)
#: Mails with a link for one login.
MAILS = Limits(per_minute=2, per_day=10)
#: So many codes of an authenticator app are valid at a time, with a tolerance of one period.
VALID_CODES = 3


def take_permit(caller: str, limits: Limits) -> None:
    """Count an attempt; beyond the limits the response is 429."""
    try:
        RATE_LIMITER.take_permit(caller, limits)
    except LimitReached as limit:
        raise ImmediateHttpResponse(too_many_response(context.request, limit.retry_after)) from None


class StaffLoginForm(AuthenticationForm):
    """The login and the password."""

    error_messages: ClassVar[Mapping[str, str]] = {
        **AuthenticationForm.error_messages,
        "invalid_login": "No open login has this email and password. Capital letters of a password count.",
    }


class LimitedCodes(forms.Form):
    """Codes are counted over all workers, and each is taken once; django-allauth does both per process."""

    user: Staff
    authenticator: Authenticator

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["code"].help_text = (
            "Of the authenticator app, or one of your recovery codes. Without either, ask an administrator to"
            " remove your second factors."
        )

    def clean_code(self) -> str:
        take_permit(f"codes of:{self.user.pk}", CODES)
        code: str = super().clean_code()  # type: ignore[misc]
        if self.authenticator.type == Authenticator.Type.TOTP:
            self.refuse_used(code)
        return code

    @transaction.atomic
    def refuse_used(self, code: str) -> None:
        factor = Authenticator.objects.select_for_update().get(pk=self.authenticator.pk)
        used = factor.data.get("used_codes", [])
        if code in used:
            raise forms.ValidationError("This code has been used. Wait for the next one.")
        factor.data["used_codes"] = [*used, code][-VALID_CODES:]
        factor.save(update_fields=["data"])


class CodeForm(LimitedCodes, AuthenticateForm):
    """The code after the password."""


class CodeAgainForm(LimitedCodes, ReauthenticateForm):
    """A code before second factors are changed."""


class CheckedCredential(forms.Form):
    """A credential of a passkey is read by fido2, which raises many exceptions at what is none."""

    def clean_credential(self) -> object:
        with refused_credentials():
            return super().clean_credential()  # type: ignore[misc]


@contextmanager
def refused_credentials() -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, InvalidSignature):
        raise forms.ValidationError("This passkey could not be read. Try again.") from None


class PasskeyForm(CheckedCredential, AuthenticateWebAuthnForm):
    """A passkey or security key after the password."""


class PasskeyAgainForm(CheckedCredential, ReauthenticateWebAuthnForm):
    """A passkey or security key before second factors are changed."""


class PasskeyLoginForm(CheckedCredential, LoginWebAuthnForm):
    """A passkey in place of the password."""


class NewPasskeyForm(AddWebAuthnForm):
    """A new passkey or security key."""

    def clean(self) -> object:
        with refused_credentials():
            return super().clean()


class PasswordLinkForm(forms.Form):
    """Somebody who has forgotten their password asks for a mail with a link."""

    email = forms.EmailField(
        label="Email", max_length=90, widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "username"})
    )

    def save(self, request: HttpRequest) -> None:
        """Let a worker send the mail; neither the limit nor the time this takes tells who has a login."""
        email = self.cleaned_data["email"]
        take_permit(f"mails to:{normalised(email)}"[:80], MAILS)
        staff = find_staff(email)
        site = request.build_absolute_uri(get_script_prefix()).rstrip("/")
        mail_password_link.enqueue(None if staff is None else str(staff.pk), site, 0)


class PasswordForm(SetPasswordForm):
    """A new password, given twice and checked by the password rules; `save` writes it to the history."""

    user: Staff

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})

    def save(self, commit: bool = True) -> Staff:
        super().save(commit=False)
        if commit:
            change_logins(Staff.objects.filter(pk=self.user.pk), password=self.user.password)
        return self.user


class ChosenPasswordForm(PasswordForm):
    """A password that somebody chooses by a link: they are the author of the change."""

    def save(self, commit: bool = True) -> Staff:
        with history.as_author(history.Author("Back office", staff_id=self.user.pk)):
            return super().save(commit)
