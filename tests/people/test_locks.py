"""Two people at the same moment: each test fails without the lock that its call takes."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django import forms
from django.db import transaction

from apps.base.drafts import ValidationFailed
from apps.funding.models import Claim
from apps.people.authentication.forms import CodeForm
from apps.people.merging import merge, undo_merge
from apps.people.models import Client
from tests.funding.builders import a_claim
from tests.people.records import a_client, an_administrator
from tests.people.test_logins import take_permissions
from tests.races import call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def test_two_records_are_not_merged_into_each_other():
    one, other = a_client(), a_client()
    with pytest.raises(ValidationFailed, match="archived; restore it first"):
        call_during(lambda: merge(one, other), lambda: merge(other, one))
    assert Client.objects.get(pk=one.pk).merged_into is None


def test_a_merge_is_undone_once():
    kept, duplicate = a_client(), a_client()
    merge(kept, duplicate)
    with pytest.raises(ValidationFailed):
        call_during(*[lambda: undo_merge(duplicate)] * 2)


def test_what_refers_to_somebody_else_meanwhile_is_not_moved_by_a_merge():
    kept, duplicate, other = a_client(), a_client(), a_client()
    claim = a_claim(provider=duplicate)
    call_during(
        lambda: Claim.objects.filter(pk=claim.pk).update(provider=other), lambda: merge(kept, duplicate)
    )
    assert Claim.objects.get(pk=claim.pk).provider == other


def test_of_the_last_two_roles_that_may_do_everything_one_stays():
    one, other = an_administrator(), an_administrator()
    with pytest.raises(ValidationFailed):
        call_during(lambda: take_permissions(one), lambda: transaction.atomic(take_permissions)(other))


def test_a_code_is_taken_once_by_workers_of_different_machines():
    person = an_administrator()
    form = CodeForm(user=person)
    form.authenticator = TOTP.activate(person, generate_totp_secret()).instance
    with pytest.raises(forms.ValidationError, match="has been used"):
        call_during(*[lambda: form.refuse_used("123456")] * 2)
