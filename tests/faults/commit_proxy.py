"""A proxy before PostgreSQL's socket, which cuts connections where a transaction is committed."""

import contextlib
import shutil
import socket
import tempfile
import threading
from pathlib import Path

SOCKET = ".s.PGSQL.5432"
#: The end of the client's message, and of the server's answer that the transaction is stored.
COMMIT = b"COMMIT\x00"
BYTES = 256 * 1024


class CommitProxy:
    """A folder with a socket that leads to PostgreSQL's; ``cut`` names where the next commits are cut."""

    BEFORE, AFTER = "before", "after"

    def __init__(self, target):
        self.folder, self.target = Path(tempfile.mkdtemp(prefix="records-proxy-", dir="/tmp")), target
        self.changed, self.place, self.remaining = threading.Condition(), None, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / SOCKET))
        self.listener.listen(100)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        shutil.rmtree(self.folder)

    def cut(self, place, commits, seconds):
        """Cut the connections of so many commits, before PostgreSQL has the message or after its answer."""
        with self.changed:
            self.place, self.remaining = place, commits
            if not self.changed.wait_for(lambda: not self.remaining, seconds):
                raise AssertionError(f"{self.remaining} commits too few within {seconds} s")

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.target / SOCKET))
            except OSError:  # PostgreSQL does not run
                client.close()
                continue
            for source, sink, place in ((client, server, self.BEFORE), (server, client, self.AFTER)):
                threading.Thread(target=self.forward, args=[source, sink, place], daemon=True).start()

    def forward(self, source, sink, place):
        with contextlib.suppress(OSError):
            while (data := source.recv(BYTES)) and not (COMMIT in data and self.takes_cut(place)):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def takes_cut(self, place):
        with self.changed:
            if place != self.place or not self.remaining:
                return False
            self.remaining -= 1
            self.changed.notify_all()
            return True
