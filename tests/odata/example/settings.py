"""All that a site needs besides Django's own settings."""

from apps.odata.default_settings import *  # noqa: F403

SECRET_KEY = "of an example"
USE_TZ = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["apps.odata", "tests.odata.example"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
MIDDLEWARE = ["apps.odata.http.middleware.CompressionMiddleware"]
ROOT_URLCONF = "tests.odata.example.library"
ODATA_SERVICE = "tests.odata.example.library.service"
