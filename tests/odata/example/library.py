"""A library's books, served by the protocol alone: the model, its declaration, its service, its address."""

import uuid

from django.db import models

from apps.base.declaration.resource import GET, POST, Key, Optional, Required, UnrestrictedResource
from apps.base.declaration.service import Service
from apps.base.drafts import Issue, apply_rules, raise_if_invalid
from apps.odata.http.router import ODataRouter, service_urls


class Book(models.Model):
    guid = models.UUIDField(primary_key=True, default=uuid.uuid4)
    title = models.CharField(max_length=200)
    pages = models.IntegerField(null=True)

    class Meta:
        app_label = "example"

    def __str__(self):
        return self.title


def pages_are_counted(draft):
    if draft.pages is not None and draft.pages < 1:
        yield Issue("OutOfRange", "pages", "A book has a page at least.")


def create_books(drafts):
    raise_if_invalid(drafts, apply_rules(drafts, [pages_are_counted]))
    books = [Book(title=draft.title, pages=draft.pages) for draft in drafts]
    return [book.pk for book in Book.objects.bulk_create(books)]


class BookResource(UnrestrictedResource):
    model, path, methods, create = Book, "book", (GET, POST), create_books
    order, etag_field = ("title",), None
    fields = Key("BookId", source="guid"), Required("Title"), Optional("Pages")


router = ODataRouter()
router.register_resources(BookResource)
service = Service(*router.resources, namespace="Library")
urlpatterns = service_urls("api/", router)
