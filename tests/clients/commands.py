"""Programs that clients are installed, generated and run with."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SECONDS = 120


class Failed(Exception):
    """A command without success; the text is what it printed."""


def execute(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: int = SECONDS,
) -> str:
    """What a command prints; ``Failed`` when it does not succeed in time."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{command[0]} takes over {seconds} seconds") from late
    if done.returncode:
        raise Failed(f"{command[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout.strip()
