"""Checks at start that compare the annotations of draft classes with the declaration, or the model."""

import datetime as dt
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import GenericAlias, NoneType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from django.conf import settings
from django.db import models

from apps.base.declaration.resource import Behaviour, Nesting
from apps.base.declaration.schema import NavigationProperty, StructuredType
from apps.base.drafts import Draft

#: The hint of the system checks that report these mistakes.
HINT = "Correct the annotation; declare as Extra[…] what services work out and no body gives."

#: The types of the values of fields; a subclass has its own before that of its base.
VALUE_TYPES: dict[type[models.Field], type] = {
    models.BooleanField: bool,
    models.CharField: str,
    models.DateField: dt.date,
    models.DateTimeField: dt.datetime,
    models.DecimalField: Decimal,
    models.IntegerField: int,
    models.TextField: str,
    models.UUIDField: UUID,
}


@dataclass(frozen=True, slots=True)
class MemberType:
    """The type of a member. ``may_be_none`` is ``None`` where services fill in what bodies leave out.

    Such a member is annotated as its rules find it: with ``| None`` where they run before the service.
    """

    type: Any
    may_be_none: bool | None = False

    def admits(self, annotation: object) -> bool:
        parts = get_args(annotation) if NoneType in get_args(annotation) else (annotation,)
        is_optional = len(parts) > 1
        is_known = self.type in parts and len(parts) == 1 + is_optional
        return is_known and self.may_be_none in (None, is_optional)

    def __str__(self) -> str:
        return f"{written(self.type)} | None" if self.may_be_none else written(self.type)


def find_mistakes(draft_class: type[Draft], members: Mapping[str, MemberType | None]) -> Iterator[str]:
    """The annotations of a draft class that its members do not have, or have with another type.

    ``members`` has ``None`` for those whose type is not compared.
    """
    hints = get_type_hints(draft_class)
    for name in sorted(hints.keys() - get_type_hints(Draft).keys() - draft_class.extra_attributes):
        owner = next(each for each in draft_class.__mro__ if name in inspect.get_annotations(each))
        file = (inspect.getsourcefile(owner) or "").removeprefix(f"{settings.BASE_DIR}/")
        place = f"{file}: {owner.__name__}.{name}"
        if name not in members:
            yield f"{place} is no member of the declaration or the model that {draft_class.__name__} is for"
            continue
        expected = members[name]
        if expected is not None and not expected.admits(hints[name]):
            yield f"{place} is declared as {written(hints[name])}, and its values are {expected}"


def written(annotation: object) -> str:
    """An annotation as the code has it: ``list[LineDraft]``, ``date | None``."""
    parts = [written(part) for part in get_args(annotation)]
    if get_origin(annotation) is list:
        return f"list[{', '.join(parts)}]"
    name = "None" if annotation is NoneType else getattr(annotation, "__name__", str(annotation))
    return " | ".join(parts) or name


def members_of_type(type_: StructuredType) -> dict[str, MemberType | None]:
    """The members that drafts of a declared type have, by attribute."""
    members: dict[str, MemberType | None] = {}
    for prop in type_.writable_properties:
        is_filled = prop.behaviour is Behaviour.OPTIONAL and not prop.source_field.has_default()
        nullable = None if is_filled and not prop.nullable else prop.nullable
        members[prop.attribute] = type_of_field(prop.source_field, nullable)
    for navigation in type_.writable_navigations:
        if navigation.nesting is Nesting.EMBEDDED:
            members |= members_of_type(navigation.type)
        else:
            members[navigation.attribute] = type_of_navigation(navigation)
    return members


def type_of_navigation(navigation: NavigationProperty) -> MemberType:
    if navigation.nesting is Nesting.CONTAINED:
        return list_of(navigation.type.declaration.draft_class or Draft)
    if navigation.many:
        return list_of(navigation.type.model)
    is_filled = not navigation.declaration.required and not navigation.relation.null
    return MemberType(navigation.type.model, None if is_filled else navigation.relation.null)


def members_of_model(model: type[models.Model]) -> dict[str, MemberType | None]:
    """The members that forms and imports give drafts of a model: its columns and lists."""
    columns = {
        field.name: type_of_field(field, None if not field.null and not field.has_default() else field.null)
        for field in model._meta.concrete_fields
    }
    lists = {field.name: list_of(field.related_model) for field in model._meta.many_to_many}
    return {**columns, **lists}


def type_of_field(field: models.Field, may_be_none: bool | None) -> MemberType | None:
    """``None`` for fields whose values have no one type, such as JSON."""
    if field.related_model is not None:
        return MemberType(field.related_model, may_be_none)
    found = next((VALUE_TYPES[each] for each in type(field).__mro__ if each in VALUE_TYPES), None)
    return None if found is None else MemberType(found, may_be_none)


def list_of(item_type: object) -> MemberType:
    return MemberType(GenericAlias(list, (item_type,)), may_be_none=False)
