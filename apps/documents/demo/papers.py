"""The files of the demo: letters, lists, pictures and mails of a few kilobytes, always the same."""

from __future__ import annotations

import csv
import io
import struct
import zlib
from collections.abc import Iterable, Sequence

LINES_ON_A_PAGE = 46


def pdf(title: str, lines: Sequence[str]) -> bytes:
    """A letter on A4, one page, in a font that every reader has (ISO 32000-1, without compression)."""
    text = [f"BT /F2 17 Tf 56 770 Td ({escaped(title)}) Tj ET", "BT /F1 10.5 Tf 56 738 Td 15 TL"]
    text += [f"({escaped(line)}) Tj T*" for line in lines[:LINES_ON_A_PAGE]]
    content = "\n".join([*text, "ET"]).encode("cp1252", "replace")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    )
    return b"".join(assembled(objects))


def assembled(objects: Iterable[bytes]) -> Iterable[bytes]:
    """A PDF of these objects, with the table of where each begins."""
    whole = b"%PDF-1.4\n"
    starts = []
    for number, each in enumerate(objects, 1):
        starts.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    yield whole
    yield b"xref\n0 %d\n0000000000 65535 f \n" % (len(starts) + 1)
    yield from (b"%010d 00000 n \n" % start for start in starts)
    yield b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(starts) + 1)
    yield b"startxref\n%d\n%%%%EOF\n" % len(whole)


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file as spreadsheets write it."""
    held = io.StringIO()
    writer = csv.writer(held)
    writer.writerow(header)
    writer.writerows(rows)
    return held.getvalue().encode()


def picture(colour: tuple[int, int, int], width: int = 320, height: int = 200) -> bytes:
    """A PNG: the colour fading from top to bottom, a card with a stripe upon it."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        shade = 0.55 + 0.45 * y / height
        plain = bytes(min(255, int(part * shade)) for part in colour)
        if not height // 5 < y < height * 4 // 5:
            rows += plain * width
            continue
        card = b"\xf4\xf4\xf0" if not height * 2 // 5 < y < height // 2 else bytes(colour)
        rows += plain * (width // 8) + card * (width - 2 * (width // 8)) + plain * (width // 8)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def mail(sender: str, subject: str, date: str, lines: Sequence[str]) -> bytes:
    """A mail as it is saved from a mailbox (RFC 5322)."""
    head = (
        f"From: {sender}",
        "To: office@example.com",
        f"Subject: {subject}",
        f"Date: {date}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "",
    )
    return "\r\n".join([*head, *lines, ""]).encode()
