"""The history of all records, and the log of reads of personal data."""

from django.conf import settings
from django.db import models


class CurrentTransaction(models.Func):
    """The number of the transaction that inserts a row; null on SQLite, whose writers follow each other."""

    template = "NULL"
    output_field = models.BigIntegerField(null=True)

    def as_postgresql(self, compiler: object, connection: object, **_: object) -> tuple[str, list[object]]:
        return "pg_current_xact_id()::text::bigint", []


class LogEntry(models.Model):
    """Who did something with records of a model, when, and through which channel; never changed."""

    class Channel(models.TextChoices):
        API = "API"
        BACK_OFFICE = "Back office"
        IMPORT = "Import"
        COMMAND = "Command"

    at = models.DateTimeField("time", db_index=True)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.DO_NOTHING,  # an entry is never changed
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    application = models.CharField(
        max_length=150, null=True, help_text="The API application's name, kept when it is deleted"
    )
    channel = models.CharField(max_length=12, choices=Channel)
    request_id = models.CharField(max_length=36, null=True)
    record_type = models.CharField(max_length=60, help_text="The model's label, for example people.client")

    #: Set by the list of entries in the back office (``AuditAdmin.display_lines``).
    display_line: object = None

    class Meta:
        abstract = True
        ordering = ("-id",)
        default_permissions = ("view",)


class Change(LogEntry):
    """One entry of the history: what was done to which record."""

    class Kind(models.TextChoices):
        CREATED = "Created"
        CHANGED = "Changed"
        ARCHIVED = "Archived"
        RESTORED = "Restored"
        DELETED = "Deleted"
        EXPORTED = "Exported"
        ERASED = "Erased"

    record_key = models.CharField(max_length=36)
    kind = models.CharField("change", max_length=10, choices=Kind)
    differences = models.JSONField(null=True, help_text="{column: [before, after]}")
    transaction = models.BigIntegerField(null=True, editable=False, db_default=CurrentTransaction())

    class Meta(LogEntry.Meta):
        indexes = (
            models.Index(fields=["record_type", "record_key", "id"], name="core_change_of_record"),
            # Most changes of a large installation are an application's, which this index leaves out.
            models.Index(
                fields=["staff", "id"], condition=models.Q(staff__isnull=False), name="core_change_by_staff"
            ),
            # Entries from before the column, and those of SQLite, have none.
            models.Index(
                fields=["transaction", "id"],
                condition=models.Q(transaction__isnull=False),
                name="core_change_by_transaction",
            ),
            # A search for the name of a deleted record reads these alone.
            models.Index(fields=["id"], condition=models.Q(kind="Deleted"), name="core_change_deletions"),
        )
        verbose_name = "change"

    def __str__(self) -> str:
        return f"{self.kind} {self.record_type} {self.record_key}"


class PersonalDataRead(LogEntry):
    """One entry of the read log: who read which records."""

    class Kind(models.TextChoices):
        RECORD = "Record"
        LIST = "List"
        EXPORT = "Export"
        DOWNLOAD = "Download"
        COUNT = "Count"
        SEARCH = "Search"
        HISTORY = "History"
        REFUSAL = "Refusal"

    kind = models.CharField(max_length=8, choices=Kind)
    record_count = models.PositiveIntegerField("records")
    record_keys = models.BinaryField(
        help_text="16 bytes for each record; none of a read of more than 5,000 records"
    )
    query = models.CharField(max_length=500, help_text="The query with ? for each value")
    hash = models.CharField(
        max_length=64,
        default="",
        db_default="",
        editable=False,
        help_text="Of this entry and the one before it (core.read_log_chain); empty in those of before",
    )

    class Meta(LogEntry.Meta):
        indexes = (
            models.Index(
                fields=["staff", "at"], condition=models.Q(staff__isnull=False), name="core_read_by_staff"
            ),
        )
        verbose_name = "read of personal data"
        verbose_name_plural = "reads of personal data"

    def __str__(self) -> str:
        return f"{self.kind} {self.record_type}"


class ReadLogChain(models.Model):
    """The ends of the read log's chain of hashes, in one row: ``start`` is what the first entry follows."""

    start = models.CharField(max_length=64)
    head = models.CharField(max_length=64)
    started_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.head
