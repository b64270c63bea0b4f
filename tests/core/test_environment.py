"""Settings are read strictly: what cannot be meant is refused, with the name of its variable."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from records_site.environment import Environment


@pytest.fixture
def env(monkeypatch):
    monkeypatch.setattr(Environment, "ENVIRON", {})
    return Environment()


@pytest.mark.parametrize("text", ["$tr0ng", "$HOME", r"\$100", " a b ", "#1"])
def test_a_text_is_what_was_given(env, text):
    env.ENVIRON.update(BACKUP_PASSPHRASE=text, HOME="/root")
    assert env.str("BACKUP_PASSPHRASE", "") == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("YES", True), ("1", True), ("false", False), ("Off", False), ("0", False)],
)
def test_what_says_yes_or_no_is_understood(env, text, value):
    env.ENVIRON["HTTPS"] = text
    assert env.bool("HTTPS", not value) is value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        ("bool", "enabled"),
        ("bool", "2"),
        ("int", "ten"),
        ("int", "-1"),
        ("int", "1.5"),
        ("float", "3s"),
        ("float", "nan"),
        ("float", "-0.5"),
    ],
)
def test_what_cannot_be_is_refused_with_the_name_of_its_variable(env, read, text):
    env.ENVIRON["LIMIT"] = text
    with pytest.raises(ImproperlyConfigured, match=f"^LIMIT is .*, not '{text}'"):
        getattr(env, read)("LIMIT", 1)


def test_numbers_are_read_as_they_are_written(env):
    env.ENVIRON.update(COUNT=" 600 ", SECONDS="3e2", SHORT="0.05")
    assert (env.int("COUNT", 1), env.float("SECONDS", 1), env.float("SHORT", 1)) == (600, 300, 0.05)


def test_an_empty_value_is_none_at_all(env):
    env.ENVIRON.update(COUNT="", FLAG=" ", HOSTS="")
    assert (env.int("COUNT", 7), env.bool("FLAG", True), env.list("HOSTS", default=["a"])) == (7, True, ["a"])


def test_blanks_beside_commas_belong_to_no_name(env):
    env.ENVIRON["ALLOWED_HOSTS"] = "records.example, 127.0.0.1 ,"
    assert env.list("ALLOWED_HOSTS", default=[]) == ["records.example", "127.0.0.1"]
