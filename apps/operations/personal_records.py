"""The records that belong to a participant, derived from the relations of the models.

A model whose records refer to a contact, or to a record that belongs to one, belongs to that person: a new
model does so by its foreign key alone. ``REFERENCES`` names the relations that only mention somebody.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from graphlib import TopologicalSorter
from operator import and_, or_
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from apps.core.bulk_insert import in_batches
from apps.core.models import Change, normalised
from apps.operations.tables import OperationError
from apps.people.models import Client, Contact

Model = type[models.Model]
#: Records of one person by model, owners before what belongs to them.
RecordSets = dict[Model, models.QuerySet[models.Model]]
#: Their keys.
RecordKeys = dict[Model, list[Any]]

#: A person is a contact, and the client record that stands for them if there is one.
ROOTS: tuple[Model, ...] = (Contact, Client)

#: Relations to a person's record that do not make the referring record theirs, with the reason.
REFERENCES: Mapping[str, str] = {
    "people.Contact.client": "the contact is the person; the client is the organisation they are at",
    "people.Contact.representative": "a representative's participants are persons of their own",
    "people.Client.key_contact": "the record of an organisation",
    "engagements.ClientEngagement.support_coordinator": "the plan is its participant's",
    "engagements.ClientEngagement.person_responsible_for_direct_fees": "the plan is its participant's",
    "engagements.ClientEngagement.plan_manager": "the plan is its participant's",
    "funding.Claim.provider": "the claim is its participant's",
    "funding.ProviderInvoice.provider": "the provider invoice is its participant's",
    "payments.AccountsEntry.move": "what was booked of a payment is the organisation's",
    "payments.AccountsEntry.item": "what was booked of a payment is the organisation's",
    "payments.PaymentRunClaim.item": "what was paid out of a claim is its participant's",
}

#: Relations by which a record without a person of its own belongs to whoever alone refers to it.
ATTACHMENTS = ("funding.Claim.provider_invoice", "funding.ProviderInvoice.document")


@dataclass(frozen=True, slots=True)
class Ownership:
    """How records of a model belong to somebody: by one of these relations."""

    model: Model
    owners: tuple[models.ForeignKey[object, object], ...]
    attachments: tuple[models.ForeignKey[object, object], ...]


def relation(label: str) -> models.ForeignKey[object, object]:
    """The relation of that label: ``funding.Claim.provider_invoice``."""
    model, _, name = label.rpartition(".")
    found = apps.get_model(model)._meta.get_field(name)
    assert isinstance(found, models.ForeignKey)
    return found


@cache
def ownerships() -> tuple[Ownership, ...]:
    """How each model with personal records belongs to somebody, owners first."""
    references = set(map(relation, REFERENCES))
    personal = set(ROOTS)
    possible = {
        model: [
            each
            for each in model._meta.concrete_fields
            if isinstance(each, models.ForeignKey) and each not in references and each.related_model != model
        ]
        for model in apps.get_models(include_auto_created=True)
    }
    while found := {
        model
        for model, relations in possible.items()
        if model not in personal and any(each.related_model in personal for each in relations)
    }:
        personal |= found
    attachments = [relation(label) for label in ATTACHMENTS]
    rows = {
        model: Ownership(
            model,
            owner_relations([each for each in possible[model] if each.related_model in personal]),
            tuple(each for each in attachments if each.related_model is model),
        )
        for model in personal
    }
    graph = {
        model: {each.related_model for each in row.owners} | {each.model for each in row.attachments}
        for model, row in rows.items()
    }
    order = TopologicalSorter(
        {model: sorted(graph[model], key=label_of) for model in sorted(graph, key=label_of)}
    )
    return tuple(rows[model] for model in order.static_order())


def label_of(model: type[models.Model]) -> str:
    label: str = model._meta.label
    return label


def owner_relations(
    relations: list[models.ForeignKey[object, object]],
) -> tuple[models.ForeignKey[object, object], ...]:
    """The relations that decide whose a record is: to the person, else to what it is a part of, else all."""
    direct = [each for each in relations if each.related_model in ROOTS]
    parts = [each for each in relations if each.remote_field.on_delete is models.CASCADE]
    return tuple(direct or parts or relations)


# --- the records of one person --------------------------------------------------------------------------


def find_person(text: str) -> Contact:
    """The contact of that guid, scheme number or unique code.

    Raises ``OperationError`` when there is none, or more than one.
    """
    condition = Q(scheme_number=text) | Q(unique_code_key=normalised(text))
    with suppress(ValidationError):  # what is no guid may be a number
        condition |= Q(pk=Contact._meta.pk.to_python(text))
    found = list(Contact.objects.filter(condition).select_related("client")[:2])
    if not found:
        raise OperationError("No contact has that guid, scheme number or unique code.")
    if len(found) > 1:
        raise OperationError("Several contacts have that number: name one by its guid.")
    if found[0].merged_into_id is not None:
        raise OperationError(f"The contact was merged into {found[0].merged_into_id}: name that one.")
    return found[0]


def find_own_client(person: Contact) -> Client:
    """The client record of a contact, when it can stand for the person: a household, a sole trader.

    Raises ``OperationError`` when there is none, or when it is an organisation of several people.
    """
    client = person.client
    if client is None:
        raise OperationError("The contact has no client record.")
    others = client.contacts.exclude(pk__in=with_duplicates(Contact, person))
    if client.is_self or others.exists():
        raise OperationError(
            f"{client} is an organisation with other contacts, not the record of one person."
        )
    return client


def find_records(person: Contact, client: Client | None = None) -> RecordSets:
    """The records that belong to a person, and to the client record that stands for them if one is given."""
    records: RecordSets = {Contact: with_duplicates(Contact, person)}
    if client is not None:
        records[Client] = with_duplicates(Client, client)
    for row in ownerships():
        conditions = [
            Q((f"{each.name}__in", records[each.related_model]))
            for each in row.owners
            if each.related_model in records
        ]
        conditions += [attachment_condition(row, each, records) for each in row.attachments]
        if row.model not in ROOTS and conditions:
            records[row.model] = row.model._base_manager.filter(reduce(or_, conditions))
    return records


def with_duplicates(model: Model, record: models.Model) -> models.QuerySet[models.Model]:
    """A record, and those that were merged into it as its duplicates, in any number of steps."""
    keys, found = {record.pk}, {record.pk}
    while found:
        found = set(model._base_manager.filter(merged_into__in=found).values_list("pk", flat=True)) - keys
        keys |= found
    return model._base_manager.filter(pk__in=keys)


def attachment_condition(
    row: Ownership, attachment: models.ForeignKey[object, object], records: RecordSets
) -> Q:
    """The condition of records of nobody that these records refer to, and no others."""
    source = attachment.model._base_manager.exclude((attachment.name, None))
    own = Q(pk__in=records[attachment.model].values("pk"))
    to_person = [each for each in row.owners if each.related_model is Contact]
    return reduce(
        and_,
        [Q((each.name, None)) for each in to_person],
        Q(pk__in=source.filter(own).values(attachment.name))
        & ~Q(pk__in=source.exclude(own).values(attachment.name)),
    )


def load_keys(records: RecordSets) -> RecordKeys:
    return {
        model: list(found.order_by("pk").values_list("pk", flat=True)) for model, found in records.items()
    }


@cache
def person_path(model: Model) -> str:
    """The relations from a record to the contact that it belongs to first; empty where there are none."""
    owners = next((row.owners for row in ownerships() if row.model is model), ())
    if model in ROOTS or not owners:
        return ""
    first = min(owners, key=lambda each: each.related_model is not Contact)
    further = person_path(first.related_model)
    if first.related_model is not Contact and not further:
        return ""
    return f"{first.name}__{further}" if further else first.name


def person_names(model: Model, keys: list[object]) -> dict[object, str]:
    """The names of the contacts that records belong to, by the records' keys."""
    path = person_path(model)
    if not path:
        return {}
    return {
        key: f"{first} {last}"
        for batch in in_batches(keys)
        for key, first, last in model._base_manager.filter(pk__in=batch).values_list(
            "pk", f"{path}__first_name", f"{path}__last_name"
        )
        if first is not None
    }


def find_history(keys: RecordKeys) -> list[Change]:
    """The history of these records, and of those that belonged to them and were deleted; the oldest first."""
    found: list[Change] = []
    known: dict[Model, list[str]] = {}
    for row in ownerships():
        if row.model not in keys:
            continue
        history = Change.objects.filter(record_type=row.model._meta.label_lower)
        deleted = [
            change.record_key
            for owner in row.owners
            for batch in in_batches(known.get(owner.related_model, []))
            for change in history.filter(
                (f"differences__{owner.attname}__0__in", batch), kind=Change.Kind.DELETED
            )
        ]
        known[row.model] = list(dict.fromkeys([*map(str, keys[row.model]), *deleted]))
        for batch in in_batches(known[row.model]):
            found += history.filter(record_key__in=batch)
    return sorted(found, key=lambda change: change.pk)


def find_mentions(keys: RecordKeys) -> dict[models.ForeignKey[object, object], int]:
    """How many records of others mention the person, by the relation that does."""
    counts = {}
    for each in map(relation, REFERENCES):
        if each.related_model in keys:
            own = keys.get(each.model, [])
            others = each.model._base_manager.filter((f"{each.name}__in", keys[each.related_model]))
            counts[each] = others.exclude(pk__in=own).count()
    return {each: count for each, count in counts.items() if count}
