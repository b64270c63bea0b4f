"""Documents in a bucket of Amazon S3, or of anything else that speaks its protocol.

Needs the libraries of requirements-extras.txt; only the setting that names it imports it.
"""

import datetime as dt
from collections.abc import Iterator

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from storages.backends.s3 import S3Storage

from apps.documents.storage import DocumentStorage, read_chunks

PART = 8 * 1024 * 1024


class DocumentBucket(S3Storage, DocumentStorage):
    """Files in a bucket. An object is complete or does not exist."""

    def get_default_settings(self) -> dict[str, object]:
        return {
            **super().get_default_settings(),
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,  # keys are new: no need to look for an existing object
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

    def read_range(self, name: str, start: int, length: int) -> Iterator[bytes]:
        byte_range = f"bytes={start}-{start + length - 1}"
        response = self.bucket.Object(self._normalize_name(name)).get(Range=byte_range)
        return read_chunks(response["Body"], length)

    def list_files(self) -> Iterator[tuple[str, dt.datetime]]:
        prefix = self._normalize_name("")
        for item in self.bucket.objects.filter(Prefix=prefix):
            yield item.key.removeprefix(prefix).removeprefix("/"), item.last_modified

    def abort_uploads(self, before: dt.datetime) -> int:
        """Parts of unfinished uploads are invisible, and paid for."""
        aborted = 0
        for upload in self.bucket.multipart_uploads.filter(Prefix=self._normalize_name("")):
            if upload.initiated < before:
                upload.Object().meta.client.abort_multipart_upload(
                    Bucket=self.bucket_name, Key=upload.object_key, UploadId=upload.id
                )
                aborted += 1
        return aborted
