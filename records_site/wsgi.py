"""What the web server calls: `records_site.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

from apps.odata.http.requests import CheckedRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")

application = get_wsgi_application()
application.request_class = CheckedRequest
