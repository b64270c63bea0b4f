"""docs/architecture.md shows the way of a POST as it is."""

import re
import sys
from pathlib import Path

from tests.funding.bodies import a_claim_body

DOCUMENT = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_picture_of_a_post_names_functions_in_the_order_of_their_calls(api):
    section = DOCUMENT.read_text().partition("\n## A POST\n")[2].partition("\n## ")[0]
    boxes = re.findall(r'"([\w.]+): <b>(\w+)</b>', section)
    called: dict[str, None] = {}  # in the order of the first calls

    def note_call(frame, event, argument):
        if event == "call":
            called[f".{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"] = None

    body, traced = a_claim_body(), sys.getprofile()
    sys.setprofile(note_call)
    try:
        answer = api.post("claim", body, {"ignoreWarnings": "true"})
    finally:
        sys.setprofile(traced)
    assert answer.status_code == 201
    order = [
        name for name in called if any(name.endswith(f".{module}.{function}") for module, function in boxes)
    ]
    assert [name.rpartition(".")[2] for name in order] == [function for _, function in boxes]
