"""A million contacts into PostgreSQL by `./run import_records`: rows a second, and the memory it takes.

    .venv/bin/python -m bench.import_contacts [--rows N] [--again]

Starts a PostgreSQL of its own unless DATABASE_URL names one, whose contacts it then deletes.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = (
    "Unique code", "First name", "Surname", "Title", "Gender", "Date of birth", "NDIS number", "Email",
    "Mobile", "Street", "Suburb", "State", "Postcode", "Country",
)  # fmt: skip
FIRST = ("Ada", "Bao", "Clara", "Dinh", "Elena", "Farid", "Grace", "Hugo", "Isla", "Jonah", "Kirra", "Lena")
LAST = ("Abbott", "Bakker", "Cheng", "Dunn", "Eriksen", "Falzon", "Grieve", "Hadley", "Jovic", "Kaur", "Lowe")
TITLES = ("Mr", "Ms", "Mrs", "Mx", "Dr", "")
PLACES = (
    ("Parramatta", "NSW", "2150"),
    ("Geelong", "VIC", "3220"),
    ("Toowoomba", "QLD", "4350"),
    ("Fremantle", "WA", "6160"),
    ("Glenelg", "SA", "5045"),
    ("Launceston", "TAS", "7250"),
    ("Palmerston", "NT", "0830"),
    ("Belconnen", "ACT", "2617"),
)


def write_contacts(path: Path, rows: int, seed: int = 7, name_parts: int = 1) -> None:
    """A CSV file of contacts, the same for the same seed. There are 132 names of one part, 17,000 of two."""
    chance = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for number in range(rows):
            first, last = (
                "-".join(chance.choice(names) for _ in range(name_parts)) for names in (FIRST, LAST)
            )
            born = f"{chance.randint(1, 28):02}/{chance.randint(1, 12):02}/{chance.randint(1930, 2020)}"
            writer.writerow(
                (
                    f"P{number:07}",
                    first,
                    last,
                    chance.choice(TITLES),
                    chance.choice(("Male", "Female", "Unspecified")),
                    born,
                    f"43{number:07}",
                    f"{first}.{last}{number}@example.org".lower(),
                    f"04{chance.randrange(10**8):08}",
                    f"{chance.randint(1, 300)} {chance.choice(LAST)} Street",
                    *chance.choice(PLACES),
                    "Australia",
                )
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--again", action="store_true", help="import the file a second time as well")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "contacts.csv"
        write_contacts(path, options.rows, name_parts=2)
        print(f"{options.rows:,} contacts of {len(HEADER)} columns, {path.stat().st_size >> 20} MiB")
        if "DATABASE_URL" not in os.environ:
            sys.path.insert(0, str(ROOT))
            from tests.postgres import throwaway_server

            os.environ["DATABASE_URL"] = stack.enter_context(throwaway_server())
        manage("migrate", "--verbosity", "0")
        manage("shell", "--no-imports", "-c", CLEAR)
        for attempt in ("first run", "second run")[: 2 if options.again else 1]:
            began, used = time.perf_counter(), cpu_seconds()
            manage("import_records", "contact", str(path))
            took = time.perf_counter() - began
            print(
                f"{attempt}: {took:.1f} s, {options.rows / took:,.0f} rows/s; the process used "
                f"{cpu_seconds() - used:.1f} s of CPU and {peak_mib():.0f} MiB"
            )


CLEAR = """
from django.db import connection
connection.cursor().execute("TRUNCATE people_contact, core_change CASCADE")
"""


def manage(*words: str) -> None:
    """One command of the service in a process of its own."""
    subprocess.run([sys.executable, str(ROOT / "manage.py"), *words], check=True, cwd=ROOT)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mib() -> float:
    """The most memory that any command held."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20


if __name__ == "__main__":
    main()
