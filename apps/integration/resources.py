"""What programs do besides reading and writing records: import jobs, export jobs, subscriptions."""

from apps.base.declaration.resource import Key, ReadOnly
from apps.core.file_imports import create_file_import
from apps.core.models import FileImport
from apps.core.resources import OwnResource

#: Columns that people do not enter, and programs neither.
UNPUBLISHED = (
    *("staff", "application", "task_id", "content", "rejected_rows", "all_issues", "options", "columns"),
    *("notices", "counts", "issue_kinds", "issues"),
)


class ImportJobResource(OwnResource):
    """A file of records that an application imports; a worker does it."""

    model = FileImport
    path = "importJob"
    order = ("-created_at",)
    unpublished = UNPUBLISHED
    create = create_file_import
    fields = (
        Key("ImportJobGuid"),
        ReadOnly("Resource", source="kind", description="The path of the set whose records the file has."),
        ReadOnly("FileName"),
        ReadOnly("Status"),
        ReadOnly("Message", description="Why nothing could be done; empty otherwise."),
        ReadOnly("RowsDone"),
        ReadOnly("RowsTotal"),
        ReadOnly("NewCount"),
        ReadOnly("ChangedCount"),
        ReadOnly("UnchangedCount"),
        ReadOnly("RejectedCount"),
        ReadOnly("WarningCount", description="Records with warnings, whether they were imported or not."),
        ReadOnly("CreationDate", source="created_at"),
        ReadOnly("FinishedDate", source="finished_at"),
    )
