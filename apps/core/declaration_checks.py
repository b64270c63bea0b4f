"""System checks that name what was left out of a new column or a new record: a member, a form, a page."""

from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.core.checks import CheckMessage, Error
from django.db import models

from apps.base.declaration.resource import V2_1
from apps.base.declaration.schema import DeclarationError, EntitySet, StructuredType
from apps.base.declaration.service import get_service
from apps.core.domains import source_file
from apps.core.file_import_kinds import FILE_KINDS
from apps.core.models import Lookup


def check_declarations(**options: object) -> list[CheckMessage]:
    """Columns without a member, short lists without a resource, resources without a page, permissions."""
    try:
        declared = get_service(V2_1).by_model
    except DeclarationError:
        return []  # the check of the protocol names it
    return [
        *(error for entity_set in declared.values() for error in find_undeclared_columns(entity_set)),
        *(
            Error(
                f"{model.__name__} is a short list without a resource.",
                hint=f"Declare a LookupResource of it in {file_of(model, 'resources')}.",
                obj=model,
                id="core.E003",
            )
            for app in apps.get_app_configs()
            if app.name in settings.DOMAIN_APPS
            for model in app.get_models()
            if issubclass(model, Lookup) and model not in declared
        ),
        *(
            Error(
                f"{model.__name__} has no page in the back office.",
                hint=f"Register a RecordAdmin or LookupAdmin for it in {file_of(model, 'admin')}.",
                obj=model,
                id="core.E004",
            )
            for model in declared
            if not admin.site.is_registered(model)
        ),
        *(error for model in declared for error in find_lists_without_purpose(model)),
        *find_unknown_permissions(),
    ]


def find_lists_without_purpose(model: type[models.Model]) -> Iterator[CheckMessage]:
    page = admin.site._registry.get(model)
    if page is not None and not getattr(page, "purpose", ""):
        yield Error(
            f"{type(page).__name__} does not say what its list is for, which people read while it is empty.",
            hint=f"Give it a purpose in {source_file(type(page))}.",
            obj=type(page),
            id="core.E025",
        )


def find_unknown_permissions() -> Iterator[CheckMessage]:
    """The permissions of kinds of files and of responsibilities that no role can be given."""
    named = [(f"The file kind {kind.name}", name) for kind in FILE_KINDS for name in kind.permissions]
    named += [
        (f"{model.__name__}.{each.column}", each.permission)
        for model in apps.get_models()
        for each in getattr(model, "responsibilities", ())
        if each.permission
    ]
    known = {
        f"{model._meta.app_label}.{codename}"
        for model in apps.get_models()
        for codename in (
            *(get_permission_codename(name, model._meta) for name in model._meta.default_permissions),
            *(codename for codename, _ in model._meta.permissions),
        )
    }
    for subject, permission in named:
        if permission not in known:
            yield Error(
                f"{subject} asks for {permission}, a permission that there is not.",
                hint="It is written app.codename, and stands in the permissions of a model.",
                id="core.E026",
            )


def find_undeclared_columns(entity_set: EntitySet) -> Iterator[CheckMessage]:
    """The columns that forms have and the resource neither declares nor names as unpublished."""
    resource = type(entity_set.resource)
    file = source_file(resource)
    known = {*columns_of(entity_set.type), *resource.unpublished}
    for column in editable_columns(entity_set.model):
        if column.name not in known:
            yield Error(
                f"{resource.__name__} has no member for {entity_set.model.__name__}.{column.name}.",
                hint=f"Declare it in {file}, or name it in unpublished there.",
                obj=resource,
                id="core.E012",
            )


def columns_of(type_: StructuredType) -> Iterator[str]:
    """The columns of the record that its members show or lead through."""
    for prop in type_.properties.values():
        yield prop.path.split("__")[0]
    for navigation in type_.navigations.values():
        if navigation.path:
            yield navigation.path.split("__")[0]
        else:
            yield from columns_of(navigation.type)  # an object without a table of its own


def editable_columns(model: type[models.Model]) -> list[models.Field]:
    """The columns that people enter in a form; not the key."""
    columns = (*model._meta.concrete_fields, *model._meta.many_to_many)
    return [column for column in columns if column.editable and not column.primary_key]


def file_of(model: type[models.Model], module: str) -> str:
    return f"apps/{model._meta.app_label}/{module}"
