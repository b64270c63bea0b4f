"""Runs OData and OpenAPI clients that others wrote against a demo service: `./run clients`.

npm and pip install them in the versions of their locks, into a folder that is deleted afterwards.
"""

import argparse
import contextlib
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.chromium import find_chromium
from tests.clients.browser import page_server, run_page
from tests.clients.commands import Failed, execute
from tests.clients.openapi_cases import schemathesis_command
from tests.clients.service import DemoService, demo_service, fetch, free_port

HERE = Path(__file__).resolve().parent
GUIDE = HERE.parent.parent / "docs" / "clients.md"
ADDRESS_IN_GUIDE = "http://127.0.0.1:8000"
INSTALL_SECONDS = 240

STEPS = ("list", "filter", "expand", "pages", "create", "change")
BATCH = (*STEPS, "batch")


@dataclass(frozen=True)
class ClientLibrary:
    """A client: its package, the program that uses it, what runs that, and the steps that it must take."""

    package: str
    program: str
    runtime: str
    steps: tuple[str, ...] = STEPS


LIBRARIES = (
    ClientLibrary("odata", "odata_o_js.mjs", "node", BATCH),
    ClientLibrary("@odata/client", "odata_client.mjs", "node", BATCH),
    ClientLibrary("@odata2ts/odata2ts", "bundles/odata2ts.mjs", "node"),
    ClientLibrary("@sap/cds", "cap.mjs", "node"),
    ClientLibrary("openapi-fetch", "bundles/openapi_fetch.mjs", "node", BATCH),
    ClientLibrary("@openui5/sap.m", "ui5.html", "browser"),
    ClientLibrary("devextreme", "page.html?devextreme", "browser"),
    ClientLibrary("@syncfusion/ej2-data", "page.html?syncfusion", "browser", BATCH),
    ClientLibrary("python-odata", "python_odata.py", "python"),
    ClientLibrary("openapi-python-client", "openapi_client.py", "python", BATCH),
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run clients", description="Run OData clients of others.")
    parser.add_argument("--folder", type=Path, help="install here, and keep it for the next run")
    wished = parser.parse_args(arguments).folder
    missing = missing_program()
    if missing:
        print(f"clients: SKIPPED, none was run: {missing}", flush=True)
        return 0
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            failures = run_all((wished or Path(temporary)).resolve())
    except Failed as failure:
        print(f"clients: FAILED before any was run: {failure}", flush=True)
        return 1
    print(f"clients: {failures or 'none'} failed, in {time.monotonic() - began:.0f} s", flush=True)
    return 1 if failures else 0


def missing_program() -> str:
    """Why the clients cannot be run on this machine, empty when they can."""
    if not shutil.which("npm"):
        return "npm is not installed"
    if find_chromium() is None:
        return "Chromium is not installed"
    try:
        execute("npm", "view", "odata", "version", seconds=30)
    except Failed as failure:
        return f"npm's registry does not answer ({failure})"[:300]
    return ""


def run_all(folder: Path) -> int:
    """Install, start the service, run each client; the number of those that failed."""
    for name in ("npm", "python"):
        shutil.copytree(HERE / name, folder / name, dirs_exist_ok=True)
    page_port = free_port()
    pages = f"http://127.0.0.1:{page_port}"
    with ThreadPoolExecutor() as pool, contextlib.ExitStack() as stack:
        installed = pool.submit(install, folder)
        service = stack.enter_context(demo_service(folder / "var", CORS_ALLOWED_ORIGINS=pages))
        installed.result()
        generate(folder, service)
        browser = stack.enter_context(page_server(folder / "npm", page_port, service.description))
        run = {
            "node": lambda program: execute("node", program, cwd=folder / "npm", env=service.environment),
            "python": lambda program: execute(
                folder / "venv/bin/python", program, cwd=folder / "python", env=service.environment
            ),
            "browser": lambda program: run_page(browser, f"{pages}/{program}"),
        }
        versions = installed_versions(folder)
        failures = sum(not report(library, versions, run[library.runtime]) for library in LIBRARIES)
        return failures + run_snippets(folder, service) + run_schemathesis(folder, service)


def report(library: ClientLibrary, versions: Mapping[str, str], run: Callable[[str], str]) -> bool:
    """Run a client and print what it saw; whether it took all of its steps."""
    print(f"\n== {library.package} {versions[library.package]}", flush=True)
    try:
        seen = run(library.program)
    except Failed as failure:
        print(f"FAILED: {failure}", flush=True)
        return False
    print(seen, flush=True)
    missing = [step for step in library.steps if not re.search(rf"^{step}: .", seen, re.MULTILINE)]
    if missing:
        print(f"FAILED: no {', '.join(missing)}", flush=True)
    return not missing


# --- what is installed and generated ------------------------------------------------------------------


def install(folder: Path) -> None:
    npm = folder / "npm"
    if not (npm / "node_modules").exists():
        execute("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=npm, seconds=INSTALL_SECONDS)
    if not (folder / "venv").exists():
        execute(sys.executable, "-m", "venv", folder / "venv")
        lock = folder / "python" / "requirements.txt"
        pip = (folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock)
        execute(*pip, seconds=INSTALL_SECONDS)


def generate(folder: Path, service: DemoService) -> None:
    """Write the programs that generators make of the service's documents, and bundle what needs it."""
    npm, python = folder / "npm", folder / "python"
    (npm / "records.edmx").write_text(fetch(f"{service.origin}/api/$metadata?version=2.1", service.token))
    (npm / "openapi.json").write_text(fetch(f"{service.origin}/docs/openapi.json?version=2.1", service.token))
    tools = npm / "node_modules/.bin"
    execute(
        *(
            tools / "odata2ts",
            "--source",
            "records.edmx",
            "--output",
            "odata2ts_records",
            "--mode",
            "service",
        ),
        *("--emit-mode", "ts", "--service-name", "records"),
        cwd=npm,
    )
    execute(tools / "openapi-typescript", "openapi.json", "--output", "openapi_schema.d.ts", cwd=npm)
    execute(tools / "tsc", "--project", "tsconfig.json", cwd=npm)
    execute(tools / "cds", "import", "records.edmx", "--as", "cds", "--force", cwd=npm)
    bundle = (tools / "esbuild", "--bundle", "--format=esm", "--log-level=error")
    execute(*bundle, "devextreme.mjs", "syncfusion.mjs", "--outdir=bundles", cwd=npm)
    node = ("--platform=node", "--outdir=bundles", "--out-extension:.js=.mjs")
    execute(*bundle, *node, "odata2ts.mjs", "openapi_fetch.mts", cwd=npm)
    execute(
        *(folder / "venv/bin/openapi-python-client", "generate", "--path", npm / "openapi.json"),
        *("--meta", "none", "--output-path", python / "records", "--overwrite"),
        cwd=python,
    )


def installed_versions(folder: Path) -> dict[str, str]:
    """The version of each package."""
    pip = execute(folder / "venv/bin/python", "-m", "pip", "list", "--format=json")
    versions = {package["name"]: package["version"] for package in json.loads(pip)}
    for library in LIBRARIES:
        manifest = folder / "npm/node_modules" / library.package / "package.json"
        if manifest.exists():
            versions[library.package] = json.loads(manifest.read_text())["version"]
    return versions


# --- the snippets of the guide ------------------------------------------------------------------------


def run_snippets(folder: Path, service: DemoService) -> int:
    """Run the Python, JavaScript and shell of docs/clients.md; the number of those that fail."""
    failures = 0
    runtimes = {"python": folder / "venv/bin/python", "javascript": "node", "bash": "bash"}
    for number, (language, text) in enumerate(snippets(GUIDE.read_text())):
        program = folder / "npm" / f"snippet{number}.{'mjs' if language == 'javascript' else language}"
        program.write_text(text.replace(ADDRESS_IN_GUIDE, service.origin))
        print(f"\n== docs/clients.md, {language} {number + 1}", flush=True)
        try:
            print(execute(runtimes[language], program, cwd=folder / "npm", env={"TOKEN": service.token}))
        except Failed as failure:
            print(f"FAILED: {failure}", flush=True)
            failures += 1
    return failures


def snippets(guide: str) -> list[tuple[str, str]]:
    """The blocks of a Markdown text that can be run: (language, text)."""
    return re.findall(r"^```(python|javascript|bash)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)


def run_schemathesis(folder: Path, service: DemoService) -> int:
    """Send the examples of the OpenAPI document; 1 where a response is not as documented.

    The examples only: ``./run test openapi`` sends requests that it makes up, as many as it is told to.
    """
    print("\n== schemathesis", flush=True)
    try:
        seen = execute(
            *schemathesis_command(folder / "npm/openapi.json", service, "2.1"),
            *("--phases", "examples", "--seed", "1"),
            cwd=folder,
            seconds=180,
        )
    except Failed as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1
    print(seen.partition("SUMMARY")[2], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
