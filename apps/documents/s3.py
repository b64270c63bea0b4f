"""Documents in a bucket of Amazon S3, or of anything else that speaks its protocol.

Needs the libraries of requirements-s3.txt; nothing imports it but the setting that names it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from storages.backends.s3 import S3Storage

from apps.documents.storage import PIECE

PART = 8 * 1024 * 1024


class ObjectPieces:
    """A part of an object, as it comes from the bucket."""

    def __init__(self, body: Any) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        yield from self.body.iter_chunks(PIECE)

    def close(self) -> None:
        self.body.close()


class DocumentBucket(S3Storage):
    """Files in a bucket. An object is there whole or not at all."""

    def get_default_settings(self) -> dict[str, Any]:
        return {
            **super().get_default_settings(),
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,  # keys are new; nobody needs to look first
            # One part in memory at a time, however many uploads are under way.
            "transfer_config": TransferConfig(
                use_threads=False, multipart_threshold=PART, multipart_chunksize=PART
            ),
            "client_config": Config(
                connect_timeout=5,
                read_timeout=30,
                retries={"max_attempts": 3, "mode": "standard"},
                # Not every server that speaks S3 knows the newer checksums.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        }

    def reading(self, name: str, start: int, length: int) -> ObjectPieces:
        part = {"Range": f"bytes={start}-{start + length - 1}"}
        found = self.bucket.Object(self._normalize_name(name)).get(**part)
        return ObjectPieces(found["Body"])

    def listing(self) -> Iterator[tuple[str, dt.datetime]]:
        before = self._normalize_name("")
        for found in self.bucket.objects.filter(Prefix=before):
            yield found.key.removeprefix(before).removeprefix("/"), found.last_modified

    def drop_unfinished(self, before: dt.datetime) -> int:
        """Parts of uploads that were never finished are seen by nobody, and paid for."""
        dropped = 0
        for upload in self.bucket.multipart_uploads.filter(Prefix=self._normalize_name("")):
            if upload.initiated < before:
                upload.Object().meta.client.abort_multipart_upload(
                    Bucket=self.bucket_name, Key=upload.object_key, UploadId=upload.id
                )
                dropped += 1
        return dropped
