"""Batches in both formats, and their responses as one form."""

import json
import re
from dataclasses import dataclass, field
from email import message_from_bytes

JSON = "application/json"


@dataclass
class Answer:
    """The response to one request of a batch; ``group`` is true in a change set."""

    status: int
    headers: dict
    body: bytes
    id: str = ""
    group: bool = False

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


@dataclass
class Request:
    """One request of a batch; those with the same ``group`` in sequence are a change set."""

    method: str
    url: str
    body: dict | None = None
    id: str = ""
    group: str = ""
    headers: dict = field(default_factory=dict)
    depends_on: tuple = ()


def get(url, **more):
    return Request("GET", url, **more)


def post(url, body, **more):
    return Request("POST", url, body, **more)


def put(url, body, **more):
    return Request("PUT", url, body, **more)


# --- requests -------------------------------------------------------------------------------------------


def send_json(api, *requests, **headers):
    """The answers to a batch in JSON, in the order of the requests."""
    answer = api.post("$batch", {"requests": [as_object(n, r) for n, r in enumerate(requests)]}, **headers)
    assert answer.status_code == 200, answer.content
    return read_json(answer)


def as_object(number, request):
    members = {"id": request.id or f"r{number}", "method": request.method.lower(), "url": request.url}
    members["headers"] = {"Content-Type": JSON, **request.headers}
    if request.body is not None:
        members["body"] = request.body
    if request.group:
        members["atomicityGroup"] = request.group
    if request.depends_on:
        members["dependsOn"] = list(request.depends_on)
    return members


def send_multipart(api, *requests, **headers):
    answer = api.call(
        "POST", "$batch", body=as_multipart(requests), content_type="multipart/mixed; boundary=b", **headers
    )
    assert answer.status_code == 200, answer.content
    return read_multipart(answer)


def as_multipart(requests, end="\r\n"):
    """The body of a multipart batch."""
    lines, group = ["ignored", ""], ""
    for request in requests:
        if group and request.group != group:
            lines += [f"--{group}--"]
        if request.group and request.group != group:
            lines += ["--b", f"Content-Type: multipart/mixed; boundary={request.group}", ""]
        group = request.group
        lines += [f"--{group or 'b'}", "Content-Type: application/http", "Content-Transfer-Encoding: binary"]
        lines += [f"Content-ID: {request.id}"] if request.id else []
        lines += ["", f"{request.method} {request.url} HTTP/1.1"]
        sent = {"Content-Type": JSON, **request.headers} if request.body is not None else request.headers
        lines += [f"{name}: {value}" for name, value in sent.items()]
        lines += ["", "" if request.body is None else json.dumps(request.body)]
    lines += [f"--{group}--"] if group else []
    return end.join([*lines, "--b--", ""]).encode()


# --- responses ------------------------------------------------------------------------------------------


def read_json(answer):
    assert answer["Content-Type"] == JSON
    found = []
    for each in json.loads(answer.content)["responses"]:
        assert all(name == name.lower() for name in each["headers"])
        body = json.dumps(each["body"]).encode() if "body" in each else b""
        group = "atomicityGroup" in each
        found.append(Answer(each["status"], each["headers"], body, each.get("id", ""), group))
    return found


def read_multipart(answer):
    """As Python's own parser of messages finds the parts."""
    whole = message_from_bytes(f"Content-Type: {answer['Content-Type']}\r\n\r\n".encode() + answer.content)
    assert not whole.defects
    return [found for part in whole.get_payload() for found in answers_of(part, group=False)]


def answers_of(part, group):
    if part.is_multipart():
        return [found for member in part.get_payload() for found in answers_of(member, group=True)]
    assert part.get_content_type() == "application/http"
    head, _, body = part.get_payload(decode=True).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    assert int(headers.pop("content-length")) == len(body)
    number = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) [A-Z].*", status)[1])
    return [Answer(number, headers, body, part.get("Content-ID", ""), group)]
