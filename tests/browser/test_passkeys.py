"""Signing in with a passkey, by Chromium's virtual authenticator."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

from tests.browser.test_accessibility import overflow
from tests.people.records import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FACTORS = "/admin/account/factors/"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_is_added_and_signs_in_without_a_password(open_window, ada):
    page = open_window(width=390)
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    page.goto(f"{FACTORS}webauthn/add/")
    page.fill("[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.check("[name=passwordless]")
    page.click("#mfa_webauthn_add")
    page.check("#codes_saved")  # until then the page asks before it is left
    for address in (FACTORS, f"{FACTORS}webauthn/", "/admin/account/sessions/"):
        page.goto(address)
        assert overflow(page) == 0, address
    page.context.clear_cookies()
    page.goto("/admin/people/staff/")
    page.click("#passkey_login")
    page.wait_for_selector("#result_list >> text=Ada Byron")
    page.context.clear_cookies()
    page.goto("/admin/")
    page.fill("[name=username]", ada.primary_email)
    page.fill("[name=password]", PASSWORD)
    page.click("#login-form button[type=submit]")
    page.click("#mfa_webauthn_authenticate")
    page.wait_for_url("**/admin/")
    assert (page.errors, page.elsewhere) == ([], [])


def test_the_cursor_is_in_the_first_field_of_each_step_of_signing_in(open_window, ada):
    TOTP.activate(ada, generate_totp_secret())
    page = open_window(width=1280)
    page.goto(f"{FACTORS}recovery-codes/generate/")  # asks who it is, once more
    assert is_focused(page, "password")
    page.context.clear_cookies()
    page.goto("/admin/account/password/")
    assert is_focused(page, "email")
    page.goto("/admin/")
    assert is_focused(page, "username")
    page.keyboard.type(ada.primary_email)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("[name=code]")
    assert is_focused(page, "code")


def is_focused(page, name):
    """Whether the cursor comes to be in a field of that name."""
    page.wait_for_load_state()
    page.wait_for_timeout(200)
    return page.evaluate("document.activeElement.name") == name
