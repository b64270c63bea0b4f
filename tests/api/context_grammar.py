"""Context URLs derived by the ``context`` rule of the OData ABNF, with the names of the service's types."""

import re
from dataclasses import dataclass, field

from apps.base.declaration.service import get_service

_NAME = re.compile(r"[^\W\d]\w*")


@dataclass
class SelectList:
    """The items of a select list: properties, complex properties and expanded navigation properties.

    ``items`` maps a name to the list inside it; ``None`` stands for a value, a whole complex property, or a
    navigation property that is not expanded.
    """

    items: dict = field(default_factory=dict)
    has_properties: bool = False


def derived(context):
    """The (entity set, select list) of a fragment behind ``$metadata#``; an error outside the rule."""
    context = context.removesuffix("/$entity").removesuffix("/$delta")
    match = _NAME.match(context)
    entity_set = next(each for each in get_service().entity_sets if each.name == match[0])
    chosen, end = select_list(context, match.end(), entity_set.type)
    assert end == len(context), context[end:]
    return entity_set, chosen


def select_list(text, start, type_):
    """``"(" [ selectListItem *( "," selectListItem ) ] ")"``, or nothing; and where it ends."""
    chosen = SelectList()
    if text[start : start + 1] != "(":
        return chosen, start
    if text[start + 1] == ")":
        return chosen, start + 2
    while text[start] != ")":
        start = select_list_item(text, start + 1, type_, chosen)
        assert text[start] in ",)", text[start:]
    return chosen, start + 1


def select_list_item(text, start, type_, chosen):
    """A property, ``complexProperty ["/" selectListProperty]``, or ``navigationProperty [selectList]``.

    ``*`` stands for all properties; computed values are properties that the type does not declare.
    """
    if text[start] == "*":
        chosen.items |= dict.fromkeys(type_.readable_properties)
        chosen.has_properties = True
        return start + 1
    match = _NAME.match(text, start)
    name, end = match[0], match.end()
    if name in type_.readable_properties:
        chosen.items[name], chosen.has_properties = None, True
        return end
    navigation = type_.members.get(name)
    if navigation is None:
        assert name.startswith("Computed")
        chosen.items[name], chosen.has_properties = None, True
        return end
    if navigation.is_complex:
        chosen.has_properties = True
        if text[end] != "/":
            chosen.items[name] = None
            return end
        inside = chosen.items.setdefault(name, SelectList())
        return select_list_item(text, end + 1, navigation.type, inside)
    is_expanded = text[end] == "("
    inside, end = select_list(text, end, navigation.type)
    chosen.items[name] = inside if is_expanded else None
    return end


def assert_agrees(value, chosen, type_):
    """An object has the members that its select list says, without one all its structural properties.

    What lies inside an expanded object is shown with it, and a list of it names only what was asked for.
    """
    if value is None:
        return
    for each in value if isinstance(value, list) else [value]:
        shown = {name for name in each if "@" not in name}
        parts = {**type_.navigations, **type_.set_navigations}
        navigations = {name for name, part in parts.items() if not part.is_complex}
        if chosen.has_properties:
            expected = {name for name, inside in chosen.items.items() if inside or name not in navigations}
        else:
            complex_names = parts.keys() - navigations
            expected = {*type_.readable_properties, *complex_names, *chosen.items}
        assert shown - navigations == expected - navigations
        assert shown >= expected
        for name, inside in chosen.items.items():
            if inside is not None:
                assert_agrees(each[name], inside, parts[name].type)
