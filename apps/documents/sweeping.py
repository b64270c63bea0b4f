"""Removes files that no document speaks of: what is left when a process dies in the middle of an upload."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from apps.documents.keeping import SWEEPS, filed
from apps.documents.storage import documents

#: Files judged and deleted under one lock, for which uploads that are about to end wait.
BATCH = 100


@dataclass(frozen=True, slots=True)
class Swept:
    """Keys of files that had no document, and how many uploads were left unfinished."""

    keys: list[str]
    unfinished: int


def sweep(older_than: dt.timedelta, dry_run: bool = False) -> Swept:
    """Delete files without a document that were written longer ago than that; say which.

    No upload under way loses its row's file, even when ``older_than`` is shorter than the upload takes: who
    files documents looks, under a lock that sweeps respect, whether their files are still there.
    """
    before = timezone.now() - older_than
    swept: list[str] = []
    old = (key for key, written in documents().listing() if written <= before)
    for batch in batches(old):
        suspects = set(batch) - filed(batch)
        if suspects:
            swept += sorted(suspects) if dry_run else delete_unfiled(suspects)
    unfinished = 0 if dry_run else documents().drop_unfinished(before)
    return Swept(swept, unfinished)


@transaction.atomic
def delete_unfiled(suspects: set[str]) -> list[str]:
    """Delete those that are still without a document now that nobody can file one."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SWEEPS])
    orphans = sorted(suspects - filed(suspects))
    for key in orphans:
        documents().delete(key)
    return orphans


def batches(keys: Iterable[str]) -> Iterator[list[str]]:
    left = iter(keys)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch
