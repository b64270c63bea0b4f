"""A process that does what a test asks of it, as a file might that took it over."""

import os
import sys
import time

from apps.core.untrusted import answer_request


def answer(request):
    match request["do"]:
        case "tell":
            names = sorted(os.environ)
            files = sorted(int(name) for name in os.listdir("/dev/fd"))
            yield repr((names, files, sorted({name.partition(".")[0] for name in sys.modules}))).encode()
        case "allocate":
            yield bytes(1 << 30)
        case "abort":
            os.abort()
        case "compute":
            while True:
                pass
        case "wait":
            time.sleep(60)
        case "write":
            while True:
                yield b"x" * 65_536
        case "leave":
            os._exit(3)
        case "start":
            os.fork()


if __name__ == "__main__":
    answer_request(answer)
