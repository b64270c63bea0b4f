"""Records on their way in, and how rules speak about them.

The interface, the back office and an import all hand drafts to the same verb, which holds them against
the same lists of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: a stable code, a place in Python names, a sentence.

    ``place`` is an attribute of the draft (``"birthday"``) or a path into a contained list
    (``("line_items", 1, "quantity")``). Each face spells it in its own way: the API in wire names, the
    back office on the form field, an import on the column.
    """

    code: str
    place: str | tuple[str | int, ...]
    message: str


class Unreadable(Exception):
    """A rule asked for a value that has a fault of its own; the rule cannot be judged, and need not be."""


class Draft:
    """A record as somebody wants it to be: an attribute for every writable member, by its Python name.

    Members left out are ``None`` or the default; ``given`` holds the names of those that were given.
    References are the referred records, contained lists are lists of drafts. Reading a member that has a
    fault raises ``Unreadable``. ``key`` is set when the draft replaces a record that stands already.
    """

    given: frozenset[str]
    faulty: frozenset[str]
    key: Any

    def __init__(
        self,
        values: dict[str, Any],
        given: Iterable[str] = (),
        faulty: Iterable[str] = (),
        key: Any = None,
    ) -> None:
        self.__dict__.update(values)
        self.given, self.faulty, self.key = frozenset(given), frozenset(faulty), key

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not there: a faulty member, or a rule's own mistake.
        if name in self.__dict__.get("faulty", ()):
            raise Unreadable(name)
        raise AttributeError(f"drafts of this record have no member {name!r}")


Rule = Callable[[Any], Iterator[Finding]]


class Refused(Exception):
    """What a verb says when drafts cannot be: (number of the draft, finding) pairs, in order."""

    def __init__(self, findings: Sequence[tuple[int, Finding]]) -> None:
        super().__init__(f"{len(findings)} findings")
        self.findings = list(findings)


def judge(drafts: Sequence[Any], rules: Sequence[Rule]) -> Iterator[tuple[int, Finding]]:
    """Hold every draft against every rule."""
    for number, draft in enumerate(drafts):
        for rule in rules:
            try:
                yield from ((number, finding) for finding in rule(draft))
            except Unreadable:
                continue
