"""The units of systemd, where that is installed: it understands each line of them."""

import shutil
import subprocess

import pytest

from tests.server.server_process import ROOT

ANALYSE = shutil.which("systemd-analyze")
UNITS = ROOT / "ops" / "systemd"

pytestmark = pytest.mark.skipif(ANALYSE is None, reason="systemd is not installed")


@pytest.mark.parametrize("name", sorted(path.name for path in UNITS.iterdir()))
def test_systemd_has_nothing_against_a_unit(name, tmp_path):
    program = shutil.copy(ROOT / "run", tmp_path)
    for path in UNITS.iterdir():
        text = path.read_text().replace("/srv/records/run", program)
        (tmp_path / path.name.replace("@", "@harbour")).write_text(text)
    unit = tmp_path / name.replace("@", "@harbour")
    found = subprocess.run([ANALYSE, "verify", unit], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
