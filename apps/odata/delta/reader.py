"""The records that changed since a moment, read as pages of their JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.base.batched_queries import AnyOf
from apps.odata.delta.change_log import LoggedChange, get_change_log
from apps.odata.delta.dependencies import Dependency, find_sight_dependencies
from apps.odata.delta.tokens import DeltaToken, moment_for
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
    not have, or has no more, is a removed one. To a caller who does not see all records, one that it does not
    see is removed only where the entries have changed who sees it.
    """

    next_option = "$deltatoken"

    def __init__(self, current: JsonReader, dependencies: Sequence[Dependency], token: DeltaToken) -> None:
        self.current, self.token = current, token
        self.model = current.entity_set.model
        caller = current.request.caller
        sees = caller.sees if caller else None
        self.sight = find_sight_dependencies(current.entity_set, sees)
        self.dependencies = (*dependencies, *(self.sight.others if self.sight else ()))
        #: The keys of the records of which the entries of a page have changed who sees them.
        self.moved: set[object] = set()
        self.computed = current.computed
        self.select_list = f"{current.select_list}/$delta"

    def page(self, size: int) -> DeltaPage:
        """The records of at most ``size`` entries, at most ``size`` of them.

        Entries that an earlier page has begun to show are read again, all of them and no others.
        """
        log, token = get_change_log(), self.token
        assert token.since is not None
        until = token.until or moment_for(self.current.request.caller)
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
            delta_token=DeltaToken(token.query, since=until, sight=token.sight).sign(),
            removed={key: key not in existing for key in self.removed_keys(missing, existing)},
        )

    def removed_keys(self, missing: Sequence[object], existing: set[object]) -> Iterable[object]:
        """The keys of which the caller learns that they are removed."""
        if self.sight is None or not missing:
            return missing
        caller = self.current.request.caller
        assert caller is not None
        visible = self.current.entity_set.visible_to(caller).filter(AnyOf("pk", missing))
        seen = self.moved.union(visible.order_by().values_list("pk", flat=True))
        return [key for key in missing if key in seen or key not in existing]

    def rows_of(self, keys: Iterable[object]) -> Any:
        return self.model._base_manager.filter(AnyOf("pk", keys)).order_by("pk")

    def keys_of(self, entries: Sequence[LoggedChange], size: int) -> list[object]:
        """The keys that the entries concern, in their order behind the token's; one more than ``size``."""
        own = self.model._meta.label_lower
        keys = {self.parse_key(entry.key) for entry in entries if entry.record_type == own}
        if self.sight is not None:
            decisive = (
                entry.key for entry in entries if entry.record_type == own and self.sight.decide(entry)
            )
            self.moved.update(map(self.parse_key, decisive))
        for dependency in self.dependencies:
            concerned = [entry for entry in entries if dependency.concerns(entry)]
            if concerned:
                found = set(self.keys_by(dependency, concerned, size))
                keys |= found
                if self.sight is not None and dependency in self.sight.others:
                    self.moved |= found
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
