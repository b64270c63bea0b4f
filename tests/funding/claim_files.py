"""The lines of a claim file, for tests of the agency's answers to them."""

import datetime as dt

from apps.base import clock
from tests.funding.builders import a_claim_file


def claimed_lines(*bills, is_withdrawn=False):
    """The lines of a file that has these bills, in its order; it was made two weeks ago."""
    with clock.set_to(clock.now() - dt.timedelta(14)):
        file = a_claim_file(bills, status="Withdrawn" if is_withdrawn else "Sent")
    file.lines.update(is_withdrawn=is_withdrawn)
    return list(file.lines.order_by("position"))
