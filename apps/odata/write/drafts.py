"""Records on their way in, and how rules speak about them.

The interface, the back office and an import all hand drafts to the same verb, which holds them against
the same lists of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Issue:
    """What a rule found: a stable code, a place in Python names, a sentence.

    ``place`` is an attribute of the draft (``"birthday"``) or a path into a list of it
    (``("line_items", 1, "quantity")``, ``("teams", 0)``). Each face spells it in its own way: the API in
    wire names, the back office on the form field, an import on the column. ``lost``: it was not so when the
    request looked first; another writer came before it.
    """

    code: str
    place: str | tuple[str | int, ...]
    message: str
    lost: bool = False


class InvalidValue(Exception):
    """A rule asked for a value that has a fault of its own; the rule cannot be judged, and need not be."""


class Draft:
    """A record as somebody wants it to be: an attribute for every writable member, by its Python name.

    Members left out are ``None`` or the default; ``given`` holds the names of those that were given.
    References are the referred records, lists of references lists of them, contained lists are lists of
    drafts. Reading a member that has a fault raises ``Unreadable``. ``key`` is set when the draft replaces
    a record that stands already.
    """

    given: frozenset[str]
    invalid: frozenset[str]
    key: Any

    def __init__(
        self,
        values: dict[str, Any],
        given: Iterable[str] = (),
        invalid: Iterable[str] = (),
        key: Any = None,
    ) -> None:
        held = self.__dict__
        held.update(values)
        held["given"], held["invalid"], held["key"] = frozenset(given), frozenset(invalid), key

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not there: a faulty member, or a rule's own mistake.
        if name in self.__dict__.get("invalid", ()):
            raise InvalidValue(name)
        raise AttributeError(f"drafts of this record have no member {name!r}")

    def get(self, name: str) -> Any:
        """The value of a member; ``None`` when it is invalid or the draft has no such member."""
        return self.__dict__.get(name)

    def fill(self, name: str, value: Any) -> None:
        """Give a member that was left out the value that the domain chooses for it."""
        self.__dict__[name] = value

    def mark_invalid(self, name: str) -> None:
        """Take away a member that has a fault (or note a place in a list of it: ``line_items[1]``)."""
        self.__dict__.pop(name, None)
        self.invalid |= {name}


#: ``rule(draft)``, or ``rule(draft, context)`` where the service loads a context for its rules.
Rule = Callable[..., Iterator[Issue]]

#: (number of the draft, what was found) pairs.
Issues = Iterable[tuple[int, Issue]]


class ValidationFailed(Exception):
    """What a verb says when drafts cannot be: its findings, in the order of the drafts.

    There may be none: the drafts were faulty before the verb saw them.
    """

    def __init__(self, findings: Issues) -> None:
        self.findings = sorted(findings, key=lambda found: found[0])
        super().__init__("; ".join(f"{number}: {found.message}" for number, found in self.findings))


class WarningsPresent(ValidationFailed):
    """What a verb says when drafts can be, but may not be meant."""


def apply_rules(drafts: Sequence[Any], rules: Sequence[Rule], *context: Any) -> Iterator[tuple[int, Issue]]:
    """Check every draft against every rule; ``context`` is passed to each rule after the draft."""
    for number, draft in enumerate(drafts):
        for rule in rules:
            try:
                for issue in rule(draft, *context):
                    yield number, issue
            except InvalidValue:
                continue


def raise_if_invalid(drafts: Iterable[Draft], findings: Issues) -> None:
    """Raise ``Refused`` when anything was found, or a draft has faults of its own."""
    found = list(findings)
    if found or any(draft.invalid for draft in drafts):
        raise ValidationFailed(found)
