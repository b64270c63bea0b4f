"""Authentication of staff in the back office: who a session belongs to, and what is no password."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import ValidationError

from apps.core.models import Subscriber
from apps.people.models import Staff

#: Shorter words of an organisation's name are part of too many others.
MAX_IGNORED_WORD = 3  # characters


class StaffBackend(ModelBackend):
    """Staff sign in with their primary email, in any case, while their login is open."""

    def get_user(self, user_id: Any) -> Staff | None:
        """The staff member of a session; none once the login is disabled, so that the session ends."""
        try:
            staff = Staff.objects.select_related("role").get(pk=user_id)
        except Staff.DoesNotExist:
            return None
        return staff if self.user_can_authenticate(staff) else None


class ContextWordValidator:
    """Refuses passwords made of the service's own words (a setting) and of the organisation's name.

    Such words count for nothing: the rest of the password is as long as a password has to be.
    """

    def __init__(self, words: Collection[str], min_length: int = 12) -> None:
        self.words, self.min_length = words, min_length

    def validate(self, password: str, user: Staff | None = None) -> None:
        remaining = password.casefold()
        words = {*self.words, *Subscriber.current().name.casefold().split()}
        for word in sorted(words, key=len, reverse=True):
            if len(word) > MAX_IGNORED_WORD:
                remaining = remaining.replace(word, "")
        if len(remaining) < len(password) and len(remaining) < self.min_length:
            raise ValidationError(self.get_help_text(), code="password_context_word")

    def get_help_text(self) -> str:
        return (
            "Your password can't be made of words of this service or of the organisation: "
            f"besides them it needs {self.min_length} characters."
        )
