"""A server of mail that speaks as much of SMTP as a client needs, and refuses what it is told to."""

import contextlib
import email
import email.policy
import socketserver
import threading


class Session(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self):
        self.say("220 test")
        recipients = []
        for line in iter(self.rfile.readline, b""):
            word = line[:4].upper()
            if word == b"DATA":
                self.say("354 go on")
                content = b"".join(iter(self.rfile.readline, b".\r\n"))
                if self.server.refusals:
                    self.server.refusals -= 1
                    self.say("451 try again later")
                else:
                    message = email.message_from_bytes(content, policy=email.policy.default)
                    self.server.received.append((recipients, message))
                    self.say("250 taken")
            elif word == b"QUIT":
                self.say("221 bye")
                return
            else:
                if word == b"RCPT":
                    recipients.append(line.partition(b"<")[2].partition(b">")[0].decode())
                self.say("250 fine")

    def say(self, text):
        self.wfile.write(f"{text}\r\n".encode())


@contextlib.contextmanager
def running_mail_server(settings):
    """A server that our mail goes to: ``received`` are its messages; the next ``refusals`` it refuses."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        server.daemon_threads = True
        server.received, server.refusals = [], 0
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
