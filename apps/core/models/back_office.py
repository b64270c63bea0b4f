"""Records of the back office for one person: chosen lists, imports and exports of files, notices.

Programs have imports and exports of files as well: the interface's jobs.
"""

from typing import ClassVar

from django.conf import settings
from django.db import models

from apps.base import clock
from apps.base.declaration.resource import Enumeration
from apps.core.computed import ComputedDecimal
from apps.core.models.records import new_guid


class ListChoice(models.Model):
    """A person's choice for a list of the back office; ``record_type`` is its model's label."""

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
    is_default = models.BooleanField(
        default=False, db_default=False, help_text="The person's list is opened with them"
    )

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


class BackgroundRun(models.Model):
    """Work that a worker does for somebody, and how far it is."""

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

    #: Each has a ``status``; with these a worker has it to do.
    status: object
    running_statuses: ClassVar[frozenset[str]]

    @property
    def is_running(self) -> bool:
        return self.status in self.running_statuses


class FileRun(BackgroundRun):
    """The import or export of a file, which an API application may have begun."""

    application = models.ForeignKey(
        "access.ApiApplication",
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        verbose_name="API application",
    )

    class Meta:
        abstract = True

    @property
    def author_name(self) -> str:
        """The person or the API application that began it."""
        return str(self.staff or self.application or "somebody")


class ImportStatus(Enumeration):
    """How far an import of a file is, and its outcome."""

    READING = "Reading", 0
    UPLOADED = "Uploaded", 1, "Read"
    CHECKING = "Checking", 2
    CHECKED = "Checked", 3
    IMPORTING = "Importing", 4
    IMPORTED = "Imported", 5
    FAILED = "Failed", 6
    UNDOING = "Undoing", 7
    UNDONE = "Undone", 8
    CANCELLING = "Cancelling", 9
    CANCELLED = "Cancelled", 10


def count_of_import(word: str) -> ComputedDecimal:
    """A number of the counts of a file of records; null before it is checked or imported."""
    return ComputedDecimal(f"({{row}}.counts ->> '{word}')", max_digits=9, decimal_places=0, null=True)


class FileImport(FileRun):
    """A file that a person or an API application imports, its columns, and what became of it.

    ``content``, ``rejected_rows`` and ``issues`` have personal data and are deleted after a while.
    """

    Status = ImportStatus

    #: An undo stores all of it or nothing, soon.
    cancellable_statuses = frozenset({Status.READING, Status.CHECKING, Status.IMPORTING})
    running_statuses = cancellable_statuses | {Status.UNDOING, Status.CANCELLING}

    kind = models.CharField(max_length=60, help_text="The name of an ImportKind, for example contact")
    created_at = models.DateTimeField("begun", default=clock.now)
    file_name = models.CharField("file", max_length=255)
    content = models.BinaryField(null=True)
    rejected_rows = models.BinaryField(null=True, help_text="A workbook of them, with the reasons")
    all_issues = models.BinaryField(null=True, help_text="A CSV file of them")
    options = models.JSONField(default=dict)
    columns = models.JSONField(default=list, help_text="A FileColumn each")
    status = models.CharField(max_length=10, choices=Status, default=Status.UPLOADED)
    notices = models.JSONField(default=list)
    counts = models.JSONField(default=dict, help_text="ImportCounts")
    issue_kinds = models.JSONField(default=list, db_default=[], help_text="An IssueKind each")
    issues = models.JSONField(default=list, help_text="A RowIssues each, of the first rows that have any")
    new_count = count_of_import("new")
    changed_count = count_of_import("changed")
    unchanged_count = count_of_import("unchanged")
    rejected_count = count_of_import("rejected")
    warning_count = count_of_import("with_warnings")

    class Meta:
        ordering = ("-created_at", "-guid")
        indexes = (models.Index(fields=["-created_at", "-guid"], name="core_fileimport_newest"),)
        verbose_name = "import"
        default_permissions = ()

    def __str__(self) -> str:
        return self.file_name

    @property
    def has_stored(self) -> bool:
        """True of an import that stored its rows, all of them or those before it was cancelled."""
        return self.status == ImportStatus.IMPORTED or (
            self.status == ImportStatus.CANCELLED and bool(self.counts)
        )


class FileImportPage(models.Model):
    """Further rows with issues, as a page of the back office shows them; the first stand with the import."""

    file_import = models.ForeignKey(FileImport, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField(help_text="2 and more")
    rows = models.JSONField(help_text="A RowIssues each")

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=["file_import", "number"], name="core_page_of_an_import"),
        )

    def __str__(self) -> str:
        return f"Page {self.number}"


class ImportMapping(models.Model):
    """The mapping of files of one origin: members of columns, meanings of values, under a name.

    Headers are in letters alone, as imports compare them.
    """

    kind = models.CharField(max_length=60, help_text="The name of an ImportKind, for example contact")
    name = models.CharField(max_length=60)
    columns = models.JSONField(default=dict, help_text="{header: member, empty to leave it out}")
    values = models.JSONField(default=dict, help_text="{header: {text: what it means}}")

    class Meta:
        default_permissions = ()
        ordering = ("kind", "name")
        constraints = (models.UniqueConstraint(fields=["kind", "name"], name="core_one_mapping_of_a_name"),)

    def __str__(self) -> str:
        return self.name


class ExportStatus(Enumeration):
    """How far an export is, and its outcome."""

    EXPORTING = "Exporting", 0
    READY = "Ready", 1
    FAILED = "Failed", 2
    CANCELLED = "Cancelled", 3


class FileExport(FileRun):
    """A file of what a list of the back office shows with its filters, for whoever asked for it.

    Of an API application it is what the interface answers at the address ``query``, below ``/api/``;
    ``delta_link`` leads to what has changed since the first record was read.
    """

    Status = ExportStatus

    running_statuses = frozenset({Status.EXPORTING})

    record_type = models.CharField(max_length=60, help_text="The model's label, for example people.client")
    query = models.TextField(blank=True, help_text="The filters, as in the address of the list")
    file_name = models.CharField("file", max_length=100)
    created_at = models.DateTimeField("created", default=clock.now)
    status = models.CharField(max_length=10, choices=Status, default=Status.EXPORTING)
    delta_link = models.TextField(null=True)
    #: What the application saw when the file was written (``Sight.digest``), empty for everything.
    sight = models.CharField(max_length=8, default="", db_default="", editable=False)
    #: Of an application: the moment before the first record was read.
    moment = models.JSONField(null=True, editable=False)

    class Meta:
        ordering = ("-created_at", "-guid")
        verbose_name = "export"
        default_permissions = ()

    def __str__(self) -> str:
        return self.file_name


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
    """A message to one person: what ran in the background, what was assigned to them, what is due."""

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
    """A person's wish for notices by mail as well; without one there are none."""

    staff = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    by_mail = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return "by mail" if self.by_mail else "on the page only"
