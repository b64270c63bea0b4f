"""Export jobs: what a GET of a whole set answers, written by a worker into a file, with its delta link."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urljoin
from uuid import UUID

from django.db import transaction
from django_tasks import task

from apps.access.models import ApiApplication
from apps.base.declaration.resource import V2_1, Caller
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import get_service
from apps.base.drafts import Draft, Extra, Issue, Rule, apply_rules, is_required, raise_if_invalid
from apps.base.errors import Conflict, Forbidden, Gone, ServiceError
from apps.core import exporting
from apps.core.file_exports import (
    ExportCancelled,
    finish_export,
    finish_unwritten,
    note_dead_export,
    store_file,
    with_progress,
)
from apps.core.history import Author
from apps.core.models import Change, ExportStatus, FileExport
from apps.core.read_log import READ_LOG
from apps.core.task_queue import task_author
from apps.odata.delta.change_log import Moment
from apps.odata.delta.dependencies import UntrackableError, find_dependencies, find_sight_dependencies
from apps.odata.delta.reader import DeltaReader
from apps.odata.delta.tokens import DeltaToken, delta_link, moment_for, query_digest, read_token, sight_of
from apps.odata.errors import BadQuery
from apps.odata.http.formats import CSVRenderer
from apps.odata.query.media_types import MediaType
from apps.odata.query.options import QueryOptions, parse_options
from apps.odata.read.reader import JsonReader, filter_rows

MEDIA_TYPES = {"json": "application/json", "ndjson": "application/x-ndjson", "csv": "text/csv"}
#: Options of a page, of changes and of sums, which are no records of a set.
OPTIONS_OF_ANSWERS = ("apply", "deltatoken", "skiptoken", "plain")
#: Exports of an application that are not finished: others wait for the worker too.
MOST_RUNNING = 10
#: Changes that a download of a limited application looks through at once.
CHANGES_AT_ONCE = 1_000


class ExportDraft(Draft):
    """``caller`` sent the request to ``base_url``; its token may be narrower than its application."""

    query: str
    application: Extra[ApiApplication]
    caller: Extra[Caller]
    base_url: Extra[str]


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """A query of a whole set at its full address, and the reader of what its caller may see."""

    address: str
    entity_set: EntitySet
    options: QueryOptions
    reader: JsonReader

    @property
    def format(self) -> str:
        return "json" if self.options.format is None else self.options.format.format

    @property
    def has_others(self) -> bool:
        return any(item.name != "*" for item in self.options.expand)

    @property
    def row_count(self) -> int:
        """How many records there are now."""
        number, top = max(self.reader.count() - (self.options.skip or 0), 0), self.options.top
        return number if top is None else min(number, top)

    def delta_link(self, moment: Moment, sight: str) -> str | None:
        """The link to what has changed since the moment; ``None`` where changes are not tracked.

        ``sight`` is what the reader saw then.
        """
        try:
            find_dependencies(self.entity_set, self.reader.projection, self.options, self.reader.request)
        except UntrackableError:
            return None
        query = [pair for pair in self.options.parameters if pair[0].lower().removeprefix("$") != "format"]
        token = DeltaToken(query_digest(self.entity_set.name, query), since=moment, sight=sight)
        return delta_link(self.address.partition("?")[0], query, token)


def read_query(address: str, base_url: str, caller: Caller) -> ExportQuery:
    """The query of an address below ``base_url``; ``BadQuery`` says why it is none.

    Raises ``Forbidden`` where the caller may not read the set, or one that is expanded.
    """
    try:
        whole = urljoin(base_url, address)
    except ValueError:
        whole = ""
    path, _, query = whole.partition("?")
    name = path.removeprefix(base_url).removesuffix("/")
    entity_set = get_service(V2_1).by_path.get(name.lower())
    if not whole.startswith(base_url) or entity_set is None or "#" in query:
        raise BadQuery("It must be the address of an entity set, such as contact?$select=LastName.")
    options = parse_options(query.encode("utf-8", "replace"))
    refuse_options(options)
    rows = filter_rows(entity_set, entity_set.rows_for(caller), options, caller)
    reader = JsonReader(entity_set, rows, options, caller=caller, base_url=base_url)
    return ExportQuery(f"{base_url}{entity_set.name}?{query}", entity_set, options, reader)


def refuse_options(options: QueryOptions) -> None:
    """``BadQuery`` for what a file does not have, so that none of it is left out in silence."""
    for option in OPTIONS_OF_ANSWERS:
        if getattr(options, option) not in (None, (), {}):
            given = "A filter other than $filter" if option == "plain" else f"${option}"
            raise BadQuery(f"{given} cannot be exported: what is exported are records of a set.")
    if not {options.service.get(name, V2_1) for name in ("version", "api-version")} <= {V2_1}:
        raise BadQuery(f"Files are those of version {V2_1}: leave the version out.")
    if options.format is None:
        return
    if options.format != MediaType(options.format.format):
        raise BadQuery("A file has no metadata, and numbers are numbers: $format is json, ndjson or csv.")
    if options.format.format == "csv" and options.shows_undeclared:
        raise BadQuery("What $compute and $ref make is exported as JSON or NDJSON.")


def query_of(job: FileExport, caller: Caller) -> ExportQuery:
    """The query of a job, as far as the caller may read now what it asks for."""
    return read_query(job.query, f"{job.query.partition('?')[0].rpartition('/')[0]}/", caller)


def check_sight(job: FileExport, query: ExportQuery, caller: Caller) -> None:
    """``Forbidden`` where a limited caller may see no more what the file has.

    It is limited to others now, or records, or participants whose records are expanded, changed hands.
    """
    if job.sight != sight_of(caller):
        raise Forbidden("Which records you may see was changed since: begin another job.")
    shown = {query.entity_set}
    if query.has_others:
        shown.add(get_service(V2_1).by_path["contact"])
    for entity_set in shown:
        is_limited = find_sight_dependencies(entity_set, caller.sees) is not None
        if is_limited and (job.moment is None or has_lost_records(entity_set, caller, job)):
            raise Forbidden("Records were handed over since the file was begun: begin another job.")


def has_lost_records(entity_set: EntitySet, caller: Caller, job: FileExport) -> bool:
    """True where the caller no longer sees a record of the set that it saw at the job's moment."""
    current = JsonReader(entity_set, entity_set.rows_for(caller), QueryOptions(), caller=caller)
    token: DeltaToken | None = DeltaToken("", since=job.moment, sight=job.sight)
    while token is not None:
        try:
            page = DeltaReader(current, (), token).page(CHANGES_AT_ONCE)
        except Gone:  # the database was restored: what has changed since is not known
            return True
        if not all(page.removed.values()):
            return True
        token = None if page.next_token is None else read_token(page.next_token, "", caller)
    return False


# --- new jobs -------------------------------------------------------------------------------------------


def address_can_be_exported(draft: ExportDraft) -> Iterator[Issue]:
    try:
        if draft.query:
            read_query(draft.query, draft.base_url, draft.caller)
    except Forbidden:
        raise
    except ServiceError as error:
        yield Issue(error.code, "query", error.message)


RULES: Sequence[Rule[ExportDraft]] = (
    is_required("query", "The address of a set is required.", lambda draft: not draft.query),
    address_can_be_exported,
)


def create_export_jobs(drafts: Sequence[ExportDraft]) -> list[UUID]:
    """Let a worker write a file of each query; ``Conflict`` while many of the application's are under way."""
    raise_if_invalid(drafts, apply_rules(drafts, RULES))
    running = FileExport.objects.filter(application=drafts[0].application, status=ExportStatus.EXPORTING)
    for job in running:
        note_dead_export(job)
    if sum(job.is_running for job in running) + len(drafts) > MOST_RUNNING:
        raise Conflict(f"An application has {MOST_RUNNING} exports under way at most: wait for one.")
    with transaction.atomic():
        return [create_export_job(draft) for draft in drafts]


def create_export_job(draft: ExportDraft) -> UUID:
    query = read_query(draft.query, draft.base_url, draft.caller)
    job = FileExport.objects.create(
        application=draft.application,
        record_type=query.entity_set.model._meta.label_lower,
        query=query.address,
        file_name=f"{query.entity_set.name}.{query.format}",
    )
    job.task_id = process_export_job.enqueue(str(job.pk)).id
    job.save(update_fields=["task_id"])
    return job.pk


# --- the worker -----------------------------------------------------------------------------------------


@task()
def process_export_job(guid: str) -> None:
    """Write the file; repeated, it is written anew."""
    job = FileExport.objects.select_related("application").get(pk=guid)
    if not job.is_running or job.application is None:
        return  # done by an attempt that was killed right after it
    with task_author(Author(Change.Channel.API, application=job.application.name, request_id=guid)):
        try:
            write_export(job, job.application.caller)
        except ExportCancelled:
            pass  # nothing is stored
        except ServiceError as error:
            finish_export(job, ExportStatus.FAILED, error.message)
        except OSError as error:
            finish_unwritten(job, error)
        READ_LOG.write()  # the thread that writes it is the server's


def write_export(job: FileExport, caller: Caller) -> None:
    """Store the file and the link to what has changed since before its first record was read."""
    assert job.application is not None
    if job.application.is_archived:
        raise BadQuery("The application was revoked.")
    # Where what the caller sees is changed meanwhile, the file is one of what it saw before.
    sight = sight_of(caller)
    query, moment = query_of(job, caller), moment_for(caller)
    job.rows_done, job.rows_total = 0, query.row_count
    with TemporaryFile() as file:
        write_records(job, query, file)
        file.seek(0)
        with transaction.atomic():
            job.delta_link, job.sight, job.moment = query.delta_link(moment, sight), sight, moment
            job.save(update_fields=["delta_link", "sight", "moment"])
            store_file(job, file)


def write_records(job: FileExport, query: ExportQuery, file: IO[bytes]) -> None:
    """Write what a GET would answer; the read log has it as it would have that."""
    reader, options = query.reader, query.options
    logged = partial(
        READ_LOG.log_stream, query.entity_set, query=options.parameters, has_others=query.has_others
    )
    if query.format == "csv":
        table = reader.table()
        rows = with_progress(job, logged(table.rows, json_of=table.json_of))
        file.writelines(text.encode() for text in CSVRenderer().stream(table, rows))
    else:
        write = exporting.write_ndjson if query.format == "ndjson" else exporting.write_json
        write(file, (), with_progress(job, logged(reader.stream())))
