"""Rules that records of several apps have: each is made for the members that it reads."""

from collections.abc import Iterator

from apps.base.drafts import Draft, Issue, Rule


def is_given(name: str, message: str, when: str | None = None) -> Rule[Draft]:
    """The rule that a member is given; with ``when`` only where that other member is true or given."""

    def rule(draft: Draft) -> Iterator[Issue]:
        if (when is None or getattr(draft, when)) and getattr(draft, name) is None:
            yield Issue("Required", name, message)

    return rule


def is_not_before(name: str, first: str, message: str) -> Rule[Draft]:
    """The rule that a day does not lie before another one, where both are given.

    The message may name them: ``{first}``, ``{last}``.
    """

    def rule(draft: Draft) -> Iterator[Issue]:
        start, end = getattr(draft, first), getattr(draft, name)
        if start and end and end < start:
            yield Issue("OutOfOrder", name, message.format(first=start, last=end))

    return rule


def is_not_negative(name: str, message: str) -> Rule[Draft]:
    """The rule that an amount is not negative, where one is given; the message may name it: ``{:,.2f}``."""

    def rule(draft: Draft) -> Iterator[Issue]:
        amount = getattr(draft, name)
        if amount is not None and amount < 0:
            yield Issue("OutOfRange", name, message.format(amount))

    return rule


def is_somebody_else(name: str, message: str) -> Rule[Draft]:
    """The rule that a person's record does not refer to itself."""

    def rule(draft: Draft) -> Iterator[Issue]:
        person = getattr(draft, name)
        if person is not None and draft.key is not None and person.pk == draft.key:
            yield Issue("NotAllowed", name, message)

    return rule
