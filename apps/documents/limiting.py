"""Holds the files of every form of ours to the limit of documents while they are still being read."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler


class SizeLimit(FileUploadHandler):
    """Stands before Django's own upload handlers: nobody fills the disk with one file of a form."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        if start + len(raw_data) > settings.DOCUMENT_MAX_BYTES:
            raise RequestDataTooBig(f"A file holds at most {settings.DOCUMENT_MAX_BYTES:,} bytes.")
        return raw_data

    def file_complete(self, file_size: int) -> Any:
        return None
