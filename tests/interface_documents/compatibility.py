"""Limits for changes of $metadata while clients of a released version are served (docs/compatibility.md)."""

from collections.abc import Iterator
from typing import Any

#: Texts for people, which promise nothing.
_TEXTS = ("Description", "LongDescription")
#: Limits of values, which may only become wider.
_UPPER_LIMITS = ("$MaxLength", "$Precision", "$Scale", "Maximum")
#: Lists that say what is not possible, or has to be sent; all others list what is possible.
_RESTRICTIONS = ("RequiredProperties", "NonInsertableProperties", "NonExpandableProperties")
#: What changes a member that did not have it: its values, or what a body may hold.
_CONSTRAINTS = ("$Nullable", "$Collection", "$ContainsTarget", "Computed", "AllowedValues")


def find_breaking_changes(released: Any, current: Any, path: str = "") -> Iterator[str]:
    """A sentence for each change between two CSDL JSON documents that a client of the first can fail on."""
    for name in sorted({*released, *current}):
        where = f"{path}/{name}" if path else name
        yield from compare_member(where, name.rpartition(".")[2], released.get(name), current.get(name))


def compare_member(where: str, term: str, before: Any, now: Any) -> Iterator[str]:
    """The breaking changes of one member of the documents; ``None`` is a member that is left out."""
    if before == now or term in _TEXTS:
        return
    if term in _UPPER_LIMITS:
        if now is not None and (before is None or now < before):
            yield f"{where} was {before or 'unlimited'} and is {now}"
    elif term == "Minimum":
        if now is not None and (before is None or now > before):
            yield f"{where} was {'unlimited' if before is None else before} and is {now}"
    elif term in _RESTRICTIONS:
        yield from (f"{where} has {item} now" for item in now or () if item not in (before or ()))
    elif before is None:
        if term in _CONSTRAINTS:
            yield f"{where} is {now} now"
    elif now is None:
        if term != "Computed":
            yield f"{where} is gone"
    elif isinstance(before, dict) and isinstance(now, dict):
        yield from find_breaking_changes(before, now, where)
    elif isinstance(before, list) and isinstance(now, list):
        if term == "RestrictedProperties":
            yield from find_breaking_changes(by_property(before), by_property(now), where)
        else:
            yield from (f"{where} has no {item} any more" for item in before if item not in now)
    elif before is not False and before != "None":  # what was not possible may become possible
        yield f"{where} was {before} and is {now}"


def by_property(restrictions: list[dict[str, Any]]) -> dict[str, object]:
    """The restrictions of navigation properties by the names of these."""
    return {restriction["NavigationProperty"]: restriction for restriction in restrictions}
