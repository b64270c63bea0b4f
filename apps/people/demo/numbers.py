"""Telephone, business, scheme numbers and addresses of mail that are well formed and reach nobody."""

from __future__ import annotations

import unicodedata
from random import Random

#: The mobile numbers that the Australian Communications and Media Authority keeps free for works of fiction.
MOBILES = tuple(
    f"0491 {middle} {last}"
    for middle, lasts in (
        ("570", "006 110 156 157 158 159 313 737"),
        ("571", "266 491 804"),
        ("572", "549 665 983"),
        ("573", "087 770"),
        ("574", "118 632"),
        ("575", "254 789"),
        ("576", "398 801"),
        ("577", "426 644"),
        ("578", "148 888 957"),
        ("579", "212 455 760"),
    )
    for last in lasts.split()
)
#: The beginnings of its landline numbers for fiction, after an area code.
LANDLINES = ("5550", "7010")

#: Domains that are reserved for examples (RFC 2606): no letter sent there arrives.
DOMAINS = ("example.com", "example.net", "example.org")

ABN_WEIGHTS = (3, 5, 7, 9, 11, 13, 15, 17, 19)


def landline(chance: Random, area_code: str) -> str:
    """``(02) 5550 1234``."""
    return f"({area_code}) {chance.choice(LANDLINES)} {int(chance.random() * 10_000):04}"


def business_number(number: int) -> str:
    """The ABN of the demo client of that number: eleven digits, different for a thousand million.

    The first two digits make the weighted sum of all, the first one less by 1, divide by 89.
    """
    body = f"{(number * 618_033_989 + 120_000_017) % 1_000_000_000:09}"
    weighed = sum(weight * int(digit) for weight, digit in zip(ABN_WEIGHTS, body, strict=True))
    return f"{11 + (-weighed - 1) % 89}{body}"


def scheme_number(number: int) -> str:
    """The scheme number of the demo participant of that number: nine digits, most of them from 43 on."""
    start = {7: "31", 12: "44", 18: "45"}.get(number % 20, "43")
    return f"{start}{1_000_000 + (number * 3_819_661 + 271_829) % 9_000_000}"


def mail_name(name: str) -> str:
    """A name as it stands before the @: ``"Siobhán O'Brien"`` is ``siobhan.obrien``."""
    plain = name.translate(BEYOND_ACCENTS).replace("'", "")
    letters = unicodedata.normalize("NFD", plain).encode("ascii", "ignore").decode()
    return letters.lower().replace(" ", ".")


BEYOND_ACCENTS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ß": "ss"})
