"""A scanner that talks as clamd does and finds one text."""

import contextlib
import socketserver
import threading

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


class Conversation(socketserver.StreamRequestHandler):
    def handle(self):
        command = b""
        while not command.endswith(b"\0"):
            command += self.rfile.read(1)
        if command == b"zPING\0":
            self.wfile.write(b"PONG\0")
            return
        assert command == b"zINSTREAM\0"
        content = b""
        while length := int.from_bytes(self.rfile.read(4), "big"):
            content += self.rfile.read(length)
            if len(content) > self.server.stream_max_length:
                self.wfile.write(b"INSTREAM size limit exceeded. ERROR\0")
                return
        self.server.scanned.append(content)
        if self.server.answer is None:
            found = EICAR in content
            self.wfile.write(b"stream: Eicar-Test-Signature FOUND\0" if found else b"stream: OK\0")
        else:
            self.wfile.write(self.server.answer)


@contextlib.contextmanager
def running_scanner(settings, server_class=socketserver.ThreadingTCPServer, address=("127.0.0.1", 0)):
    """The setting names it meanwhile; ``scanned`` has what it got."""
    with server_class(address, Conversation) as server:
        server.daemon_threads = True
        server.scanned, server.answer, server.stream_max_length = [], None, 25 << 20
        is_unix = isinstance(server.server_address, str)
        settings.VIRUS_SCANNER = (
            f"unix:{server.server_address}" if is_unix else f"tcp://127.0.0.1:{server.server_address[1]}"
        )
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
