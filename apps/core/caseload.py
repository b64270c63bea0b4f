"""Caseloads: the participants that a role or an API application is limited to, and what belongs to them.

Participants are looked after by members of staff, their account managers. Whoever is limited to a caseload
sees the participants whose account manager is in it, and the records of these. Each model says by
``caseload_path`` what its records belong to; a model that says nothing is for those only who see everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from math import isqrt
from typing import Any
from uuid import UUID

from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Func, Q

from apps.base import clock
from apps.base.batched_queries import AnyOf, AnyOfReferred, fetch_all, prepared_query

#: Of an account manager, what decides whose caseload it is in.
MANAGER_COLUMNS = ("location", "teams")
#: Few participants are those whose number, squared, is at most so many times that of all: 2,000 of 200,000.
#: By way of them, a page of their claims takes PostgreSQL 10 to 12 ms, whatever its length; record by record
#: one of 20 takes 5, of 50 (a page of the office) 12, of 200 42. A list that another index narrows to less
#: takes 4 in place of 1.
FEW = 20
#: Keys of locations, of teams, and of staff.
Criteria = tuple[Sequence[object], Sequence[object], Sequence[object]]


@dataclass(frozen=True, slots=True)
class Caseload:
    """The participants of some account managers, whose keys are ``managers``.

    ``criteria`` reads what these are chosen by: their locations, their teams, and themselves.
    """

    managers: tuple[UUID, ...]
    criteria: Callable[[], Criteria]

    def visible(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """The rows that belong to the caseload; all of a model whose records everybody sees."""
        path = caseload_path(rows.model)
        if path is None:
            return rows.filter(pk__isnull=True)
        return rows.filter(self.condition(rows.model, path)) if path else rows

    def condition(self, model: type[models.Model], path: str) -> Func:
        """The condition of ``visible``, by way of the participants where these are few."""
        to_participant, _, manager = path.rpartition("__")
        if not to_participant:
            return AnyOf(manager, self.managers)
        column = get_fields_from_path(model, path)[-1]
        few = are_few(column, self.managers, clock.today())
        return AnyOfReferred(to_participant, column, self.managers, few)

    def path(self, model: type[models.Model]) -> str:
        """The path to the account manager of a record, who must be in the caseload; empty where none is."""
        return caseload_path(model) or ""

    def takes(self, model: type[models.Model], value_of: Callable[[str], Any]) -> bool:
        """True when a new record whose members have these values would belong to the caseload."""
        first, _, rest = self.path(model).partition("__")
        if not first:
            return True
        named, of_caseload = value_of(first), AnyOf(rest or "pk", self.managers)
        return named is not None and type(named)._base_manager.filter(of_caseload, pk=named.pk).exists()

    def sight_columns(self, model: type[models.Model]) -> list[str]:
        """The paths of all columns that decide whether a record is visible."""
        path = self.path(model)
        return [f"{path}__{column}" for column in MANAGER_COLUMNS] if path else []

    def covers(self, model: type[models.Model]) -> bool:
        """True when any records of the model can be visible."""
        return caseload_path(model) is not None

    def takes_changes(self, model: type[models.Model]) -> bool:
        """True when records of the model may be changed from within: not those of staff, who decide it."""
        return self.covers(model) and model is not get_user_model()

    def is_current(self) -> bool:
        """True where the staff who meet the criteria are still the same."""
        [rows] = fetch_all([managers_chosen_by(*self.criteria())])
        return {key for (key,) in rows} == {*self.managers}

    def digest(self) -> str:
        """Eight characters that change with the criteria, and not with the staff who meet them."""
        text = repr([sorted(map(str, each)) for each in self.criteria()])
        return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


@lru_cache(maxsize=128)
def are_few(manager: models.Field, managers: tuple[UUID, ...], day: date) -> bool:
    """True where the managers have so few of the participants that their records are found by these.

    A page in the order of its list reads on until it is full, in inverse proportion to the share of those
    who are seen; by participants, all records of these are read. It decides about time alone, so it is
    counted once a day.
    """
    everybody = manager.model._base_manager.order_by()
    most = isqrt(FEW * everybody.count())
    return everybody.filter(AnyOf(manager.name, managers))[: most + 1].count() <= most


@prepared_query
def managers_chosen_by(locations: Any, teams: Any, staff: Any) -> models.QuerySet[Any, Any]:
    """The keys of the staff at these locations, in these teams, and of these."""
    everybody = get_user_model()._base_manager.order_by()
    in_teams = everybody.filter(AnyOf("teams", teams)).values("pk")
    chosen = Q(AnyOf("location", locations)) | Q(AnyOf("pk", staff)) | Q(pk__in=in_teams)
    return everybody.filter(chosen).values_list("pk")


def caseload_by(locations: Sequence[object], teams: Sequence[object], staff: Sequence[object]) -> Caseload:
    """The participants whose account managers are at these locations, in these teams, or are these."""
    [rows] = fetch_all([managers_chosen_by(locations, teams, staff)])
    return Caseload(tuple(key for (key,) in rows), lambda: (locations, teams, staff))


def caseload_path(model: type[models.Model]) -> str | None:
    """The path to the account manager of the model's records (``TimestampedModel.caseload_path``)."""
    found: str | None = getattr(model, "caseload_path", None)
    return found


def caseload_of(user: object) -> Caseload | None:
    """The participants whom a signed-in person sees; ``None``: all. Nobody else may view anything."""
    found: Caseload | None = getattr(user, "caseload", None)
    return found


def sight_digest(user: object) -> str:
    """The digest of what a signed-in person sees; empty for everything."""
    caseload = caseload_of(user)
    return "" if caseload is None else caseload.digest()


def visible_rows(user: object, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """The rows that a signed-in person sees, of the participants of their caseload."""
    caseload = caseload_of(user)
    return rows if caseload is None else caseload.visible(rows)


def is_visible(user: object, record: models.Model) -> bool:
    """True when a signed-in person sees the record."""
    caseload = caseload_of(user)
    if caseload is None:
        return True
    return caseload.visible(type(record)._base_manager.filter(pk=record.pk)).exists()
