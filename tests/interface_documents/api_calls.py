"""The calls of the interface as Markdown, from the OpenAPI document: the second half of docs/api.md."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.base.declaration.service import get_service
from apps.odata.metadata.json_schema import Json
from apps.odata.metadata.openapi import OPERATIONS
from apps.odata.metadata.openapi_components import ERROR_RESPONSES, JSON

HOST = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class ApiCall:
    """An operation of the document at its address; ``document`` holds what it refers to."""

    document: Json
    method: str
    address: str
    operation: Json

    @property
    def set_name(self) -> str:
        return str(self.operation["tags"][0])

    def parameters(self, location: str) -> list[Json]:
        """The parameters that several operations share, and those of the address."""
        components = self.document["components"]["parameters"]
        parameters = [
            components[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
            for found in self.operation.get("parameters", ())
            if "$ref" in found or found["in"] == "path" or self.set_name == "Service"
        ]
        return [parameter for parameter in parameters if parameter["in"] == location]


def calls_markdown(document: Json) -> str:
    calls = [
        ApiCall(document, method, address, operation)
        for address, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return "\n".join((*sets_table(calls), *sections(calls), *options_table(document), *errors_table()))


def sets_table(calls: list[ApiCall]) -> Iterator[str]:
    """The addresses, methods and scopes of the entity sets."""
    yield "## Entity sets\n"
    yield "| Set | Address | Methods | Key | `$search` | Scopes |\n|---|---|---|---|---|---|"
    for tag in calls[0].document["tags"]:
        of_set = [call for call in calls if call.set_name == tag["name"]]
        collection = next((call for call in of_set if call.operation["operationId"].startswith("list")), None)
        if collection is None:
            continue
        item = next(call for call in of_set if call.operation["operationId"].startswith("get"))
        methods = ", ".join(sorted({call.method.upper() for call in of_set if "$" not in call.address}))
        options = [parameter["name"] for parameter in collection.parameters("query")]
        scopes = sorted({scope for call in of_set for scope in scopes_of(call) if "." in scope})
        yield (
            f"| {tag['name']} | `{collection.address}` | {methods} | {item.parameters('path')[0]['name']} |"
            f" {'yes' if '$search' in options else ''} | {', '.join(f'`{scope}`' for scope in scopes)} |"
        )


def sections(calls: list[ApiCall]) -> Iterator[str]:
    """A section for each operation of entity sets, with the first set as its example, and for each other."""
    described = set()
    for operation in OPERATIONS.values():
        same = [
            call for call in calls if call.operation["summary"] == operation.summary.format(call.set_name)
        ]
        described |= {call.operation["operationId"] for call in same}
        if same:
            title = operation.summary.replace("{} ", "").replace("{}", "records")
            is_common = len(same) == len(get_service().entity_sets)
            names = "Every set" if is_common else ", ".join(call.set_name for call in same)
            yield from section(title, same[0], f"{names}.")
    for call in calls:
        if call.operation["operationId"] not in described:
            yield from section(call.operation["summary"], call)


def section(title: str, call: ApiCall, sets: str = "") -> Iterator[str]:
    operation = call.operation
    yield f"\n## {title}\n"
    yield f"`{call.method.upper()} {call.address}`\n"
    yield from (f"{text}\n" for text in (operation.get("description"), sets) if text)
    yield f"- May call: {', '.join(callers_of(call))}"
    for kind, location in (("Options", "query"), ("Headers", "header")):
        names = [f"`{parameter['name']}`" for parameter in call.parameters(location)]
        if any("in" in found and found["in"] == location for found in operation.get("parameters", ())):
            names += ["plain filters"] if location == "query" and call.set_name != "Service" else []
        if names:
            yield f"- {kind}: {', '.join(dict.fromkeys(names))}"
    successes = [status for status in operation["responses"] if status < "400"]
    errors = [status for status in operation["responses"] if status >= "400"]
    yield f"- Answers: {', '.join(successes)}; errors: {', '.join(errors)}"
    yield f"\n```console\n$ {example(call)}\n```"


def scopes_of(call: ApiCall) -> list[str]:
    return [scope for way in call.operation["security"] for scope in way.get("oauth2", ())]


def callers_of(call: ApiCall) -> Iterator[str]:
    """Who may call: tokens with a scope, and the other ways to authenticate."""
    scopes = [f"`{scope}`" for scope in scopes_of(call)]
    yield f"a token with {' or '.join(scopes)}" if scopes else "any token"
    ways = {name for way in call.operation["security"] for name in way}
    yield from ["Basic credentials"] * ("basic" in ways) + ["a session of the back office"] * (
        "session" in ways
    )


def example(call: ApiCall) -> str:
    """A line for the shell that makes the call; ``api`` is curl with a token."""
    address, options = call.address, {parameter["name"]: parameter for parameter in call.parameters("query")}
    for parameter in call.parameters("path"):
        address = address.replace(f"{{{parameter['name']}}}", str(parameter.get("example", "1")))
    query = [f"{name}={found['example']}" for name, found in options.items() if found.get("required")]
    query += [f"{name}={value}" for name, value in (("$top", 2), ("$expand", "*")) if name in options][:1]
    words = ["api", f"'{HOST}{address}{'?' * bool(query)}{'&'.join(query)}'"]
    content: dict[str, Any] = call.operation.get("requestBody", {}).get("content", {})
    for media_type, body in [*content.items()][:1]:
        if media_type == "multipart/form-data":
            words += [f"-F '{name}=…'" for name in body["schema"]["required"]]
        else:
            words += [f"-H 'Content-Type: {media_type}'", f"-d '{body_example(body)}'"]
    if call.method not in ("get", "post"):
        words.insert(1, f"-X {call.method.upper()}")
    return " ".join(words)


def body_example(body: Json) -> str:
    """The example of a body: of several the last, one bare record."""
    examples = [found["value"] for found in body.get("examples", {}).values()]
    value = examples[-1] if examples else body.get("example", "")
    return value if isinstance(value, str) else json.dumps(value)


def options_table(document: Json) -> Iterator[str]:
    yield "\n## Options and headers\n\n| Name | Meaning |\n|---|---|"
    for parameter in document["components"]["parameters"].values():
        yield f"| `{parameter['name']}` | {parameter['description'].partition(' Also written')[0]} |"


def errors_table() -> Iterator[str]:
    yield f'\n## Errors\n\nAll are `{JSON}`: `{{"error":{{"code":…,"message":…,"target":…,"details":[…]}}}}`.'
    yield "\n| Status | Meaning |\n|---|---|"
    yield from (f"| {status} | {meaning} |" for status, (_, meaning) in ERROR_RESPONSES.items())
    yield ""
