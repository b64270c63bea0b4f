"""Documents and their categories (interface.md 2.6, 4.5)."""

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import Exact

from apps.core.models import Lookup, Record, Searched, optional_reference
from apps.people.models import Client, Contact, Staff

#: Hexadecimal digits of a SHA-256.
SHA256_DIGITS = 64
#: The path of an imported file in its folder; a separator and the hash follow it.
MAX_PATH_LENGTH = 400


class DocumentCategory(Lookup, Record):
    """A category of documents."""

    class Meta(Record.Meta):
        ordering = ("name",)
        verbose_name = "document category"
        verbose_name_plural = "document categories"


class Document(Record):
    """An uploaded file with a name of its own.

    The bytes are in the storage under ``storage_key``, which has no part of a caller's name in it.
    ``file_name`` is the file's name at its origin. Bytes never change: another version is another document.
    """

    caseload_path = "contact__account_manager"

    searched = Searched(
        texts=("name", "file_name"),
        in_lists=("client__business_name", "sha256"),
        without_index="lists find them by their organisation too, and no index serves columns of two tables",
    )

    name = models.CharField(max_length=256)
    client = optional_reference(Client, "organisation", related_name="documents")
    contact = optional_reference(Contact, "participant", related_name="documents")
    category = models.ForeignKey(DocumentCategory, on_delete=models.PROTECT, related_name="documents")
    created_by = models.ForeignKey(
        Staff, on_delete=models.PROTECT, related_name="documents", verbose_name="added by", editable=False
    )
    file_name = models.CharField("file", max_length=255, editable=False)
    media_type = models.CharField("type", max_length=120, editable=False)
    size = models.BigIntegerField(editable=False, help_text="In bytes.")
    sha256 = models.CharField("SHA-256", max_length=SHA256_DIGITS, editable=False)
    storage_key = models.CharField(max_length=100, unique=True, editable=False)
    import_source = models.CharField(
        max_length=MAX_PATH_LENGTH + 1 + SHA256_DIGITS,
        null=True,
        editable=False,
        db_index=True,
        help_text="The file's path in the folder it was imported from, and its hash.",
    )

    class Meta(Record.Meta):
        ordering = ("-creation_date", "-guid")
        indexes = (
            models.Index(fields=["creation_date", "guid"], name="documents_newest"),
            models.Index(fields=["client", "creation_date"], name="documents_of_client"),
        )
        constraints = (
            models.CheckConstraint(condition=~models.Q(name=""), name="documents_name_not_empty"),
            models.CheckConstraint(condition=~models.Q(file_name=""), name="documents_file_name_not_empty"),
            models.CheckConstraint(condition=models.Q(size__gt=0), name="documents_file_not_empty"),
            models.CheckConstraint(
                condition=Exact(Length("sha256"), SHA256_DIGITS), name="documents_sha256_whole"
            ),
        )

    def __str__(self) -> str:
        return self.name
