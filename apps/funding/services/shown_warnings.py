"""The warnings that whoever approves claims or invoices is shown: in the back office and by the command."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from apps.base.batched_queries import AnyOf
from apps.funding.models import AcknowledgedWarning
from apps.funding.services.update import find_warnings_since
from apps.funding.validation.guards import AnyBill
from apps.funding.validation.warning_codes import ShownWarning


def find_acknowledged_warnings(
    model: type[AnyBill], keys: Sequence[UUID]
) -> defaultdict[UUID, list[ShownWarning]]:
    """The warnings that bills were saved with, by the keys of those that have any."""
    bill = str(model._meta.model_name)
    found: defaultdict[UUID, list[ShownWarning]] = defaultdict(list)
    rows = AcknowledgedWarning.objects.filter(AnyOf(bill, keys))
    for key, *columns in rows.values_list(f"{bill}_id", "code", "place", "message"):
        found[key].append(ShownWarning(*columns))
    return found


def find_shown_warnings(model: type[AnyBill], keys: Sequence[UUID]) -> defaultdict[UUID, list[ShownWarning]]:
    """The warnings that bills were saved with, then those that are new since; of the bills that have any."""
    found = find_acknowledged_warnings(model, keys)
    for key, since in find_warnings_since(model, keys).items():
        found[key] += [ShownWarning(each.code, each.place, each.message, is_new=True) for each in since]
    return found
