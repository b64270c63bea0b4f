"""``./run bench``: measures on a PostgreSQL of its own, which is gone afterwards."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from tests import postgres

#: How many contacts and claims each measurement wants in the database.
WANTED = {
    "speed": (1_000, 3_000),
    "bare": (1_000, 3_000),
    "batch": (1_000, 100),
    "bounds": (200_000, 200_000),
    "sums": (1_000, 200_000),
    "sync": (1_000, 200_000),
    "read_log": (1_000, 100),
    "servers": (20_000, 3_000),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=WANTED, help="which measurement; without it all")
    wanted = parser.parse_args(arguments).name
    names = [wanted] if wanted else [*WANTED]
    try:
        with tempfile.TemporaryDirectory() as folder, postgres.throwaway_server() as url:
            environment = {"DATABASE_URL": url, "VAR_DIR": folder, "DJANGO_SETTINGS_MODULE": "bench.settings"}
            # A process for each: what one leaves in memory is not the next one's.
            commands = [
                ["fill", *(str(max(numbers)) for numbers in zip(*(WANTED[n] for n in names), strict=True))],
                *(["measure", n] for n in names),
            ]
            for words in commands:
                command = [sys.executable, "-W", "ignore", "-m", "django", *words]
                status = subprocess.call(command, env={**os.environ, **environment})
                if status:
                    return status
    except postgres.Unavailable as reason:
        sys.exit(f"run: {reason}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
