"""The container files agree with the service; nothing runs as root, or writes but where it must."""

import re
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "ops" / "container"
DOCKERFILE = (CONTAINER / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def services():
    return yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]


def test_every_folder_of_the_code_is_in_the_image_and_nothing_else():
    wanted = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert all((ROOT / name).exists() for name in wanted)
    # Whatever the settings import or read below the folder of the service.
    assert {"apps", "records_site", "static", "templates", "manage.py", "requirements.txt"} <= set(wanted)
    assert not {"tests", "bench", "docs", "var"} & set(wanted)


def test_the_image_runs_without_root_on_what_was_locked():
    stages = DOCKERFILE.split("FROM ")[1:]
    assert "--require-hashes" in stages[0]
    assert len({stage.split()[0] for stage in stages}) == 1  # a virtual environment fits its own Python only
    assert re.search(r"^USER [1-9]\d+$", stages[-1], re.MULTILINE)
    assert "pip install" not in stages[-1]


def test_every_service_of_ours_is_read_only_without_privileges(services):
    for name in ("migrate", "records", "daily", "front"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]


def test_every_command_is_one_of_the_service(services):
    texts = [" ".join(service["command"]) for service in services.values() if "command" in service]
    named = {name for text in texts for name in re.findall(r"manage\.py (\w+)", text)}
    assert named == {"migrate", "purge_expired", "sweep_documents", "make_recurring_invoices"}
    assert named <= set(get_commands())


def test_only_the_front_has_ports(services):
    assert [name for name, service in services.items() if "ports" in service] == ["front"]
