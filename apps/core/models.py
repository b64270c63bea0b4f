"""What every record has: its key, its time stamps, its history; and the organisation's settings."""

from __future__ import annotations

import os
import time
import unicodedata
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction

from apps.core import history
from apps.odata import clock


def optional_text(label: str | None = None, length: int = 90, **options: Any) -> models.CharField:
    """An optional text: null when not given, never empty."""
    return models.CharField(label, max_length=length, null=True, blank=True, **options)


def normalised(text: str | None) -> str | None:
    """The form in which unique texts are compared: composed, trimmed, without regard to case.

    ``"  Café Pty Ltd"`` and ``"CAFE\\u0301 pty ltd"`` are one name. Empty texts are no text.
    """
    if text is None:
        return None
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold()) or None


class NormalisedField(models.CharField):
    """A hidden column with the normalised form of a text, by which texts are compared (``normalised``).

    ``of`` names the text's field. One character may become three, so its length is three times the text's.
    """

    normalise = staticmethod(normalised)

    def __init__(self, of: str = "", **options: Any) -> None:
        self.text_field = of
        options = {"editable": False, "null": True, "max_length": 270, **options}
        super().__init__(**options)

    def db_type(self, connection: Any) -> str | None:
        # By its long name PostgreSQL's type is the same, but Django makes no second index for LIKE beside
        # the unique one: normalised texts are only ever compared for equality.
        kind = super().db_type(connection)
        return kind and kind.replace("varchar", "character varying")

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        options.pop("editable", None)
        return name, path, args, {**options, "of": self.text_field}

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = normalised(getattr(model_instance, self.text_field))
        setattr(model_instance, self.attname, value)
        return value


@dataclass(frozen=True, slots=True)
class Responsibility:
    """A reference to whoever looks after a record, of those that are open; others to staff are facts.

    ``permission``: what that member of staff needs.
    """

    column: str
    open: models.Q = field(default_factory=models.Q)
    permission: str = ""


class TimestampedModel(models.Model):
    """A record with its three time stamps, whose every change is written to the history."""

    creation_date = models.DateTimeField("created", default=clock.now, editable=False)
    modify_date = models.DateTimeField("modified", default=clock.now, editable=False)
    archive_date = models.DateTimeField("archived", null=True, blank=True, editable=False)

    #: Columns whose values the history never shows, only that they changed.
    secret_columns: ClassVar[frozenset[str]] = frozenset()
    #: Columns whose change is no change of the record (a login's time).
    unrecorded_columns: ClassVar[frozenset[str]] = frozenset()
    #: Whether the records are about people, so that reading them is logged (``core.read_log``).
    has_personal_data: ClassVar[bool] = True
    #: What is handed over when somebody leaves.
    responsibilities: ClassVar[Sequence[Responsibility]] = ()
    #: Columns that an existing record keeps, and those that it keeps once a relation has records.
    fixed_columns: ClassVar[Sequence[str]] = ()
    columns_fixed_by: ClassVar[Mapping[str, Sequence[str]]] = {}

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Store the record and, in the same transaction, what changed and who changed it."""
        adding = self._state.adding
        if not adding and history.differences(self):
            self.modify_date = clock.now()
            if options.get("update_fields") is not None:
                options["update_fields"] = {*options["update_fields"], "modify_date"}
        with transaction.atomic(using=options.get("using")):
            super().save(*args, **options)
            history.record_save(self, adding)
        self._stored = history.loaded_values(self)

    def delete(self, *args: Any, **options: Any) -> Any:
        with transaction.atomic():
            history.record_delete(self)
            return super().delete(*args, **options)

    @classmethod
    def from_db(cls, db: str | None, field_names: Any, values: Any) -> Any:
        record = super().from_db(db, field_names, values)
        record._stored = {name: record.__dict__.get(name) for name in field_names}
        return record

    def refresh_from_db(self, *args: Any, **options: Any) -> None:
        super().refresh_from_db(*args, **options)
        self._stored = history.loaded_values(self)

    @property
    def is_archived(self) -> bool:
        return self.archive_date is not None

    def unchangeable_columns(self) -> list[str]:
        """The columns that this record keeps from now on."""
        relations = [name for name in self.columns_fixed_by if getattr(self, name).exists()]
        return [*self.fixed_columns, *(name for each in relations for name in self.columns_fixed_by[each])]


_REPEATABLE: ContextVar[Random | None] = ContextVar("repeatable_guids", default=None)


def new_guid() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then 74 random bits.

    Rows of one time are neighbours in the key's index, which random keys would scatter.
    """
    chance = _REPEATABLE.get()
    if chance is None:
        milliseconds, bits = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10))
    else:
        milliseconds, bits = int(clock.now().timestamp() * 1000), chance.getrandbits(80)
    value = (milliseconds & (1 << 48) - 1) << 80 | bits
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


@contextmanager
def repeatable_guids(chance: Random | None) -> Iterator[None]:
    """Within the block, new guids are made of ``clock.now()`` and this chance: demo data repeats its own.

    Without a chance they are random within the block.
    """
    token = _REPEATABLE.set(chance)
    try:
        yield
    finally:
        _REPEATABLE.reset(token)


class Record(TimestampedModel):
    """A record known by its guid."""

    guid = models.UUIDField("identifier", primary_key=True, default=new_guid, editable=False)

    class Meta:
        abstract = True


class Lookup(models.Model):
    """The name of an entry in a short list that other records refer to; unique in its normalised form."""

    #: Archived, it cannot be chosen for new records (decisions.md 6).
    is_lookup: ClassVar[bool] = True
    has_personal_data: ClassVar[bool] = False

    name = models.CharField(max_length=90)
    name_key = NormalisedField(of="name", unique=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class CurrentTransaction(models.Func):
    """The number of the transaction that inserts a row; null on SQLite, whose writers follow each other."""

    template = "NULL"
    output_field = models.BigIntegerField(null=True)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        return "pg_current_xact_id()::text::bigint", []


class Change(models.Model):
    """One entry of the history: who did what to which record, when, and through which channel."""

    class Kind(models.TextChoices):
        CREATED = "Created"
        CHANGED = "Changed"
        ARCHIVED = "Archived"
        RESTORED = "Restored"
        DELETED = "Deleted"
        EXPORTED = "Exported"
        ERASED = "Erased"

    class Channel(models.TextChoices):
        API = "API"
        BACK_OFFICE = "Back office"
        IMPORT = "Import"
        COMMAND = "Command"

    at = models.DateTimeField(db_index=True)
    record_type = models.CharField(max_length=60, help_text="The model's label, for example people.client")
    record_key = models.CharField(max_length=36)
    kind = models.CharField(max_length=10, choices=Kind)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    application = models.CharField(
        max_length=150, null=True, help_text="The API application's name, kept when it is deleted"
    )
    channel = models.CharField(max_length=12, choices=Channel)
    request_id = models.CharField(max_length=36, null=True)
    differences = models.JSONField(null=True, help_text="{column: [before, after]}")
    transaction = models.BigIntegerField(null=True, editable=False, db_default=CurrentTransaction())

    #: Set by the list of changes in the back office: a ``history_display.HistoryLine``.
    display_line: Any = None

    class Meta:
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
        )
        ordering = ("-id",)
        verbose_name = "change"
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.kind} {self.record_type} {self.record_key}"


class PersonalDataRead(models.Model):
    """One entry of the read log: who read which records, when, and through which channel; never changed."""

    class Kind(models.TextChoices):
        RECORD = "Record"
        LIST = "List"
        EXPORT = "Export"
        DOWNLOAD = "Download"

    at = models.DateTimeField("time", db_index=True)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    application = models.CharField(
        max_length=150, null=True, help_text="The API application's name, kept when it is deleted"
    )
    channel = models.CharField(max_length=12, choices=Change.Channel)
    request_id = models.CharField(max_length=36, null=True)
    kind = models.CharField(max_length=8, choices=Kind)
    record_type = models.CharField(max_length=60, help_text="The model's label, for example people.client")
    record_count = models.PositiveIntegerField("records")
    record_keys = models.BinaryField(
        help_text="16 bytes for each record; none of a read of more than 5,000 records"
    )
    query = models.CharField(max_length=500, help_text="The query with ? for each value")

    #: Set by their list in the back office.
    display_line: Any = None

    class Meta:
        indexes = (
            models.Index(
                fields=["staff", "at"], condition=models.Q(staff__isnull=False), name="core_read_by_staff"
            ),
        )
        ordering = ("-id",)
        verbose_name = "read of personal data"
        verbose_name_plural = "reads of personal data"
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.kind} {self.record_type}"


class ListChoice(models.Model):
    """What a person chose for a list of the back office; ``record_type`` is its model's label."""

    staff = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    record_type = models.CharField(max_length=60)

    class Meta:
        abstract = True
        default_permissions: ClassVar[tuple[str, ...]] = ()


class SavedFilter(ListChoice):
    """The filters of a list under a name, for the person or for their teams."""

    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000, blank=True, help_text="As in the address of the list")
    is_shared = models.BooleanField("shared with my teams", default=False)
    is_default = models.BooleanField(default=False, help_text="The person's list is opened with them")

    class Meta(ListChoice.Meta):
        ordering = ("name", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=["staff", "record_type", "name"],
                name="core_one_saved_filter_of_a_name",
                violation_error_message="You have saved filters of this list under this name already.",
            ),
            models.UniqueConstraint(
                fields=["staff", "record_type"],
                condition=models.Q(is_default=True),
                name="core_one_default_filter_of_a_list",
            ),
        )

    def __str__(self) -> str:
        return self.name


class ChosenColumns(ListChoice):
    """The columns that a person chose for a list."""

    columns = models.JSONField(help_text="Their names, in order")

    class Meta(ListChoice.Meta):
        constraints = (
            models.UniqueConstraint(fields=["staff", "record_type"], name="core_columns_of_a_list"),
        )

    def __str__(self) -> str:
        return f"Columns of {self.record_type}"


class Consent(models.TextChoices):
    """Whether somebody agreed to be written to."""

    YES = "Yes"
    NO = "No"
    UNSUBSCRIBED = "Unsubscribed"


def check_time_zone(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(f"{name} is not a time zone; Australia/Sydney would be one.")


#: Of running numbers; with their prefix they fit into the 47 characters that a number may have.
DIGITS = (MinValueValidator(1), MaxValueValidator(20))


class Subscriber(TimestampedModel):
    """The one organisation that runs this service, and its settings."""

    has_personal_data = False

    name = models.CharField("organisation", max_length=255, default="My organisation")
    time_zone = models.CharField(
        max_length=60,
        default="Australia/Sydney",
        validators=[check_time_zone],
        help_text="Times are shown in it, and times given without an offset are read in it.",
    )
    currency = models.CharField(max_length=3, default="AUD")
    email_consent_default = models.CharField(
        "email consent when not given", max_length=12, choices=Consent, default=Consent.YES
    )
    claim_number_prefix = models.CharField(max_length=20, default="CLM-", blank=True)
    claim_number_digits = models.PositiveSmallIntegerField(default=7, validators=DIGITS)
    invoice_number_prefix = models.CharField(max_length=20, default="INV-", blank=True)
    invoice_number_digits = models.PositiveSmallIntegerField(default=7, validators=DIGITS)
    email_marketing_module = models.BooleanField(default=False)
    payment_provider_module = models.BooleanField("submits claims to a payment provider", default=False)
    team_on_opportunities = models.BooleanField(default=True)
    four_eyes = models.BooleanField(
        "four eyes", default=True, help_text="Nobody approves a claim they entered themselves."
    )

    business_number = models.CharField(
        "business number (ABN)", max_length=90, blank=True, default="", db_default=""
    )
    invoice_sender = models.TextField(
        "address",
        blank=True,
        default="",
        db_default="",
        help_text="Below the organisation's name on invoices: address, email, phone.",
    )
    payment_details = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="At the end of invoices to clients: account name, BSB and account number.",
    )

    class Meta:
        verbose_name = "organisation settings"
        verbose_name_plural = "organisation settings"
        default_permissions = ("view", "change")
        constraints = (models.CheckConstraint(condition=models.Q(pk=1), name="core_one_subscriber"),)

    def __str__(self) -> str:
        return self.name

    #: Seconds a worker may go on with settings that another worker changed.
    CACHE_SECONDS: ClassVar[float] = 5.0
    _cached: ClassVar[tuple[float, Subscriber] | None] = None

    def save(self, *args: Any, **options: Any) -> None:
        self.pk = 1
        super().save(*args, **options)
        self.clear_cache()

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @classmethod
    def current(cls) -> Subscriber:
        """The settings, read from the database once in a few seconds; the defaults while none are saved."""
        now = time.monotonic()
        if cls._cached is None or now - cls._cached[0] > cls.CACHE_SECONDS:
            Subscriber._cached = (now, cls.objects.filter(pk=1).first() or cls(pk=1))
        assert Subscriber._cached is not None
        return Subscriber._cached[1]

    @classmethod
    def clear_cache(cls) -> None:
        """Read the settings anew at the next ``current()``."""
        Subscriber._cached = None


class BackgroundRun(models.Model):
    """What a worker does for somebody in the back office, and how far it is."""

    guid = models.UUIDField("identifier", primary_key=True, default=new_guid, editable=False)
    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    finished_at = models.DateTimeField("finished", null=True)
    task_id = models.UUIDField(null=True, help_text="The background task that does what the status says")
    message = models.TextField(blank=True, help_text="Why nothing could be done")
    rows_done = models.PositiveIntegerField(default=0)
    rows_total = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True

    @property
    def is_running(self) -> bool:
        """Whether a worker has it to do."""
        raise NotImplementedError


class FileImport(BackgroundRun):
    """A file that somebody imports in the back office, its columns, and what became of it.

    ``content``, ``rejected_rows`` and ``issues`` have personal data and are deleted after a while.
    """

    class Status(models.TextChoices):
        UPLOADED = "Uploaded"
        CHECKING = "Checking"
        CHECKED = "Checked"
        IMPORTING = "Importing"
        IMPORTED = "Imported"
        FAILED = "Failed"
        UNDOING = "Undoing"
        UNDONE = "Undone"

    kind = models.CharField(max_length=60, help_text="The name of an ImportKind, for example contact")
    created_at = models.DateTimeField("uploaded", default=clock.now)
    file_name = models.CharField("file", max_length=255)
    content = models.BinaryField(null=True)
    rejected_rows = models.BinaryField(null=True, help_text="A workbook of them, with the reasons")
    options = models.JSONField(default=dict)
    columns = models.JSONField(default=list, help_text="A FileColumn each")
    status = models.CharField(max_length=10, choices=Status, default=Status.UPLOADED)
    notices = models.JSONField(default=list)
    counts = models.JSONField(default=dict, help_text="ImportCounts")
    issues = models.JSONField(default=list, help_text="A RowIssues each, of the first rows that have any")

    class Meta:
        ordering = ("-created_at", "-guid")
        indexes = (models.Index(fields=["-created_at", "-guid"], name="core_fileimport_newest"),)
        verbose_name = "import"
        default_permissions = ()

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_running(self) -> bool:
        return self.status in {self.Status.CHECKING, self.Status.IMPORTING, self.Status.UNDOING}


class FileExport(BackgroundRun):
    """A file of what a list of the back office shows with its filters, for whoever asked for it."""

    class Status(models.TextChoices):
        EXPORTING = "Exporting"
        READY = "Ready"
        FAILED = "Failed"

    record_type = models.CharField(max_length=60, help_text="The model's label, for example people.client")
    query = models.TextField(blank=True, help_text="The filters, as in the address of the list")
    file_name = models.CharField("file", max_length=100)
    created_at = models.DateTimeField("created", default=clock.now)
    status = models.CharField(max_length=10, choices=Status, default=Status.EXPORTING)

    class Meta:
        ordering = ("-created_at", "-guid")
        verbose_name = "export"
        default_permissions = ()

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_running(self) -> bool:
        return self.status == self.Status.EXPORTING


class FileExportPart(models.Model):
    """A piece of an exported file: a worker and a download have one of them in memory at a time."""

    file_export = models.ForeignKey(FileExport, on_delete=models.CASCADE, related_name="parts")
    content = models.BinaryField()

    class Meta:
        ordering = ("pk",)
        default_permissions = ()

    def __str__(self) -> str:
        return f"Part {self.pk} of {self.file_export_id}"


class Notice(models.Model):
    """What one person should know: what ran in the background, what was assigned to them, what is due."""

    class Kind(models.TextChoices):
        FINISHED = "Finished"
        ASSIGNED = "Assigned"
        DUE = "Due"

    staff = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    at = models.DateTimeField("date", default=clock.now)
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.CharField("notice", max_length=300)
    url = models.CharField(max_length=300)
    key = models.CharField(
        max_length=120,
        null=True,
        unique=True,
        help_text="What is due is told once: no two notices have one key",
    )
    read_at = models.DateTimeField("read", null=True)

    class Meta:
        ordering = ("-at", "-id")
        indexes = (
            models.Index(fields=["staff", "-at", "-id"], name="core_notice_of_staff"),
            models.Index(
                fields=["staff"], condition=models.Q(read_at__isnull=True), name="core_notice_unread"
            ),
        )
        default_permissions = ()

    def __str__(self) -> str:
        return self.text


class NoticePreference(models.Model):
    """Whether a person gets notices by mail as well; without one they do not."""

    staff = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    by_mail = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return "by mail" if self.by_mail else "on the page only"
