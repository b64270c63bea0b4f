"""./run sbom: the packages that the service runs on, as a CycloneDX 1.6 document."""

import json
import re
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from packaging.markers import Marker

SERVICE = "records-service"

_PACKAGE = re.compile(r"(?P<name>[a-z0-9-]+)(?:\[[^]]*])?==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
#: "# via django", or one of several parents on lines of their own; "-r requirements.in" is the service.
_PARENT = re.compile(r"#(?: via|  ) +(?!-c )(?P<name>[^\s\[]+)")


@dataclass
class LockedPackage:
    """A package of the lock; ``parents`` are the packages that need it, ``hashes`` those of its files."""

    name: str
    version: str
    hashes: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)

    @property
    def reference(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


class Command(BaseCommand):
    help = "Prints a software bill of materials (CycloneDX 1.6, JSON) of the locked packages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--lock", default="requirements.txt", help="default: %(default)s")

    def handle(self, *arguments: object, **options: Any) -> None:
        try:
            text = (settings.BASE_DIR / options["lock"]).read_text()
            bill = bill_of_materials(text)
        except (OSError, metadata.PackageNotFoundError) as error:
            raise CommandError(f"{error}") from None
        self.stdout.write(json.dumps(bill, indent=2))


def bill_of_materials(lock: str) -> dict[str, object]:
    """The document; the same for the same lock."""
    packages = list(locked_packages(lock))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, lock).urn,
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": SERVICE, "name": SERVICE}},
        "components": [component(package) for package in packages],
        "dependencies": dependencies(packages),
    }


def locked_packages(lock: str) -> Iterator[LockedPackage]:
    """The packages that the lock names for this Python and this machine."""
    package = None
    for line in lock.splitlines():
        if named := _PACKAGE.match(line):
            package = None
            if not named["marker"] or Marker(named["marker"].strip()).evaluate():
                package = LockedPackage(named["name"], named["version"])
                yield package
        elif package is not None and (found := _HASH.search(line)):
            package.hashes.append(found[1])
        elif package is not None and (found := _PARENT.search(line)):
            package.parents.append(found["name"])


def component(package: LockedPackage) -> dict[str, object]:
    return {
        "type": "library",
        "bom-ref": package.reference,
        "name": package.name,
        "version": package.version,
        "purl": package.reference,
        "hashes": [{"alg": "SHA-256", "content": content} for content in package.hashes],
        "licenses": licences(package.name),
    }


def licences(name: str) -> list[dict[str, object]]:
    """The licences of an installed package in its own words: an SPDX expression, or names."""
    described = metadata.metadata(name)
    for expression in described.get_all("License-Expression", []):
        return [{"expression": expression}]
    classifiers = [text for text in described.get_all("Classifier", []) if text.startswith("License :: ")]
    names = [text.rpartition(" :: ")[2] for text in classifiers]
    names = names or [text.partition("\n")[0] for text in described.get_all("License", [])]
    return [{"license": {"name": text}} for text in names]


def dependencies(packages: list[LockedPackage]) -> list[dict[str, object]]:
    """The packages that each package needs; the service needs those that ``requirements.in`` names."""
    references = {package.name: package.reference for package in packages}
    needed: dict[str, set[str]] = {SERVICE: set(), **{reference: set() for reference in references.values()}}
    for package in packages:
        for parent in package.parents:
            needed[references.get(parent, SERVICE)].add(package.reference)
    return [{"ref": reference, "dependsOn": sorted(others)} for reference, others in needed.items()]
