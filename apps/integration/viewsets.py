"""The endpoints of programs: bulk jobs (docs/bulk_jobs.md), subscriptions (docs/sync.md)."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.access.callers import READ, WRITE, ApplicationCaller
from apps.access.models import ApiApplication, Webhook
from apps.access.webhook_messages import entity_set_named
from apps.access.webhooks import delta_reader, replay, send_test
from apps.base.declaration.resource import BodyKind, Caller
from apps.base.declaration.schema import EntitySet
from apps.base.errors import BadBody, Conflict, ErrorDetail, Forbidden, InvalidRecords, NotFound
from apps.core.downloads import bytes_response, parts_response
from apps.core.file_exports import cancel_export, note_dead_export, read_parts
from apps.core.file_import_kinds import wire_sentence
from apps.core.file_imports import (
    cancel,
    create_file_import,
    import_kind_of,
    log_rows,
    note_dead_task,
    start_import,
    start_undo,
)
from apps.core.models import ExportStatus, FileExport, FileImport
from apps.core.read_log import READ_LOG, is_logged
from apps.core.table_files.tables import ImportFileError
from apps.integration import openapi, resources
from apps.integration.export_jobs import MEDIA_TYPES, check_sight, query_of
from apps.integration.import_forms import FILE, ImportFormParser, importable_sets, read_form
from apps.odata.errors import BadQuery
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.odata.write import dispatch
from apps.odata.write.bodies import Body, read_records
from apps.odata.write.dispatch import Created
from apps.odata.write.json_parser import parse_body

CSV, XLSX = "text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class ImportJobViewSet(ODataViewSet):
    """Files of records that a worker imports."""

    resource = resources.ImportJobResource
    parser_classes = (ImportFormParser,)

    @extend_schema(operation=openapi.CREATE_IMPORT_JOB)
    def create(self, request: Request) -> HttpResponse:
        """POST: the file is stored, and a worker checks or imports it."""
        self.refuse_plain_filters()
        self.form = self.parse_body(request)
        return self.respond_once(request, lambda: self.respond_created(request), self.form.digest)

    def store(self, request: Request) -> Created:
        caller = cast("ApplicationCaller", request.auth)
        order = read_form(self.form)
        self.check_right(request, order.kind.name)
        try:
            job = create_file_import(
                order.kind,
                self.form.file_name,
                self.form.content,
                None,
                order.mapping,
                caller.guid,
                order.answers,
            )
        except ImportFileError as error:
            fault = ErrorDetail("InvalidFile", FILE, wire_sentence(str(error)))
            raise InvalidRecords.from_details([fault], 1) from None
        return Created([job.pk], bare=True)

    def check_right(self, request: Request, path: str) -> None:
        """``Forbidden`` unless the caller may write the records that a file has."""
        caller = cast("ApplicationCaller", request.auth)
        entity_set = importable_sets().get(path.lower())
        if entity_set is None or not caller.may(WRITE, entity_set):
            raise Forbidden(caller.refusal(WRITE, path))

    def find_job(self, key: str) -> FileImport:
        """The job of the key in an address; one whose worker ended without a word has failed."""
        jobs = self.get_queryset().defer("content", "rejected_rows", "all_issues", "issues")
        job: FileImport = self.find_record(key, jobs)
        note_dead_task(job)
        return job

    def retrieve(self, request: Request, key: str) -> HttpResponse:
        """The job as it is now."""
        self.find_job(key)
        return super().retrieve(request, key)

    # --- what came of it ------------------------------------------------------------------------------

    @extend_schema(operation=openapi.ISSUES)
    @action(detail=True, methods=["get"], url_path="Issues", url_name="issues")
    def issues(self, request: Request, key: str) -> HttpResponse:
        """Every fault and warning, one line each."""
        self.refuse_plain_filters()
        job = self.find_job(key)
        count = sum(kind["count"] for kind in job.issue_kinds)
        return self.respond_file(job, job.all_issues, "issues.csv", CSV, count)

    @extend_schema(operation=openapi.REJECTED_ROWS)
    @action(detail=True, methods=["get"], url_path="RejectedRows", url_name="rejected-rows")
    def rejected_rows(self, request: Request, key: str) -> HttpResponse:
        """The rejected rows with their reasons, to correct and import again."""
        self.refuse_plain_filters()
        job = self.find_job(key)
        return self.respond_file(job, job.rejected_rows, "rejected.xlsx", XLSX, job.counts.get("rejected", 0))

    def respond_file(
        self,
        job: FileImport,
        content: bytes | memoryview | None,
        ending: str,
        media_type: str,
        row_count: int,
    ) -> HttpResponse:
        if content is None:
            raise NotFound(f"{self.entity_set.name} {job.pk} has no such file, or it was deleted since.")
        log_rows(job, "Download", row_count)
        return bytes_response(bytes(content), f"{job.file_name.rpartition('.')[0]}.{ending}", media_type)

    # --- what is done next ----------------------------------------------------------------------------

    @extend_schema(operation=openapi.IMPORT)
    @action(detail=True, methods=["post"], url_path="Import", url_name="import")
    def start_import(self, request: Request, key: str) -> HttpResponse:
        """POST: what was checked is imported."""
        return self.respond_once(
            request, lambda: self.respond_started(request, key, "that is Checked", import_stored_file)
        )

    @extend_schema(operation=openapi.UNDO)
    @action(detail=True, methods=["post"], url_path="Undo", url_name="undo")
    def undo(self, request: Request, key: str) -> HttpResponse:
        """POST: what was imported is undone, all of it or nothing."""
        return self.respond_once(
            request, lambda: self.respond_started(request, key, "that has stored records", start_undo)
        )

    @extend_schema(operation=openapi.CANCEL_IMPORT)
    @action(detail=True, methods=["post"], url_path="Cancel", url_name="cancel")
    def cancel(self, request: Request, key: str) -> HttpResponse:
        """POST: the worker stops before the next batch of rows."""
        return respond_cancelled(self, key, cancel)

    def respond_started(
        self, request: Request, key: str, which: str, begin: Callable[[FileImport], bool]
    ) -> HttpResponse:
        self.refuse_plain_filters()
        job = self.find_job(key)
        self.check_right(request, job.kind)
        import_kind_of(job)
        if not begin(job):
            raise Conflict(f"The job is {job.status}; this is for one {which}.")
        return self.respond_updated(request, job.pk)


def respond_cancelled(
    view: "ImportJobViewSet | ExportJobViewSet", key: str, cancel_job: Callable[[Any], bool]
) -> HttpResponse:
    """The job of that key once it is cancelled; ``Conflict`` where it is done.

    No Idempotency-Key is stored: again it is the same, and on SQLite the worker may keep others from writing.
    """
    view.refuse_plain_filters()
    job = view.find_job(key)
    if not cancel_job(job):
        raise Conflict(f"The job is {job.status}: it cannot be cancelled.")
    return view.respond_updated(view.request, job.pk)


def import_stored_file(job: FileImport) -> bool:
    """Start the import of a checked file; ``Conflict`` where the file was deleted since."""
    if not FileImport.objects.filter(pk=job.pk, content__isnull=False).exists():
        raise Conflict("The file was deleted since: post it again.")
    return start_import(job)


class ExportJobViewSet(ODataViewSet):
    """Files of whole sets, which a worker makes."""

    resource = resources.ExportJobResource

    def store(self, request: Request) -> Created:
        caller = cast("ApplicationCaller", request.auth)
        application = ApiApplication.objects.get(pk=caller.guid)
        extras = {"application": application, "caller": caller, "base_url": self.base_url}
        return dispatch.create(
            self.entity_set, self.parse_body(request), caller, read=partial(read_with, extras)
        )

    def find_job(self, key: str) -> FileExport:
        """The job of the key in an address; one whose worker ended without a word has failed."""
        job: FileExport = self.find_record(key)
        note_dead_export(job)
        return job

    def retrieve(self, request: Request, key: str) -> HttpResponse:
        """The job as it is now."""
        self.find_job(key)
        return super().retrieve(request, key)

    @extend_schema(operation=openapi.CANCEL_EXPORT)
    @action(detail=True, methods=["post"], url_path="Cancel", url_name="cancel")
    def cancel(self, request: Request, key: str) -> HttpResponse:
        """POST: the worker stops, and there is no file."""
        return respond_cancelled(self, key, cancel_export)

    @extend_schema(operation=openapi.EXPORT_FILE)
    @action(detail=True, methods=["get"], url_path="File", url_name="file")
    def file(self, request: Request, key: str) -> HttpResponseBase:
        """The file, for an application that may still read all that is in it."""
        self.refuse_plain_filters()
        job, caller = self.find_job(key), cast("Caller", request.auth)
        query = query_of(job, caller)
        if job.status != ExportStatus.READY:
            raise Conflict(f"The job is {job.status}: there is no file.")
        check_sight(job, query, caller)
        if is_logged(query.entity_set.model):
            READ_LOG.add(query.entity_set.model, "Download", job.rows_done, b"")
        return parts_response(read_parts(job), job.file_name, f"{MEDIA_TYPES[query.format]}; charset=utf-8")


class SubscriptionViewSet(ODataViewSet):
    """The webhooks of an application, which it changes itself."""

    resource = resources.SubscriptionResource
    #: Of the subscriptions that this request stores: its response shows them, and none after it.
    secrets: Sequence[str] = ()

    def store(self, request: Request) -> Created:
        caller = cast("ApplicationCaller", request.auth)
        read = partial(read_with, {"application": ApiApplication.objects.get(pk=caller.guid)})
        with transaction.atomic():
            created = dispatch.create(self.entity_set, self.parse_body(request), caller, read=read)
            self.check_sets(request, created.keys)
        found = Webhook.objects.in_bulk(created.keys)
        self.secrets = [found[key].secret for key in created.keys]
        return created

    def rendered(self, reader: Any, records: Sequence[str], *args: Any, **options: Any) -> Any:
        shown = [
            f'{record[:-1]},"@Records.Secret":{json.dumps(secret)}}}'
            for record, secret in zip(records, self.secrets, strict=bool(self.secrets))
        ]
        return super().rendered(reader, shown or records, *args, **options)

    def respond_changed(self, request: Request, key: str, kind: BodyKind) -> HttpResponse:
        with transaction.atomic():
            response = super().respond_changed(request, key, kind)
            self.check_sets(request, [self.read_key(key)])
        return response

    def check_sets(self, request: Request, keys: Iterable[Any]) -> None:
        """``Forbidden`` for a subscription to what the token, which may be narrow, does not read: a set, or
        another one by whose members the condition finds records."""
        caller = cast("ApplicationCaller", request.auth)
        for name, condition in Webhook.objects.filter(pk__in=keys).values_list("entity_set", "filter"):
            entity_set = entity_set_named(name)
            if entity_set is None or not caller.may(READ, entity_set):
                raise Forbidden(caller.refusal(READ, name))
            delta_reader(entity_set, condition, caller)

    def find_subscription(self, request: Request, key: str) -> Webhook:
        self.refuse_plain_filters()
        webhook: Webhook = self.find_record(key, self.get_queryset().select_related("application"))
        self.check_sets(request, [webhook.pk])
        return webhook

    @extend_schema(operation=openapi.TEST)
    @action(detail=True, methods=["post"], url_path="Test", url_name="test")
    def test(self, request: Request, key: str) -> HttpResponse:
        """POST: a message without changes is sent; the answer is its webhook-id."""
        return self.respond_once(request, lambda: self.respond_tested(request, key))

    def respond_tested(self, request: Request, key: str) -> HttpResponse:
        message = send_test(self.find_subscription(request, key))
        context = json.dumps(f"{self.base_url}$metadata#Edm.String")
        return self.respond(f'{{"@odata.context":{context},"value":"{message}"}}'.encode())

    @extend_schema(operation=openapi.REPLAY)
    @action(detail=True, methods=["post"], url_path="Replay", url_name="replay")
    def replay(self, request: Request, key: str) -> HttpResponse:
        """POST: all that changed since a delta link is told again."""
        return self.respond_once(request, lambda: self.respond_replayed(request, key))

    def respond_replayed(self, request: Request, key: str) -> HttpResponse:
        webhook = self.find_subscription(request, key)
        link = parse_body(self.parse_body(request), 1).get("DeltaLink")
        if not isinstance(link, str) or not link:
            message = "DeltaLink must be the link that a read with odata.track-changes ended with."
            raise BadBody(message, target="DeltaLink")
        try:
            replay(webhook, link)
        except BadQuery as error:
            raise BadBody(error.message, target="DeltaLink", code=error.code) from None
        return self.respond_updated(request, webhook.pk)


def read_with(extras: Mapping[str, object], entity_set: EntitySet, content: bytes) -> Body:
    """The records of a body, with what the request itself says of each."""
    body = read_records(entity_set, content)
    for draft in body.drafts:
        for name, value in extras.items():
            draft.fill(name, value)
    return body


router = ODataRouter()
router.register_module(resources, ImportJobViewSet, ExportJobViewSet, SubscriptionViewSet)
