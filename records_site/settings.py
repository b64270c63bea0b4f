"""Every setting in one flat file; readers fail loudly, defaults suit a first look on one machine."""

import contextlib
import datetime as dt
import ipaddress
import os
import re
import secrets
import sys
from pathlib import Path

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy

from apps.core.database.configuration import read_database_url
from apps.odata import default_settings as protocol
from records_site.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

# Where lxml is installed openpyxl would write by it, whose error for a full disk is no OSError.
os.environ.setdefault("OPENPYXL_LXML", "False")

# --- where things lie ---------------------------------------------------------------------------------

VAR_DIR = Path(env.str("VAR_DIR", "") or BASE_DIR / "var")
VAR_DIR.mkdir(parents=True, exist_ok=True)


def kept_secret(name: str) -> str:
    """A random secret that outlives restarts: made once under var/, readable by its owner only."""
    path = VAR_DIR / name
    if not path.exists():
        fresh = VAR_DIR / f"{name}.{secrets.token_hex(4)}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(64))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(fresh)  # whoever is first wins; the others read the winner's
        fresh.unlink()
    return path.read_text().strip()


# --- Django -------------------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", False)
SECRET_KEY = env.str("SECRET_KEY", "") or kept_secret("secret_key")
#: Former keys: what they have signed stays valid until it expires.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

#: The apps of the domain, in the order of the service document; each refers to records of those before it.
DOMAIN_APPS = [
    "apps.people",
    "apps.documents",
    "apps.engagements",
    "apps.sales",
    "apps.funding",
    "apps.payments",
]

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "apps.core.site.BackOfficeConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "django_tasks",
    "django_tasks_db",
    "apps.odata",
    "apps.core",
    "apps.access",
    *DOMAIN_APPS,
    "apps.operations",
]

MIDDLEWARE = [
    "records_site.request_log.RequestLogMiddleware",
    "apps.core.middleware.BrowserPolicyMiddleware",
    "records_site.proxy.ForwardedMiddleware",
    "records_site.failures.HttpsMiddleware",
    "apps.core.middleware.RequestContextMiddleware",
    "records_site.failures.FaultMiddleware",
    "apps.odata.http.middleware.CrossOriginMiddleware",
    "apps.core.middleware.SettingsMiddleware",
    "apps.odata.http.middleware.CompressionMiddleware",
    "apps.odata.http.middleware.InterfaceMiddleware",
    # From here on only pages, and requests to the interface without credentials.
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "apps.core.middleware.PageCompressionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "apps.people.authentication.sessions.StaffAuthenticationMiddleware",
    "apps.core.middleware.BackOfficeAuthorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

# A span for each request, sent to a collector; the other variables of OpenTelemetry are read by its library.
if env.str("OTEL_EXPORTER_OTLP_ENDPOINT", ""):
    MIDDLEWARE.insert(0, "records_site.tracing.TracingMiddleware")

ROOT_URLCONF = "records_site.urls"
WSGI_APPLICATION = "records_site.wsgi.application"
APPEND_SLASH = False  # addresses of the interface are matched with and without

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.people.authentication.views.back_office_page",
            ],
        },
    },
]

# --- database -----------------------------------------------------------------------------------------

DATABASE_URL = env.str("DATABASE_URL", "") or f"sqlite:///{VAR_DIR / 'records.sqlite3'}"
# Seconds, 0 without limit. Requests are short; commands import for hours, and only wait less long for locks.
IS_SERVER = sys.argv[1:2] != ["worker"] and not sys.modules.keys().isdisjoint(
    ("records_site.wsgi", "records_site.server.loading")
)
DATABASE_STATEMENT_SECONDS = env.float("DATABASE_STATEMENT_SECONDS", 10 if IS_SERVER else 0)
# A migration that waits for a table makes everybody behind it wait.
IS_MIGRATION = sys.argv[1:2] in (["migrate"], ["subscribers"])
DATABASE_LOCK_SECONDS = env.float("DATABASE_LOCK_SECONDS", 3 if IS_SERVER or IS_MIGRATION else 60)
DATABASE_IDLE_SECONDS = env.float("DATABASE_IDLE_SECONDS", 120 if IS_SERVER else 0)  # within a transaction


def database(variable: str, url: str) -> dict[str, object]:
    limits = DATABASE_STATEMENT_SECONDS, DATABASE_LOCK_SECONDS, DATABASE_IDLE_SECONDS
    try:
        return read_database_url(url, *limits)
    except ImproperlyConfigured as error:
        raise ImproperlyConfigured(f"{variable}: {error}") from None


DATABASES = {"default": database("DATABASE_URL", DATABASE_URL)}
if DATABASES["default"]["ENGINE"] == "apps.core.database.postgresql":
    DATABASES["default"]["CONN_MAX_AGE"] = env.int("DATABASE_CONN_MAX_AGE", 600)
# A replica of it answers lists and exports; how long one waits for a replica that is behind.
DATABASE_REPLICA_SECONDS = env.float("DATABASE_REPLICA_SECONDS", protocol.DATABASE_REPLICA_SECONDS)
if DATABASE_REPLICA_URL := env.str("DATABASE_REPLICA_URL", ""):
    if any("sqlite" in url for url in (DATABASE_URL, DATABASE_REPLICA_URL)):
        raise ImproperlyConfigured("DATABASE_REPLICA_URL is a replica of a PostgreSQL in DATABASE_URL.")
    DATABASES["replica"] = {
        **database("DATABASE_REPLICA_URL", DATABASE_REPLICA_URL),
        "CONN_MAX_AGE": DATABASES["default"].get("CONN_MAX_AGE", 0),
        "TEST": {"MIRROR": "default"},
    }
# Behind a pooler of transactions that prepares again what a connection lacks: PgBouncer from 1.21 on.
DATABASE_POOLER_PREPARES = env.bool("DATABASE_POOLER_PREPARES", False)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- language and time: the subscriber's own zone is a record, this is what stands before it is read -----

LANGUAGE_CODE = "en-au"
LANGUAGES = [(LANGUAGE_CODE, "Australian English")]  # else each page names the hundred that Django knows
TIME_ZONE = "Australia/Sydney"
#: The library of the back office reads the days of filters by these, and not by the language.
DATE_INPUT_FORMATS = ["%d/%m/%Y", "%d/%m/%y", "%Y-%m-%d"]
DATETIME_INPUT_FORMATS = [f"{day} {time}" for day in DATE_INPUT_FORMATS for time in ("%H:%M", "%H:%M:%S")]

# --- people who sign in -------------------------------------------------------------------------------

AUTH_USER_MODEL = "people.Staff"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "apps.people.authentication.StaffBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["first_name", "last_name", "primary_email", "unique_code"]},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {
        "NAME": "apps.people.authentication.ContextWordValidator",
        "OPTIONS": {
            "words": ["records", "service", "scheme", "ndis", "ndia", "provider", "participant", "admin"]
        },
    },
]
# The login is unique without regard to case, through its normalised column; SQLite ignores what an index
# of PostgreSQL includes.
SILENCED_SYSTEM_CHECKS = ["auth.W004", "models.W040"]
LOGIN_URL = LOGOUT_REDIRECT_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
SESSION_COOKIE_AGE = SESSION_SECONDS = env.int("SESSION_SECONDS", 12 * 3600)  # since signing in
SESSION_IDLE_SECONDS = env.int("SESSION_IDLE_SECONDS", 3600)  # without a request
PASSWORD_LINK_HOURS = env.int("PASSWORD_LINK_HOURS", 24)
PASSWORD_RESET_TIMEOUT = PASSWORD_LINK_HOURS * 3600
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "apps.core.expired_forms.expired_form"
DEVICE_COOKIE_NAME = "device"  # of a device on which somebody has signed in
AXES_HANDLER = "apps.people.authentication.attempts.LoginAttempts"
AXES_FAILURE_LIMIT = env.int("LOGIN_FAILURE_LIMIT", 10)  # of one login from one address
LOGIN_FAILURE_LIMIT_PER_ADDRESS = env.int("LOGIN_FAILURE_LIMIT_PER_ADDRESS", 100)  # over all logins
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_COOLOFF_TIME = dt.timedelta(minutes=env.int("LOGIN_LOCKED_MINUTES", 15))
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "apps.people.authentication.attempts.counted_login"
AXES_CLIENT_IP_CALLABLE = "apps.access.throttling.counted_address"
AXES_LOCKOUT_CALLABLE = "apps.people.authentication.attempts.locked_out_response"
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username"]  # in log lines; the address is what a guard looks for
AXES_ENABLE_ADMIN = False

ACCOUNT_ADAPTER = "apps.people.authentication.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = ACCOUNT_USER_MODEL_EMAIL_FIELD = "primary_email"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]  # nobody signs up; a check compares them
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_NOTIFICATIONS = True  # of changes of second factors
MFA_ADAPTER = "apps.people.authentication.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {
    "authenticate": "apps.people.authentication.forms.CodeForm",
    "reauthenticate": "apps.people.authentication.forms.CodeAgainForm",
    "authenticate_webauthn": "apps.people.authentication.forms.PasskeyForm",
    "reauthenticate_webauthn": "apps.people.authentication.forms.PasskeyAgainForm",
    "login_webauthn": "apps.people.authentication.forms.PasskeyLoginForm",
    "add_webauthn": "apps.people.authentication.forms.NewPasskeyForm",
}
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an email is given by an administrator
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
USERSESSIONS_TRACK_ACTIVITY = True  # the list shows the last use, which the middleware above notes
MFA_TOTP_TOLERANCE = 1  # periods of 30 seconds: clocks differ, and people need time to type
#: Sign-in by the organisation's identity provider (OpenID Connect), where there is one.
OIDC_NAME = env.str("OIDC_NAME", "Single sign-on")
OIDC_TRUSTS_EMAIL = env.bool("OIDC_TRUSTS_EMAIL", False)  # it never says whether an email is verified
OIDC_ASKS_SECOND_FACTOR = env.bool("OIDC_ASKS_SECOND_FACTOR", False)  # so that roles need no other
SOCIALACCOUNT_ADAPTER = "apps.people.authentication.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # a link: form-action 'self' would stop a form's redirection
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": []}}
if env.str("OIDC_SERVER_URL", ""):
    SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"] = [
        {
            "provider_id": "oidc",
            "name": OIDC_NAME,
            "client_id": env.str("OIDC_CLIENT_ID"),
            "secret": env.str("OIDC_CLIENT_SECRET"),
            "settings": {"server_url": env.str("OIDC_SERVER_URL")},
        }
    ]

# --- mail: printed on standard output without a server to send it ---------------------------------------

EMAIL_HOST = env.str("MAIL_HOST", "")
EMAIL_PORT = env.int("MAIL_PORT", 587)
EMAIL_HOST_USER = env.str("MAIL_USER", "")
EMAIL_HOST_PASSWORD = env.str("MAIL_PASSWORD", "")
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = env.bool("MAIL_TLS", not EMAIL_USE_SSL)
EMAIL_TIMEOUT = 10
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
#: What mailed notices link to, "https://records.example.org"; without it they have no links.
SITE_ADDRESS = env.str("SITE_ADDRESS", "")
if SITE_ADDRESS and not SITE_ADDRESS.startswith(("https://", "http://")):
    raise ImproperlyConfigured("SITE_ADDRESS begins with https://, as people enter it in a browser.")
DEFAULT_FROM_EMAIL = env.str("MAIL_FROM", "records@localhost")

# --- work in the background: tasks are rows of the database, ./run worker does them ---------------------

TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
#: Days after which the files of imports in the back office are deleted; what became of them stays.
IMPORT_FILE_DAYS = env.int("IMPORT_FILE_DAYS", 30)
#: Of the process that reads a file to import.
IMPORT_MEMORY_MB = env.int("IMPORT_MEMORY_MB", 1024)
IMPORT_READ_SECONDS = env.int("IMPORT_READ_SECONDS", 120)
#: Days after which exports that a worker wrote are deleted.
EXPORT_FILE_DAYS = env.int("EXPORT_FILE_DAYS", 7)
#: Days after which notices are deleted; those of what is due are written once only, so longer than a plan.
NOTICE_DAYS = env.int("NOTICE_DAYS", 730)

#: What a worker does again and again: service, and the seconds between two calls.
PERIODIC_SERVICES = {
    "apps.access.webhooks.send_changes": 5.0,
    "apps.funding.services.claim_sums.add_up_claim_sums": 3600.0,
    "apps.core.notices.write_due_notices": 3600.0,  # each once, in the first hour of its day
}

# --- webhooks: https to addresses of the internet, unless said otherwise ----------------------------------

WEBHOOK_HTTP = env.bool("WEBHOOK_HTTP", False)
WEBHOOK_NETWORKS = env.list("WEBHOOK_NETWORKS", default=[])  # inner networks that may be called: 10.1.0.0/16
for network in WEBHOOK_NETWORKS:
    try:
        ipaddress.ip_network(network)
    except ValueError as error:
        raise ImproperlyConfigured(f"WEBHOOK_NETWORKS holds networks, as 10.1.0.0/16: {error}.") from None
WEBHOOK_SECONDS = env.float("WEBHOOK_SECONDS", 10)

# --- transport ----------------------------------------------------------------------------------------

# Behind TLS (the only way to run it for others) say HTTPS=true; a first look on one's own machine has none.
HTTPS = env.bool("HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
if HTTPS:
    # Browsers take such a name over https only, and from no other host of the domain.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    DEVICE_COOKIE_NAME = "__Host-device"
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", 31_536_000 if HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$"]  # asked on the machine itself
#: A proxy sets Forwarded, or X-Forwarded-Proto, -For, -Host and -Prefix, and drops those of callers.
TRUST_PROXY = env.bool("TRUST_PROXY", False)
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
#: The back office's interface library evaluates expressions in its markup; only /admin/ may.
BACK_OFFICE_SCRIPT_SOURCES = [SELF, UNSAFE_EVAL]
#: Powers of a browser that no page of ours needs.
PERMISSIONS_POLICY = (
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
    "microphone=(), midi=(), payment=(), usb=(), xr-spatial-tracking=()"
)
DATA_SECURITY_POLICY = protocol.DATA_SECURITY_POLICY
#: Headers of every response.
BROWSER_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS_POLICY,
}
#: Headers of every response to a request over TLS.
TLS_HEADERS = {}
if SECURE_HSTS_SECONDS:
    TLS_HEADERS["Strict-Transport-Security"] = f"max-age={SECURE_HSTS_SECONDS}; includeSubDomains; preload"
#: Headers of what the server refuses before any middleware is called.
REFUSAL_HEADERS = {
    **BROWSER_HEADERS,
    **TLS_HEADERS,
    "Content-Security-Policy": DATA_SECURITY_POLICY,
    "Cache-Control": "no-store",
}
#: Origins whose browser programs may call the interface with a token ("https://app.example.org").
CORS_ALLOWED_ORIGINS = env.list("CORS_ALLOWED_ORIGINS", default=[])
if any(not re.fullmatch(r"https?://[^/*\s]+", origin) for origin in CORS_ALLOWED_ORIGINS):
    raise ImproperlyConfigured("CORS_ALLOWED_ORIGINS holds origins: https://app.example.org.")
#: Where a vulnerability is reported, in /.well-known/security.txt (RFC 9116); no contact, no file.
SECURITY_CONTACT = env.str("SECURITY_CONTACT", "")
if SECURITY_CONTACT and not SECURITY_CONTACT.startswith(("mailto:", "https://", "tel:")):
    raise ImproperlyConfigured("SECURITY_CONTACT is an address: mailto:, https:// or tel:.")

STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_DIR", "") or VAR_DIR / "static")
STATIC_ROOT.mkdir(exist_ok=True)
# The server has what ./run prepare_static collected; tests and commands find files in their packages.
IS_PREPARED = sys.argv[1:2] == ["prepare_static"] or (
    IS_SERVER and (STATIC_ROOT / "staticfiles.json").exists()
)
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if IS_PREPARED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
    "documents": {
        "BACKEND": "apps.documents.storage.DocumentFolder",
        "OPTIONS": {"location": Path(env.str("DOCUMENTS_DIR", "") or VAR_DIR / "documents")},
    },
}
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_USE_FINDERS = True  # nothing has to be collected on a fresh machine
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_MANIFEST_STRICT = False  # a file that is newer than the collected ones is served from its package

# --- the interface ------------------------------------------------------------------------------------

DATA_UPLOAD_MAX_MEMORY_SIZE = None  # bodies are held to API_MAX_BODY_BYTES, forms to Django's field limit
FILE_UPLOAD_HANDLERS = [
    "apps.documents.parsers.FileSizeLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

ODATA_SERVICE = "records_site.service.service"
ODATA_CHANGE_LOG = "apps.core.change_log.change_log"
ODATA_POST_WRAPPER = "apps.access.idempotency.respond_once"
ODATA_READ_LOG = "apps.core.read_log.READ_LOG"
API_PAGE_SIZE = env.int("API_PAGE_SIZE", protocol.API_PAGE_SIZE)
API_TOP_PAGE_SIZE = env.int("API_TOP_PAGE_SIZE", protocol.API_TOP_PAGE_SIZE)  # of requests with $top
API_MAX_PAGE_SIZE = env.int("API_MAX_PAGE_SIZE", protocol.API_MAX_PAGE_SIZE)
API_MAX_RECORDS = env.int("API_MAX_RECORDS", protocol.API_MAX_RECORDS)
API_MAX_BODY_BYTES = env.int("API_MAX_BODY_BYTES", protocol.API_MAX_BODY_BYTES)
API_MAX_LINES = env.int("API_MAX_LINES", protocol.API_MAX_LINES)
# Of a claim or an invoice in forms and imports; those that came by requests are edited in a form as well.
MAX_LINES = max(env.int("MAX_LINES", 300), API_MAX_LINES)
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500 + 20 * MAX_LINES  # of a form: a line of an invoice has fourteen
API_MAX_BATCH_REQUESTS = env.int("API_MAX_BATCH_REQUESTS", protocol.API_MAX_BATCH_REQUESTS)
API_REQUESTS_PER_MINUTE = env.int("API_REQUESTS_PER_MINUTE", 600)
API_REQUESTS_PER_DAY = env.int("API_REQUESTS_PER_DAY", 0)  # 0: no quota
API_TOKEN_SECONDS = env.int("API_TOKEN_SECONDS", 3600)
API_IDEMPOTENCY_SECONDS = env.int("API_IDEMPOTENCY_SECONDS", protocol.API_IDEMPOTENCY_SECONDS)

REST_FRAMEWORK = {
    **protocol.REST_FRAMEWORK,
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.access.authentication.BearerAuthentication",
        "apps.access.authentication.BasicAuthentication",
        "apps.access.authentication.StaffSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.access.authentication.ResourcePermission"],
    "DEFAULT_THROTTLE_CLASSES": ["apps.access.throttling.ApplicationThrottle"],
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Records Service",
    "DESCRIPTION": "Staff, clients and the records around them, over HTTP and JSON in the OData style.",
    "VERSION": "2.0",
    "OAS_VERSION": "3.1.0",
    "PREPROCESSING_HOOKS": ["apps.odata.metadata.openapi.normalise_endpoints"],
    "POSTPROCESSING_HOOKS": ["apps.odata.metadata.openapi.complete_document"],
    "SERVE_AUTHENTICATION": [],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "docExpansion": "none",
        "defaultModelsExpandDepth": 0,
        "displayRequestDuration": True,
        "filter": True,
        "validatorUrl": None,  # else every page view is reported to a third party
    },
}

# --- files of strangers: documents and imports ---------------------------------------------------------

#: clamd, which scans each file before it is used: tcp://127.0.0.1:3310 or unix:/run/clamav/clamd.ctl.
VIRUS_SCANNER = env.str("VIRUS_SCANNER", "")

# --- documents ----------------------------------------------------------------------------------------

DOCUMENT_MAX_FILES = env.int("DOCUMENT_MAX_FILES", 50)  # of one upload
DOCUMENT_MAX_BYTES = env.int("DOCUMENT_MAX_BYTES", 25 * 1024 * 1024)  # of one file
#: Extensions; content must be what the name says. HTML and SVG are left out: browsers run them.
DOCUMENT_TYPES = env.list(
    "DOCUMENT_TYPES",
    default=[
        *("pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf"),
        *("txt", "csv", "eml", "msg", "png", "jpg", "gif", "webp", "tif", "bmp", "heic", "zip"),
    ],
)
#: The address of an internal location of nginx that serves the storage's folder ("/kept/"): nginx then sends
#: the bytes of downloads.
DOCUMENT_ACCEL_PREFIX = env.str("DOCUMENT_ACCEL_PREFIX", "")
if env.str("DOCUMENTS_S3_BUCKET", ""):
    STORAGES["documents"] = {
        "BACKEND": "apps.documents.s3.DocumentBucket",
        "OPTIONS": {
            "bucket_name": env.str("DOCUMENTS_S3_BUCKET"),
            "location": env.str("DOCUMENTS_S3_PREFIX", "documents"),
            "endpoint_url": env.str("DOCUMENTS_S3_ENDPOINT", "") or None,  # AWS's own when not given
            "region_name": env.str("DOCUMENTS_S3_REGION", "") or None,
            # Without a key the machine's own role is used.
            "access_key": env.str("DOCUMENTS_S3_ACCESS_KEY", "") or None,
            "secret_key": env.str("DOCUMENTS_S3_SECRET_KEY", "") or None,
            "addressing_style": env.str("DOCUMENTS_S3_ADDRESSING", "auto"),  # path, for servers of one's own
        },
    }

# --- backups ------------------------------------------------------------------------------------------

BACKUP_PASSPHRASE = env.str("BACKUP_PASSPHRASE", "")
BACKUP_DAYS = env.int("BACKUP_DAYS", 14)  # after which yours are deleted; reports of erasures name the day
BACKUP_PASSPHRASE_FILE = env.str("BACKUP_PASSPHRASE_FILE", "")  # whose text is the passphrase

# --- personal data ------------------------------------------------------------------------------------

READ_LOG_DAYS = env.int("READ_LOG_DAYS", 730)  # after which purge_expired deletes an entry; 0: never
READ_LOG_TO = env.str("READ_LOG_TO", "")  # where each entry is sent as it is written, besides
if not re.fullmatch(r"(syslog://[^/\s]+|(syslog|file):/\S+)?", READ_LOG_TO):
    raise ImproperlyConfigured("READ_LOG_TO is syslog://host:514, syslog:/dev/log or file:/path.")
RETENTION_YEARS = env.int("RETENTION_YEARS", 7)  # after the last service, before which nobody is erased

# --- the back office ----------------------------------------------------------------------------------

UNFOLD = {
    "SITE_TITLE": "Records Service",
    "SITE_HEADER": "Records Service",
    "SITE_SYMBOL": "folder_shared",
    "ACCOUNT": {
        "navigation": [
            {"title": "Change password", "link": reverse_lazy("admin:password_change")},
            {"title": "Two-factor authentication", "link": reverse_lazy("mfa_index")},
            {"title": "Sessions", "link": reverse_lazy("usersessions_list")},
        ],
    },
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("favicon.svg")},
    ],
    "SHOW_VIEW_ON_SITE": False,
    "ENVIRONMENT": "apps.core.admin_base.home.environment_label",
    "DASHBOARD_CALLBACK": "apps.core.admin_base.home.home_page",
    "SIDEBAR": {
        "navigation": "apps.core.admin_base.home.menu",
        "show_search": True,
        "command_search": True,  # its field opens the command palette
    },
    "STYLES": [lambda request: static("back_office.css")],
    "SCRIPTS": [lambda request: static("record_form.js"), lambda request: static("palette.js")],
    "COLORS": {
        "primary": {
            "50": "#eefaf8",
            "100": "#d3f1ec",
            "200": "#a9e3da",
            "300": "#74cdc2",
            "400": "#43b0a5",
            "500": "#28938a",
            "600": "#1d7570",
            "700": "#1b5f5c",
            "800": "#194c4b",
            "900": "#18403f",
            "950": "#082525",
        },
    },
}
#: Shown at the top of every page, so that nobody mistakes a copy for the real thing ("Training").
ENVIRONMENT_LABEL = env.str("ENVIRONMENT_LABEL", "")

#: The apps whose demo data load_demo loads.
DEMO_APPS = DOMAIN_APPS

# --- logging and metrics: one line an event on standard error -----------------------------------------

LOG_FORMAT = env.str("LOG_FORMAT", "text")
if LOG_FORMAT not in ("text", "json"):
    raise ImproperlyConfigured("LOG_FORMAT is text or json.")
LOG_LEVEL = env.str("LOG_LEVEL", "WARNING").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured("LOG_LEVEL is DEBUG, INFO, WARNING, ERROR or CRITICAL.")
LOG_REQUESTS = env.bool("LOG_REQUESTS", False)  # a line for each request
DATABASE_SLOW_SECONDS = env.float(
    "DATABASE_SLOW_SECONDS", 1 if IS_SERVER else 0
)  # such statements are logged
METRICS_TOKEN = env.str("METRICS_TOKEN", "")  # who has it reads /metrics; without it there is no such address

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "records_site.log_lines.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"class": "records_site.log_lines.JsonFormatter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": {"text": "line", "json": "json"}[LOG_FORMAT],
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        # A refused request is an answer, not an event; internal failures are logged by odata.http.exceptions.
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "records.requests": {"level": "INFO"},
    },
}
