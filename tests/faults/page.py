"""docs/faults.md, a section of which each recording command writes."""

import os
import platform
import re
from datetime import UTC, datetime

import django

from tests import postgres
from tests.server.server_process import ROOT

PAGE = ROOT / "docs" / "faults.md"


def origin(command):
    """The sentence on what was run, when and where."""
    engine = postgres.version(postgres.find_programs(postgres.usual_places()))
    versions = f"Python {platform.python_version()}, Django {django.get_version()}, PostgreSQL {engine}"
    machine = f"{os.cpu_count()} processors whose load is {os.getloadavg()[2]:.0f}"
    return f"Written by `./run test {command}` on {datetime.now(UTC):%Y-%m-%d}: {versions}, {machine}.\n"


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def replace_section(title, text):
    """Write the text below its heading, in the place of what stood there."""
    page = PAGE.read_text() if PAGE.exists() else "# Faults, races and made-up requests\n"
    kept = re.sub(rf"## {re.escape(title)}\n.*?(?=^## |\Z)", "", page, flags=re.DOTALL | re.MULTILINE)
    PAGE.write_text(f"{kept.rstrip()}\n\n## {title}\n\n{text.strip()}\n")
