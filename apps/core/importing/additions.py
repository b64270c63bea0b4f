"""What an app says about importing one of its resources, beyond the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from apps.core.identifiers import normalised
from apps.odata.declaration.schema import EntitySet
from apps.odata.write.drafts import Draft, Rule


@dataclass(frozen=True, slots=True)
class Cleaning:
    """A text made better than it was written, and what the user should know of it."""

    text: str
    code: str = ""
    message: str = ""


def as_written(text: str) -> Sequence[str]:
    return (text,)


@dataclass(frozen=True)
class Finder:
    """A value by which files may name the record that a member refers to, beside that record's key.

    ``name`` is what columns are called, ``member`` the member whose record it finds, ``by`` the column of
    that record. Where the column has no folded twin, ``same`` makes one text of all spellings of a value, and
    ``written`` tells how records may hold a text.
    """

    name: str
    member: str
    by: str
    same: Callable[[str], str | None] = normalised
    written: Callable[[str], Sequence[str]] = as_written


@dataclass(frozen=True)
class NamedBy:
    """A record that rows need not name, because other members of theirs say which it is.

    ``member`` refers to it. ``by`` has its columns and the row's members that say what is in them: the first
    must be given; the others tell apart the records that have it, and one that has nothing there will do.
    """

    member: str
    by: Mapping[str, str]


class Importing:
    """How a resource is imported; subclasses stand beside its verbs.

    ``synonyms`` are headers that mean a member (``{"Surname": "LastName"}``), compared without case, blanks
    and punctuation. ``match`` names the members by which rows find the records they change, the first that a
    row gives; the record's own key comes before them. Rows that give none are the records that equal them in
    every column; ``alike`` names the attributes by which such records are looked up. ``entity_set`` is what
    the columns are read by: an app may bind another declaration than the one it serves. ``folder`` is where
    the file lies, for rows that name other files.

    Of a resource with a list (the lines of a claim) a row is one item, and rows that stand together and
    agree in what ``together`` names are one record: the first of its combinations that the first row gives.
    """

    synonyms: ClassVar[Mapping[str, str]] = {}
    match: ClassVar[Sequence[str]] = ()
    #: Members whose values are one record's only together with another's: a reference with its provider.
    apart_by: ClassVar[Mapping[str, str]] = {}
    finders: ClassVar[Sequence[Finder]] = ()
    named_by: ClassVar[Sequence[NamedBy]] = ()
    together: ClassVar[Sequence[tuple[str, ...]]] = ()
    #: Members that the verb fills in when they are left out: an empty cell says nothing of what stands.
    filled_in: ClassVar[Sequence[str]] = ()
    alike: ClassVar[Sequence[str]] = ()
    #: Cleans the text of a member, by the member's name.
    cleaners: Mapping[str, Callable[[str], Cleaning]] = {}
    #: The rules that the verb holds a new record against, and those that only warn.
    rules: ClassVar[Sequence[Rule]] = ()
    warnings: ClassVar[Sequence[Rule]] = ()

    folder: Path

    def __init__(self, entity_set: EntitySet) -> None:
        self.entity_set = entity_set

    def create(self, drafts: Sequence[Draft]) -> Any:
        """The verb that stores new records; ``Refused`` tells what its rules find."""
        raise NotImplementedError

    def revise(self, drafts: Sequence[Draft]) -> Any:
        """The verb that changes what drafts give of the records whose keys they have."""
        raise NotImplementedError

    @property
    def has_warnings(self) -> bool:
        """Whether the verb keeps out what has warnings, unless it is told to ignore them."""
        return self.entity_set.resource.has_warnings

    def close(self) -> None:
        """Called when the import is over, however it ended."""
