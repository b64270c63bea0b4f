"""The software bill of materials: every package of the lock, with a licence that allows its use here."""

import json
import re
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

PERMISSIVE = {
    *("MIT", "MIT License", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "PSF-2.0", "Apache-2.0"),
    *("MIT-0", "MIT-CMU", "Apache-2.0 OR BSD-3-Clause"),
    *("Apache Software License", "Python Software Foundation License", "Zope Public License"),
    *("MIT OR Apache-2.0", "Apache-2.0 OR BSD-2-Clause", "BSD 3-Clause OR Apache-2.0"),
}
#: Used as they are, as libraries that anybody can replace: the service's own text need not be given away.
MOZILLA = "Mozilla Public License 2.0 (MPL 2.0)"
LESSER = {
    "certifi": {MOZILLA},
    "fido2": {"BSD License", "Apache Software License", MOZILLA},  # a list of domains in it is Mozilla's
    "psycopg": {"LGPL-3.0-only"},
    "psycopg-binary": {"LGPL-3.0-only"},
    "psycopg-pool": {"LGPL-3.0-only"},
    "python-stdnum": {"GNU Lesser General Public License v2 or later (LGPLv2+)"},
    "qrcode": {"BSD License", "Other/Proprietary License"},  # the name "QR Code" is a registered trade mark
}
#: What the schema of CycloneDX 1.6 demands of a component and of a hash.
HASH = re.compile(r"[0-9a-f]{64}")


@pytest.fixture(scope="module")
def document():
    printed = StringIO()
    call_command("sbom", stdout=printed)
    return json.loads(printed.getvalue())


def licences(component):
    """Licences that hold together: SPDX's AND is taken apart."""
    entries = [entry.get("expression") or entry["license"]["name"] for entry in component["licenses"]]
    return [licence for entry in entries for licence in entry.split(" AND ")]


def test_the_document_is_cyclonedx(document):
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    for component in document["components"]:
        assert component["type"] == "library"
        assert component["name"]
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        assert component["hashes"]
        assert all(
            each["alg"] == "SHA-256" and HASH.fullmatch(each["content"]) for each in component["hashes"]
        )
        # An expression stands alone; names may be several.
        assert len(component["licenses"]) == 1 or all("license" in each for each in component["licenses"])


def test_every_package_of_the_lock_is_in_it_once(document):
    lock = (settings.BASE_DIR / "requirements.txt").read_text()
    names = [component["name"] for component in document["components"]]
    assert len(names) == len(set(names))
    for_windows = set(re.findall(r"^([a-z0-9-]+)==\S+ ; sys_platform == 'win32'", lock, re.MULTILINE))
    assert set(names) == set(re.findall(r"^([a-z0-9-]+)(?:\[.*)?==", lock, re.MULTILINE)) - for_windows


def test_every_package_is_needed_by_the_service_or_by_another(document):
    needs = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
    references = {component["bom-ref"] for component in document["components"]}
    assert needs.keys() == references | {"records-service"}
    assert {reference for others in needs.values() for reference in others} == references
    assert any("pkg:pypi/django@" in reference for reference in needs["records-service"])


def test_every_package_has_a_licence_that_is_allowed(document):
    refused = {
        component["name"]: set(licences(component))
        for component in document["components"]
        if not licences(component) or not set(licences(component)) <= PERMISSIVE
    }
    assert refused == LESSER


def test_the_same_lock_gives_the_same_document(document):
    printed = StringIO()
    call_command("sbom", stdout=printed)
    assert json.loads(printed.getvalue()) == document


def test_a_lock_that_is_not_there_is_a_sentence():
    with pytest.raises(CommandError, match="No such file"):
        call_command("sbom", lock="nothing.txt")
