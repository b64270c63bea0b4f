"""./run write_interface: writes $metadata, OpenAPI and docs/api.md; names what breaks clients."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")
django.setup()

from tests.interface_documents.documents import write_documents  # noqa: E402  the settings come first

if changes := write_documents():
    sys.exit("\n".join(["These changes break clients of a released version:", *changes]))
