"""Files encrypted by a passphrase in the format of age (age-encryption.org/v1): ``age -d`` reads them too."""

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from itertools import chain

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from apps.operations.tables import OperationError

VERSION = b"age-encryption.org/v1\n"
SCRYPT_LABEL = b"age-encryption.org/v1/scrypt"
BLOCK_SIZE = 64 * 1024
TAG_SIZE = 16
NONCE_SIZE = 16
#: The cost of guessing a passphrase: 2 to this power, 128 MB of memory a guess; OWASP asks for no less.
WORK_FACTOR = 17
GREATEST_WORK_FACTOR = 20


class FileEncryption:
    """Encrypts and decrypts streams by a passphrase.

    The files of one backup have one header and so one derivation from the passphrase, which is slow on
    purpose; each has a key of its own, derived from the header's key and a random nonce.
    """

    def __init__(self, passphrase: str) -> None:
        self.passphrase = passphrase.encode()
        self.file_keys: dict[bytes, bytes] = {}
        self.header = b""

    def encrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The stream, encrypted."""
        if not self.header:
            self.header = self.make_header()
        nonce = os.urandom(NONCE_SIZE)
        yield self.header + nonce
        cipher = ChaCha20Poly1305(derive_key(self.file_keys[self.header], nonce, b"payload"))
        for number, (block, is_last) in enumerate(split_blocks(chunks, BLOCK_SIZE)):
            yield cipher.encrypt(block_nonce(number, is_last), block, None)

    def decrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The stream, decrypted. Raises ``OperationError`` in place of a block that was changed."""
        stream = iter(chunks)
        start = b""
        while start.count(b"\n") < 4 and (chunk := next(stream, b"")):
            start += chunk
        *lines, rest = start.split(b"\n", 4)
        if len(lines) < 4 or lines[0] + b"\n" != VERSION:
            raise OperationError("It is not encrypted in the age format.")
        header = b"\n".join(lines) + b"\n"
        file_key = self.file_keys.get(header) or self.read_header(header, lines)
        while len(rest) < NONCE_SIZE and (chunk := next(stream, b"")):
            rest += chunk
        cipher = ChaCha20Poly1305(derive_key(file_key, rest[:NONCE_SIZE], b"payload"))
        payload = chain([rest[NONCE_SIZE:]], stream)
        for number, (block, is_last) in enumerate(split_blocks(payload, BLOCK_SIZE + TAG_SIZE)):
            try:
                yield cipher.decrypt(block_nonce(number, is_last), block, None)
            except InvalidTag:
                raise OperationError("It was changed or cut off after it was encrypted.") from None

    def make_header(self) -> bytes:
        file_key, salt = os.urandom(16), os.urandom(16)
        wrapped = ChaCha20Poly1305(self.wrap_key(salt, WORK_FACTOR)).encrypt(bytes(12), file_key, None)
        stanza = b"-> scrypt %s %d\n%s\n" % (encode(salt), WORK_FACTOR, encode(wrapped))
        signed = VERSION + stanza + b"---"
        header = signed + b" " + encode(sign(file_key, signed)) + b"\n"
        self.file_keys[header] = file_key
        return header

    def read_header(self, header: bytes, lines: list[bytes]) -> bytes:
        """The key of a header. Raises ``OperationError`` for another passphrase."""
        words = lines[1].split(b" ")
        if words[:2] != [b"->", b"scrypt"] or len(words) != 4 or not words[3].isdigit():
            raise OperationError("It is not encrypted by a passphrase.")
        if int(words[3]) > GREATEST_WORK_FACTOR:
            raise OperationError("Its header asks for more work than a passphrase of ours.")
        try:
            salt, wrapped, signature = (
                decode(words[2]),
                decode(lines[2]),
                decode(lines[3].removeprefix(b"--- ")),
            )
            wrap_key = self.wrap_key(salt, int(words[3]))
            file_key = ChaCha20Poly1305(wrap_key).decrypt(bytes(12), wrapped, None)
        except (InvalidTag, ValueError):
            raise OperationError("The passphrase is not the one it was encrypted with.") from None
        signed = header[: header.rindex(b"---") + 3]
        if not hmac.compare_digest(sign(file_key, signed), signature):
            raise OperationError("Its header was changed after it was encrypted.")
        self.file_keys[header] = file_key
        return file_key

    def wrap_key(self, salt: bytes, work_factor: int) -> bytes:
        # As much memory as the derivation takes, and what the library needs around it.
        memory = 128 * 8 * 2**work_factor + 2**20
        return hashlib.scrypt(
            self.passphrase, salt=SCRYPT_LABEL + salt, n=2**work_factor, r=8, p=1, maxmem=memory, dklen=32
        )


def derive_key(file_key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=salt, info=purpose).derive(file_key)


def sign(file_key: bytes, header: bytes) -> bytes:
    return hmac.digest(derive_key(file_key, b"", b"header"), header, "sha256")


def block_nonce(number: int, is_last: bool) -> bytes:
    """Blocks are numbered and the last one is marked: none can be moved, and the end cannot be cut off."""
    return number.to_bytes(11, "big") + bytes([is_last])


def split_blocks(chunks: Iterable[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Blocks of one size, and whether each is the last: that may be shorter, and comes for no bytes too."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) > size:
            yield bytes(buffer[:size]), False
            del buffer[:size]
    yield bytes(buffer), True


def encode(value: bytes) -> bytes:
    return b64encode(value).rstrip(b"=")


def decode(text: bytes) -> bytes:
    return b64decode(text + b"=" * (-len(text) % 4), validate=True)
