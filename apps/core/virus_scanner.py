"""The virus scanner that the setting ``VIRUS_SCANNER`` names: clamd, asked by its command INSTREAM.

Two commands of its protocol are needed. Libraries for it read a file themselves; here the storage reads, and
what it reads is scanned on the way.
"""

import logging
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from apps.base.errors import TooLarge, Unavailable

logger = logging.getLogger("records.virus_scanner")

PORT = 3310
#: Seconds for a connection, and for what a scan takes once the scanner has all bytes.
CONNECT_SECONDS, SCAN_SECONDS, PING_SECONDS = 5, 60, 1
CHUNK_SIZE = 64 * 1024
_SIZE_LIMIT = b"size limit exceeded"


class ScannerUnavailable(Unavailable):
    """The scanner cannot be reached, or gives no verdict."""


class FileTooLargeToScan(TooLarge):
    """The scanner takes no file of this size."""


class Scan:
    """A stream that is scanned while it passes."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self.source = source
        self.found: str | None = None

    @property
    def virus(self) -> str:
        """The virus that was found, empty for none; ``ScannerUnavailable`` when not all was read."""
        if self.found is None:
            raise scanner_unavailable("the file was not read to its end")
        return self.found

    def chunks(self) -> Iterator[bytes]:
        """Raises ``ScannerUnavailable`` or ``FileTooLargeToScan``, before the end of the stream."""
        if not settings.VIRUS_SCANNER:
            yield from filter(None, self.source)  # one without bytes would be the end
            self.found = ""
            return
        with connected(CONNECT_SECONDS) as scanner:
            scanner.settimeout(SCAN_SECONDS)
            send(scanner, b"zINSTREAM\0")
            for chunk in self.source:
                if chunk:
                    send(scanner, len(chunk).to_bytes(4, "big") + chunk)
                    yield chunk
            send(scanner, bytes(4))
            self.found = read_verdict(scanner)


def virus_in(content: bytes) -> str:
    """The virus that the scanner finds in a file; empty for none. Raises as ``Scan.chunks``."""
    scan = Scan(content[at : at + CHUNK_SIZE] for at in range(0, len(content), CHUNK_SIZE))
    for _ in scan.chunks():
        pass
    return scan.virus


def virus_sentence(file_name: str, virus: str) -> str:
    return f"{file_name} is refused: the virus scanner found {virus} in it."


def connected(seconds: float) -> socket.socket:
    address = urlsplit(settings.VIRUS_SCANNER)
    try:
        if address.scheme == "unix":
            scanner = socket.socket(socket.AF_UNIX)
            scanner.settimeout(seconds)
            scanner.connect(address.path)
            return scanner
        return socket.create_connection((address.hostname or "", address.port or PORT), timeout=seconds)
    except OSError as error:
        raise scanner_unavailable(str(error)) from None


def send(scanner: socket.socket, content: bytes) -> None:
    try:
        scanner.sendall(content)
    except OSError as error:
        # It says why before it closes the connection.
        with suppress(OSError):
            if _SIZE_LIMIT in scanner.recv(1024):
                raise too_large() from None
        raise scanner_unavailable(str(error)) from None


def read_verdict(scanner: socket.socket) -> str:
    answer = b""
    try:
        while not answer.endswith(b"\0") and len(answer) < 1024 and (read := scanner.recv(1024)):
            answer += read
    except OSError as error:
        raise scanner_unavailable(str(error)) from None
    text = answer.rstrip(b"\0").decode("ascii", "replace").removeprefix("stream: ")
    if text == "OK":
        return ""
    if _SIZE_LIMIT in answer:
        raise too_large()
    if not text.endswith(" FOUND"):
        raise scanner_unavailable(f"it answers {text[:100]!r}")
    virus = text.removesuffix(" FOUND")
    logger.warning("a file was refused: the scanner found %s", virus)
    return virus


def scanner_unavailable(reason: str) -> ScannerUnavailable:
    logger.error("the virus scanner gives no verdict: %s", reason)
    sentence = "The virus scanner does not answer, and no file is stored unscanned. Try again later."
    return ScannerUnavailable(sentence, headers={"Retry-After": "30"})


def too_large() -> FileTooLargeToScan:
    logger.error("a file is larger than clamd's StreamMaxLength; it should be DOCUMENT_MAX_BYTES at least")
    return FileTooLargeToScan("The virus scanner takes no file of this size, and none is stored unscanned.")


# --- whether it is there


def scanner_answers() -> bool:
    try:
        with connected(PING_SECONDS) as scanner:
            scanner.sendall(b"zPING\0")
            return scanner.recv(16).startswith(b"PONG")
    except (OSError, Unavailable):
        return False


def is_address(text: str) -> bool:
    """``tcp://host:port`` or ``unix:/path``."""
    try:
        address = urlsplit(text)
        is_host = address.scheme == "tcp" and bool(address.hostname) and address.port != 0
    except ValueError:
        return False
    return is_host or (address.scheme == "unix" and address.path.startswith("/"))


def check_scanner(**_: object) -> list[CheckMessage]:
    """A check of a deployment: the scanner is one, and answers."""
    if not settings.VIRUS_SCANNER:
        return []
    if not is_address(settings.VIRUS_SCANNER):
        hint = "tcp://127.0.0.1:3310 or unix:/run/clamav/clamd.ctl"
        return [Error("VIRUS_SCANNER names no scanner.", hint=hint, id="core.E001")]
    if not scanner_answers():
        hint = "Until it answers no file is taken. Is clamd running, and may this user ask it?"
        return [Warning("The virus scanner does not answer.", hint=hint, id="core.W001")]
    return []
