"""``./run bench``: measures on a PostgreSQL of its own, which is gone afterwards."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
    "writes": (2_000, 3_000),
    "overload": (2_000, 3_000),
    "frameworks": (1_000, 100),
    "peers": (1_000, 3_000),
    "money": (2_000, 500_000),
    "growth": (2_000, 3_700),
    "months": (1_000, 100),
    "caseloads": (2_000, 3_700),
    "pages": (1_000, 2_000),
}
#: Measured by name only: they change their many records or the history, or make a second database.
ALONE = frozenset({"money", "growth", "months", "caseloads", "pages"})
LOCK = Path(__file__).with_name("requirements.txt")
#: What other frameworks need; it is not installed among the packages of the product.
PACKAGES = Path(__file__).resolve().parents[1] / ".venv-bench"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument(
        "name", nargs="?", choices=WANTED, help="which measurement; without it all but the last five"
    )
    wanted = parser.parse_args(arguments).name
    names = [wanted] if wanted else [name for name in WANTED if name not in ALONE]
    if {"frameworks", "peers"} & {*names}:
        install_packages()
    if "frameworks" in names:
        install_cap()
    try:
        with tempfile.TemporaryDirectory() as folder, postgres.throwaway_server() as url:
            environment = {"DATABASE_URL": url, "VAR_DIR": folder, "DJANGO_SETTINGS_MODULE": "bench.settings"}
            environment["BENCH_PACKAGES"] = str(PACKAGES)
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


def install_packages() -> None:
    """Install the lock of the other frameworks, unless it is installed."""
    stamp = PACKAGES / "installed"
    if stamp.exists() and stamp.read_text() == LOCK.read_text():
        return
    options = [
        "--quiet",
        "--upgrade",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--target",
        str(PACKAGES),
    ]
    if subprocess.call([sys.executable, "-m", "pip", "install", *options, "-r", str(LOCK)]):
        sys.exit("run: pip could not install bench/requirements.txt: its reason is printed above.")
    stamp.write_text(LOCK.read_text())


def install_cap() -> None:
    """Install SAP CAP as bench/cap locks it. Without npm or its registry, the rest is measured."""
    source, folder = Path(__file__).with_name("cap"), PACKAGES / "cap"
    stamp, lock = folder / "installed", (source / "package-lock.json").read_text()
    shutil.copytree(source, folder, dirs_exist_ok=True)
    if stamp.exists() and stamp.read_text() == lock:
        return
    stamp.unlink(missing_ok=True)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    command += ["--loglevel", "error", "--fetch-retries", "1"]
    if shutil.which("npm") and not subprocess.call(command, cwd=folder, stdout=subprocess.DEVNULL):
        stamp.write_text(lock)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
