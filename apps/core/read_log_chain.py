"""The chain of the read log: the hash of each entry covers that of the entry before it.

Whoever changes, removes or adds an entry breaks the chain there. It has two ends in a row of their own: what
the first entry that is still kept follows, and the hash of the last one. The row is locked while entries are
added, for a few milliseconds once a second in each worker: so the entries of all workers are one chain.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction

from apps.base import clock
from apps.core.bulk_insert import bulk_insert
from apps.core.models import PersonalDataRead, ReadLogChain

#: What the first of all entries follows.
NOTHING = "0" * 64
#: Workers of the version before, which knows no chain, may add entries for so long after the first link.
UPGRADE_TIME = dt.timedelta(days=1)
#: Entries that are read or deleted at a time; each may have 80 KB of keys.
BATCH = 500
#: Records that a line names; of more it has their number and the hash of their keys.
NAMED_KEYS = 40

#: The columns of an entry in the order in which they are hashed.
COLUMNS = (
    *("at", "staff_id", "application", "channel", "request_id", "kind", "record_type"),
    *("record_count", "record_keys", "query"),
)


def hashed_text(previous: str, values: Sequence[Any]) -> str:
    """The JSON that the hash of an entry is made of; ``values`` are those of ``COLUMNS``."""
    entry = dict(zip(COLUMNS, values, strict=True))
    entry["at"] = entry["at"].astimezone(dt.UTC).isoformat(timespec="microseconds")
    entry["staff_id"] = None if entry["staff_id"] is None else str(entry["staff_id"])
    entry["record_keys"] = hashlib.sha256(entry["record_keys"]).hexdigest()
    return json.dumps({"previous": previous, **entry}, separators=(",", ":"))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def append(entries: Sequence[Sequence[Any]]) -> list[str]:
    """Store entries, the values of ``COLUMNS`` each, behind the last one; a line of JSON for each."""
    chain = locked_chain()
    rows, lines = [], []
    for entry in entries:
        text = hashed_text(chain.head, entry)
        chain.head = hash_of(text)
        rows.append((*entry, chain.head))
        lines.append(line_of(text, chain.head, bytes(entry[COLUMNS.index("record_keys")])))
    bulk_insert(PersonalDataRead, (*COLUMNS, "hash"), rows)
    chain.save(update_fields=["head"])
    return lines


def line_of(text: str, hash_: str, keys: bytes) -> str:
    """An entry as it is sent elsewhere: what was hashed, the hash, and the keys of a few records."""
    named = [keys[start : start + 16].hex() for start in range(0, len(keys), 16)]
    more = {"hash": hash_, "keys": named} if len(named) <= NAMED_KEYS else {"hash": hash_}
    return f"{text[:-1]},{json.dumps(more, separators=(',', ':'))[1:]}"


def locked_chain() -> ReadLogChain:
    """The ends of the chain, which nobody else moves before we commit."""
    ends = {"start": NOTHING, "head": NOTHING, "started_at": clock.now()}
    ReadLogChain.objects.get_or_create(pk=1, defaults=ends)
    return ReadLogChain.objects.select_for_update().get(pk=1)


def delete_entries_before(moment: dt.datetime) -> int:
    """Delete old entries; the first that is kept follows the last one deleted, as before."""
    total = 0
    while deleted := delete_batch_before(moment):
        total += deleted
    return total


@transaction.atomic
def delete_batch_before(moment: dt.datetime) -> int:
    chain = locked_chain()
    # In the order of the chain, in which workers write entries up to a second late.
    oldest = list(PersonalDataRead.objects.order_by("pk").values_list("pk", "at", "hash")[:BATCH])
    expired = []
    for key, at, hash_ in oldest:
        if at >= moment:
            break
        expired.append(key)
        chain.start = hash_ or chain.start
    chain.save(update_fields=["start"])
    return PersonalDataRead.objects.filter(pk__in=expired).delete()[0]


def find_break() -> str | None:
    """The fault of the first entry that does not continue the chain; ``None`` when all do."""
    while True:
        start = chain_ends()
        found = find_break_behind(start)
        if found is None or start == chain_ends():
            return found
        # Old entries were deleted meanwhile, so that the first one was another: read again.


def chain_ends() -> tuple[str, dt.datetime | None]:
    """The hash that the first entry follows, and when the chain began."""
    chain = ReadLogChain.objects.filter(pk=1).first()
    return (chain.start, chain.started_at) if chain else (NOTHING, None)


def find_break_behind(start: tuple[str, dt.datetime | None]) -> str | None:
    (previous, started_at), last = start, 0
    while True:
        before = last
        for key, hash_, values in entries_behind(last):
            last, at = key, values[0].astimezone(dt.UTC)
            if not hash_ and (started_at is None or at < started_at + UPGRADE_TIME):
                continue
            if not hash_:
                return f"entry {key} of {at:%Y-%m-%d %H:%M} UTC was added by something else than the service"
            if hash_of(hashed_text(previous, values)) != hash_:
                return f"entry {key} of {at:%Y-%m-%d %H:%M} UTC was changed, or entries before it are missing"
            previous = hash_
        if previous == (head_of_chain() or NOTHING):
            return None
        if last == before:  # no entry was added between the two looks
            return f"the entries after {last} are missing"


def entries_behind(last: int) -> Iterator[tuple[int, str, Sequence[Any]]]:
    """The number, the hash and the values of each later entry, few of which are in memory at a time."""
    rows = PersonalDataRead.objects.order_by("pk").values_list("pk", "hash", *COLUMNS)
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        for key, hash_, *values in batch:
            yield key, hash_, values
        last = batch[-1][0]


def head_of_chain() -> str | None:
    """The hash of the last entry, to be noted where nobody who can write to this database can."""
    return ReadLogChain.objects.filter(pk=1).values_list("head", flat=True).first()
