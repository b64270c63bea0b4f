"""Reading of strangers' bytes in a process of its own, within limits that the kernel holds.

That process has nothing of ours: no connection, no secret in its environment, no Django. Its answer is data,
never code: a process that a file took over can say what is wrong, and nothing else.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
#: By the clock a process may take so many times its seconds of CPU: the machine may be busy.
PATIENCE = 5
OPEN_FILES = 32
_MEMORY_STATUS, _OUTPUT_STATUS = 81, 82


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """``memory`` and ``output`` in bytes, ``seconds`` of CPU."""

    memory: int
    seconds: int
    output: int


class Reason(StrEnum):
    """Why a process ended without its answer."""

    MEMORY = "memory"
    TIME = "time"
    OUTPUT = "output"
    FAULT = "fault"


class ProcessEnded(Exception):
    """The process ended without its answer."""

    def __init__(self, reason: Reason, status: int = 0) -> None:
        super().__init__(f"{reason}, exit status {status}")
        self.reason, self.status = reason, status


#: Rust's allocator aborts, Python raises; the kernel's last resort where memory is short is SIGKILL.
_REASONS = {
    _MEMORY_STATUS: Reason.MEMORY,
    -signal.SIGABRT: Reason.MEMORY,
    -signal.SIGKILL: Reason.MEMORY,
    -signal.SIGXCPU: Reason.TIME,
    _OUTPUT_STATUS: Reason.OUTPUT,
}


def run_limited(module: str, request: Mapping[str, object], limits: ProcessLimits, output: IO[bytes]) -> None:
    """Let ``module`` answer the request into the file ``output``; raises ``ProcessEnded``.

    The module is one whose ``__main__`` calls ``answer_request``. The answer is in a file, not in a pipe, so
    that it is whole before the first of it is used, and may be read more than once.
    """
    argument = json.dumps([asdict(limits), request])
    try:
        status = subprocess.run(  # noqa: S603 - our own interpreter and a module of ours
            [sys.executable, "-E", "-s", "-X", "utf8", "-W", "ignore", "-m", module, argument],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={"PATH": os.defpath},
            timeout=limits.seconds * PATIENCE,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        raise ProcessEnded(Reason.TIME) from None
    if status:
        raise ProcessEnded(_REASONS.get(status, Reason.FAULT), status)


# --- in that process


def answer_request(answer: Callable[[dict[str, object]], Iterable[bytes]]) -> None:
    """Hold this process to its limits, then write what ``answer`` gives for its request."""
    limits, request = json.loads(sys.argv[1])
    hold_to(ProcessLimits(**limits))
    try:
        with os.fdopen(1, "wb", closefd=False) as output:
            output.writelines(answer(request))
    except MemoryError:
        os._exit(_MEMORY_STATUS)
    except OSError as error:
        os._exit(_OUTPUT_STATUS if error.errno == errno.EFBIG else 1)


def hold_to(limits: ProcessLimits) -> None:
    """Set the limits, which nothing in the process can raise again."""
    if sys.platform != "darwin":  # which has no such limit
        set_limit(resource.RLIMIT_AS, limits.memory)
    set_limit(resource.RLIMIT_CPU, limits.seconds, grace=1)  # told by a signal of its own, then killed
    set_limit(resource.RLIMIT_FSIZE, limits.output)
    set_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    set_limit(resource.RLIMIT_NPROC, 0)  # it starts none
    set_limit(resource.RLIMIT_CORE, 0)  # a dump would hold the file's records


def set_limit(kind: int, amount: int, grace: int = 0) -> None:
    _, allowed = resource.getrlimit(kind)
    first, last = (
        each if allowed == resource.RLIM_INFINITY else min(each, allowed) for each in (amount, amount + grace)
    )
    resource.setrlimit(kind, (first, last))
