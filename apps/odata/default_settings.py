"""Settings of the protocol, where a site wants no others: ``from apps.odata.default_settings import *``."""

#: Records of a page, of one with ``$top``, and of the largest that ``Prefer: odata.maxpagesize`` asks for.
API_PAGE_SIZE, API_TOP_PAGE_SIZE, API_MAX_PAGE_SIZE = 300, 1_000, 5_000
#: Of a body: its records, the items of a list in one of them, and its bytes.
API_MAX_RECORDS, API_MAX_LINES = 1_000, 100
API_MAX_BODY_BYTES = 10 * 1024 * 1024
API_MAX_BATCH_REQUESTS = 100
API_IDEMPOTENCY_SECONDS = 24 * 3600
#: What a browser may do with data: nothing.
DATA_SECURITY_POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
#: Seconds that a list waits for a replica that is behind, where ``DATABASES`` has one.
DATABASE_REPLICA_SECONDS = 0.05
#: Whether a pooler before PostgreSQL prepares statements of the protocol again.
DATABASE_POOLER_PREPARES = False
#: Takes note of reads (``odata.http.read_log``).
ODATA_READ_LOG = "apps.odata.http.read_log.NO_READ_LOG"

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "apps.odata.metadata.openapi.ODataSchema",
    "EXCEPTION_HANDLER": "apps.odata.http.exceptions.handle_exception",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
