"""The first administrator of a new installation, by an address that only the operator sees."""

import datetime as dt

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.urls import reverse
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from apps.people.models import Staff
from apps.people.services import save_login

SALT = "people.first_administrator"
VALIDITY = dt.timedelta(days=1)


def first_administrator_path() -> str:
    return reverse("first_administrator", args=[signing.dumps("", salt=SALT)])


def is_valid_token(token: str) -> bool:
    try:
        signing.loads(token, salt=SALT, max_age=VALIDITY)
    except signing.BadSignature:
        return False
    return True


class FirstAdministratorForm(forms.Form):
    """Who the first administrator is."""

    email = forms.EmailField(
        max_length=90, widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "username"})
    )
    first_name = forms.CharField(max_length=90, widget=UnfoldAdminTextInputWidget())
    last_name = forms.CharField(max_length=90, widget=UnfoldAdminTextInputWidget())
    password = forms.CharField(
        strip=False,
        help_text="At least 12 characters.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )

    def clean_password(self) -> str:
        names = {name: self.cleaned_data.get(name, "") for name in ("first_name", "last_name")}
        staff = Staff(primary_email=self.cleaned_data.get("email", ""), **names)
        password: str = self.cleaned_data["password"]
        validate_password(password, staff)
        return password

    def save(self) -> bool:
        """Create the login; False, with the errors on the form, when the service refuses."""
        try:
            save_login(**self.cleaned_data)
        except ValidationError as error:
            self.add_error(None, error)
        return self.is_valid()
