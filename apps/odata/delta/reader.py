"""The records that changed since a moment, read as pages of their JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.base.batched_queries import AnyOf
from apps.odata.delta.change_log import LoggedChange, get_change_log
from apps.odata.delta.dependencies import Dependency
from apps.odata.delta.tokens import DeltaToken
from apps.odata.read.reader import JsonReader, ResultPage


@dataclass(frozen=True)
class DeltaPage(ResultPage):
    """Changed records with their ``keys``, of which ``new_keys`` were created.

    ``removed`` are the keys that are not in the collection, and whether their records are deleted.
    ``delta_token`` begins the next delta.
    """

    keys: tuple[object, ...] = ()
    new_keys: frozenset[object] = frozenset()
    removed: Mapping[object, bool] = field(default_factory=dict)
    delta_token: str = ""


class DeltaReader:
    """Reads the changes of the records of a ``JsonReader``, in its selection.

    Each page shows the records of the next entries of the log as they are now. A record that the reader does
    not have, or has no more, is a removed one.
    """

    next_option = "$deltatoken"

    def __init__(self, current: JsonReader, dependencies: Sequence[Dependency], token: DeltaToken) -> None:
        self.current, self.dependencies, self.token = current, dependencies, token
        self.model = current.entity_set.model
        self.computed = current.computed
        self.select_list = f"{current.select_list}/$delta"

    def page(self, size: int) -> DeltaPage:
        """The records of at most ``size`` entries, at most ``size`` of them.

        Entries that an earlier page has begun to show are read again, all of them and no others.
        """
        log, token = get_change_log(), self.token
        assert token.since is not None
        until = token.until or log.moment()
        types = {self.model._meta.label_lower, *(each.record_type for each in self.dependencies)}
        limit = size if token.last is None else None
        entries = log.entries(token.since, until, types, token.after, limit, token.last)
        keys = self.keys_of(entries, size)
        following: DeltaToken | None = None
        if len(keys) > size:
            last = token.last or entries[-1].cursor
            following = replace(token, until=until, key=str(keys[size - 1]), last=last)
        elif token.last is not None or len(entries) == size:
            last = token.last or entries[-1].cursor
            following = replace(token, until=until, after=last, key=None, last=None)
        found = self.current.read(keys[:size])
        missing = [key for key in keys[:size] if key not in found]
        existing = set(self.rows_of(missing).values_list("pk", flat=True)) if missing else set()
        own = self.model._meta.label_lower
        new = (entry.key for entry in entries if entry.is_new and entry.record_type == own)
        return DeltaPage(
            [record for record, _ in found.values()],
            next_token=following.sign() if following else None,
            keys=tuple(found),
            new_keys=frozenset(map(self.parse_key, new)),
            delta_token=DeltaToken(token.query, since=until).sign(),
            removed={key: key not in existing for key in missing},
        )

    def rows_of(self, keys: Iterable[object]) -> Any:
        return self.model._base_manager.filter(AnyOf("pk", keys)).order_by("pk")

    def keys_of(self, entries: Sequence[LoggedChange], size: int) -> list[object]:
        """The keys that the entries concern, in their order behind the token's; one more than ``size``."""
        own = self.model._meta.label_lower
        keys = {self.parse_key(entry.key) for entry in entries if entry.record_type == own}
        for dependency in self.dependencies:
            concerned = [entry for entry in entries if dependency.concerns(entry)]
            if concerned:
                keys.update(self.keys_by(dependency, concerned, size))
        last = self.token.key and self.parse_key(self.token.key)
        return sorted(key for key in keys if last is None or key > last)[: size + 1]

    def keys_by(self, dependency: Dependency, entries: Sequence[LoggedChange], size: int) -> Iterator[object]:
        """The keys of the records that show what the entries changed, or showed it before."""
        rows = self.model._base_manager.order_by("pk")
        if self.token.key is not None:
            rows = rows.filter(pk__gt=self.token.key)
        changed = {dependency.path: {entry.key for entry in entries}}
        if dependency.owner_column:
            owners = {key for entry in entries for key in dependency.owner_keys(entry)}
            changed[dependency.owner_path or "pk"] = owners
        for path, keys in changed.items():
            if keys:
                found = rows.filter(**{f"{path}__in": keys}).values_list("pk", flat=True)
                yield from found.distinct()[: size + 1]

    def parse_key(self, text: str) -> Any:
        return self.model._meta.pk.to_python(text)
