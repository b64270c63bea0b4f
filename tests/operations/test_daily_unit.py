"""The daily work that systemd starts."""

import shlex
import subprocess
from pathlib import Path

UNIT = Path(__file__).parents[2] / "ops" / "systemd" / "records-daily.service"


def test_each_command_is_run_though_one_before_it_failed(tmp_path):
    program, called = tmp_path / "run", tmp_path / "called"
    program.write_text(f'#!/bin/sh\necho $1 >> {called}\n[ "$1" != purge_expired ]\n')
    program.chmod(0o755)
    (line,) = (line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart="))
    command = line.removeprefix("ExecStart=").replace("$$", "$").replace("/srv/records/run", str(program))
    assert subprocess.run(shlex.split(command), check=False).returncode == 1
    assert called.read_text().split() == ["purge_expired", "sweep_documents", "make_recurring_invoices"]
