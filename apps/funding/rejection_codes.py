"""The agency's codes of refused lines, each with a plain sentence that says what to do next.

The organisation's own sentences come before these. What neither knows is shown as the agency wrote it.
"""

from collections.abc import Mapping

from apps.core.models import normalised

REJECTION_CODES: Mapping[str, str] = {
    "C01": "The service booking does not exist at the agency: make one there, then resubmit.",
    "C02": "The service booking waits for approval: have it approved, then resubmit.",
    "C03": "The days lie outside of the service booking: correct the days, or have the booking extended.",
    "C04": "More is claimed than the booking has left: claim what is left, or have the booking changed.",
    "C05": "No approved booking covers the item on these days: correct them, or have a booking made.",
    "C06": "The price is above the booking's: claim the booked price, or have the booking changed.",
    "C07": "The participant is not the booking's: compare the scheme number with the plan.",
    "C08": "There is no booking between the participant and the provider: make one, then resubmit.",
    "C09": "The booking ended more than 90 days before: ask the agency whether it still pays.",
    "C10": "The days are missing or not readable: correct them, then resubmit.",
    "C11": "The days lie after the participant's death: archive it, and tell the provider.",
    "C12": "The invoice number is missing: enter it, then resubmit.",
    "C13": "Quantity, unit or way of claiming is missing or wrong: correct the line, then resubmit.",
    "C14": "The agency has no bank account to pay to: have it entered in the portal, then resubmit.",
    "C15": "The provider may not claim this item: check its business number and its registration.",
    "C16": "The support cannot be claimed on these days: correct the days or the item.",
    "C17": "The price does not hold on these days: take the price of the day from the price book.",
    "C18": "The booking is managed by the participant: bill the participant, and archive the claim.",
    "C19": "The management of the support does not match the booking: compare it with the plan.",
    "C20": "The amount must be above 0: correct quantity and price, then resubmit.",
    "C21": "The item does not fit this claim: choose another item, then resubmit.",
    "C22": "There is no plan on these days: check the plan's dates, and claim from the plan of these days.",
    "C23": "The service booking does not allow the claim: compare it with the portal, then resubmit.",
    "A01": "The agency rejected it without saying more: ask the agency, then resubmit or write off.",
}


def next_step(code: str, text: str, own: Mapping[str, str]) -> str:
    """The next step for a refused line; empty where nobody has said any.

    ``own``: the organisation's sentences by the beginnings of what the agency says; the longest one counts.
    """
    said = [normalised(each) or "" for each in (code, text)]
    fitting = [start for start in own if any(begins_with(each, start) for each in said)]
    if fitting:
        return own[max(fitting, key=len)]
    return REJECTION_CODES.get(code.strip().upper(), "")


def begins_with(text: str, start: str) -> bool:
    """True when the text begins so, and no word goes on there: C1 is not the beginning of C10."""
    return text.startswith(start) and not (start[-1:].isalnum() and text[len(start) :][:1].isalnum())
