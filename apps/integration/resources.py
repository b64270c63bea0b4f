"""The work of programs besides reading and writing records: import jobs, export jobs, subscriptions."""

from apps.access.models import Webhook
from apps.access.webhooks import WebhookDraft, create_webhooks, update_webhooks
from apps.base.declaration.resource import DELETE, GET, PATCH, POST, Key, Optional, ReadOnly, Required
from apps.core import archive
from apps.core.file_imports import create_file_import
from apps.core.models import FileExport, FileImport
from apps.core.resources import RECORD_DATES, OwnResource
from apps.integration.export_jobs import ExportDraft, create_export_jobs

#: Columns that people do not enter, and programs neither.
UNPUBLISHED = (
    *("staff", "application", "task_id", "content", "rejected_rows", "all_issues", "options", "columns"),
    *("notices", "counts", "issue_kinds", "issues"),
)


class ImportJobResource(OwnResource):
    """A file of records that an application imports; a worker does it."""

    model = FileImport
    is_own = False  # files name records by their codes: an application that is limited imports none
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


class ExportJobResource(OwnResource):
    """A file of a whole set, which a worker makes: what a GET of the address answers, in one piece."""

    model = FileExport
    path = "exportJob"
    order = ("-created_at",)
    unpublished = ("staff", "application", "task_id", "record_type", "sight")
    draft_class = ExportDraft
    create = create_export_jobs
    fields = (
        Key("ExportJobGuid"),
        Required("Address", source="query", description="Of a set with its options, as GET has it."),
        ReadOnly("FileName"),
        ReadOnly("Status"),
        ReadOnly("Message", description="Why there is no file; empty otherwise."),
        ReadOnly("RowsDone"),
        ReadOnly("RowsTotal"),
        ReadOnly("DeltaLink", description="To what has changed since; null where it is not tracked."),
        ReadOnly("CreationDate", source="created_at"),
        ReadOnly("FinishedDate", source="finished_at"),
    )


class SubscriptionResource(OwnResource):
    """An address that is told of changes of an entity set: a webhook of the application."""

    model = Webhook
    path = "subscription"
    methods = GET, POST, PATCH, DELETE
    unpublished = ("application",)
    draft_class = WebhookDraft
    create, update, archive = create_webhooks, update_webhooks, archive.archive
    fields = (
        Key("SubscriptionGuid"),
        Required("EntitySet", description="The name of the set whose changes are told, such as Claim."),
        Optional(
            "Condition",
            source="filter",
            description="As $filter: a record that no longer matches is told as removed.",
        ),
        Required("Address", description="Messages are sent here by POST, over https."),
        Optional("IncludesRecords", description="Messages have the records; else keys and addresses only."),
        ReadOnly("WaitingCount", description="Messages that are still to be sent."),
        ReadOnly("FailedCount", description="Messages that were not accepted for three days."),
        ReadOnly("Failures", description="Attempts in a row that the receiver has not accepted."),
        ReadOnly("PausedDate", source="paused_until", description="It is not asked again before."),
        *RECORD_DATES,
    )
