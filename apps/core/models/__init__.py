"""The base of every record, the history, the organisation's settings, and what the back office keeps."""

from apps.core.models.back_office import (
    BackgroundRun,
    ChosenColumns,
    ExportStatus,
    FileExport,
    FileExportPart,
    FileImport,
    FileImportPage,
    ImportMapping,
    ImportStatus,
    Notice,
    NoticePreference,
    SavedFilter,
)
from apps.core.models.logs import (
    Change,
    CurrentTransaction,
    LogEntry,
    PersonalDataRead,
    ReadLogChain,
)
from apps.core.models.records import (
    Lookup,
    NormalisedField,
    Record,
    Responsibility,
    Searched,
    TimestampedModel,
    calculated_money,
    money,
    new_guid,
    normalised,
    optional_reference,
    optional_text,
    repeatable_guids,
)
from apps.core.models.subscriber import (
    Consent,
    Subscriber,
    check_time_zone,
)
