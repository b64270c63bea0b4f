"""Texts about people and organisations as they are typed into forms and lists, corrected to what is stored.

The interface takes values as interface.md says; forms and imports take them as people write them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stdnum.au import abn

from apps.base.declaration.values import WireValueError
from apps.base.drafts import Draft
from apps.core.importing.cells import CleanedText, Cleaner, letters_of, without_mark
from apps.people.choices import NAMES_OF_AUSTRALIA, Gender, state_code

#: What stands in a cell that could not be left empty.
PLACEHOLDERS = frozenset({"none", "n/a", "na", "n.a", "nil", "null", "unknown", "not known", "not provided"})
_EDGES = " .-–—*?/"

AUSTRALIA = "Australia"

#: A number as spreadsheets show it: 431000221.0, 4.12E+08.
_DECIMAL = re.compile(r"([0-9]{3,})\.0+")
_SCIENTIFIC = re.compile(r"([0-9])(?:[.,]([0-9]+))?[eE]\+?([0-9]{1,2})")

_SCHEME_PREFIX = re.compile(r"ndis[\s:#.-]*(?:(?:no|number|nr)\b[\s:#.-]*)?", re.IGNORECASE)
_ABN_PREFIX = re.compile(r"abn[\s:#.-]*", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]+")
_SEPARATORS = re.compile(r"[\s.–-]+")
#: Landlines of the area codes 02, 03, 07 and 08, and mobiles, without their zero.
_WITHOUT_ZERO = re.compile(r"[23478][0-9]{8}")
#: Postcodes of the Northern Territory without theirs.
_NT_WITHOUT_ZERO = re.compile(r"[89][0-9]{2}")
_PHONE_SEPARATORS = re.compile(r"[ ()-]+")
_PLAUSIBLE_PHONE = re.compile(r"[0-9]{8,15}")

_GENDERS = {
    **dict.fromkeys(("m", "male", "man", "boy"), Gender.MALE),
    **dict.fromkeys(("f", "female", "woman", "girl"), Gender.FEMALE),
    **dict.fromkeys(("u", "unknown", "notstated", "notspecified", "unspecified", "na"), Gender.UNSPECIFIED),
    **dict.fromkeys(("x", "indeterminate", "prefernottosay", "notdisclosed"), Gender.UNSPECIFIED),
}
#: What the interface has no word for.
_OTHER_GENDERS = frozenset({"nonbinary", "other", "intersex", "genderfluid", "genderdiverse"})


def is_placeholder(text: str) -> bool:
    """True when a text says that there is none: ``n/a``, ``-``."""
    return (text.casefold().strip(_EDGES) or "none") in PLACEHOLDERS


def whole_digits(text: str) -> str:
    """A number that a spreadsheet shows as a decimal or in powers of ten, written out; another text as it is.

    An apostrophe before a number goes. ``WireValueError`` when digits are lost: 4.12E+08 may be any of a
    million numbers.
    """
    text = without_mark(text)
    if found := _DECIMAL.fullmatch(text):
        return found[1]
    found = _SCIENTIFIC.fullmatch(text)
    if found is None:
        return text
    first, decimals, exponent = found[1], found[2] or "", int(found[3])
    if len(decimals) != exponent:
        sentence = "is a number of which a spreadsheet kept the first digits only; look it up."
        raise WireValueError("DigitsLost", sentence)
    return first + decimals


def clean_state(text: str) -> CleanedText:
    """``Vic.`` and ``Victoria`` are VIC; what is no Australian state is left alone."""
    if is_placeholder(text):
        return CleanedText("")
    code = state_code(text)
    if code is None or code == text:
        return CleanedText(text)
    return CleanedText(code, "StateAbbreviated", f"It is taken as {code}.")


def clean_phone(text: str) -> CleanedText:
    """A number that a spreadsheet took for an amount: in powers of ten, or without its leading zero."""
    if is_placeholder(text):
        return CleanedText("")
    text = without_mark(text)
    number = whole_digits(text)
    if _WITHOUT_ZERO.fullmatch(_PHONE_SEPARATORS.sub("", number)):
        return CleanedText(f"0{number}", "LeadingZeroRestored", f"It is taken as 0{number}.")
    if number == text:
        return CleanedText(text)
    if not _PLAUSIBLE_PHONE.fullmatch(number):
        raise WireValueError("InvalidPhone", "is no telephone number.")
    return CleanedText(number, "NumberRestored", f"It is taken as {number}.")


def clean_scheme_number(text: str) -> CleanedText:
    """The digits of ``431 000 195``, ``NDIS 431000195`` and ``431000195.0``; other texts as they are."""
    if is_placeholder(text):
        return CleanedText("")
    number = _SEPARATORS.sub("", whole_digits(_SCHEME_PREFIX.sub("", text, count=1)))
    return CleanedText(number if number.isascii() and number.isdigit() else text)


def clean_business_number(text: str) -> CleanedText:
    """The digits of an ABN with hyphens, ``ABN`` or ``.0``; numbers of other forms as they are."""
    if is_placeholder(text):
        return CleanedText("")
    text = without_mark(text)
    number = whole_digits(_ABN_PREFIX.sub("", text, count=1))
    digits = _SEPARATORS.sub("", number)
    is_written_out = number != text or "-" in text or "–" in text
    return CleanedText(digits if is_written_out and abn.is_valid(digits) else text)


def last_name_in(text: str) -> CleanedText:
    """The last name of ``Nguyen, Mai Thi`` or ``Mai Nguyen``.

    ``WireValueError`` for other texts: of three words without a comma nobody's last name is guessed.
    """
    last, comma, first = map(str.strip, text.partition(","))
    if comma and first and last and "," not in first:
        return CleanedText(last)
    words = text.split()
    if not comma and len(words) == 2:
        return CleanedText(words[1])
    sentence = "is not plain here: write it first, with a comma (Nguyen, Mai Thi)."
    raise WireValueError("UnclearName", sentence)


def first_name_in(text: str) -> CleanedText:
    """The first name of such a text."""
    _, comma, first = map(str.strip, text.partition(","))
    return CleanedText(first if comma else text.split()[0])


def clean_gender(text: str) -> CleanedText:
    """``M`` is Male; a word of other lists is Unspecified, with a warning where that says less."""
    word = letters_of(text)
    if word in _OTHER_GENDERS:
        return CleanedText(Gender.UNSPECIFIED, "GenderUnspecified", "It is taken as Unspecified.")
    return CleanedText(_GENDERS.get(word, text))


#: By the column of staff, clients and contacts.
CLEANERS: Mapping[str, Cleaner] = {
    **dict.fromkeys(
        (
            *("first_name", "last_name", "partner_first_name", "partner_last_name"),
            *("business_name", "suburb", "city", "postal_suburb", "postal_city"),
        ),
        # Two blanks within a name are one.
        lambda text: CleanedText(_BLANKS.sub(" ", text) if "  " in text or "\t" in text else text),
    ),
    **dict.fromkeys(("state", "postal_state"), clean_state),
    **dict.fromkeys(("post_code", "postal_post_code"), lambda text: CleanedText(whole_digits(text))),
    **dict.fromkeys(("unique_code", "external_reference"), lambda text: CleanedText(without_mark(text))),
    **dict.fromkeys(
        ("phone1", "phone2", "home_phone", "fax", "business_phone", "business_phone2", "business_fax"),
        clean_phone,
    ),
    **dict.fromkeys(
        ("primary_email", "secondary_email"), lambda text: CleanedText("" if is_placeholder(text) else text)
    ),
    "scheme_number": clean_scheme_number,
    "business_number": clean_business_number,
    "gender": clean_gender,
}
#: Columns of birthdays: a year of two digits is not one to come.
BIRTHDAYS = ("birthday", "partner_birthday")


def assumed_country(values: Draft | Mapping[str, Any]) -> str | None:
    """Australia for one of its states without a country; ``None`` where nothing is assumed."""
    if values.get("country"):
        return None
    states = (values.get("state"), values.get("postal_state"))
    return AUSTRALIA if any(state and state_code(state) for state in states) else None


def restored_postcodes(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Postcodes of the Northern Territory with the zero that a spreadsheet took: ``800`` beside ``NT``."""
    if (values.get("country") or AUSTRALIA).strip().casefold() not in NAMES_OF_AUSTRALIA:
        return
    for state, name in (("state", "post_code"), ("postal_state", "postal_post_code")):
        code = values.get(name)
        if code and state_code(values.get(state) or "") == "NT" and _NT_WITHOUT_ZERO.fullmatch(code):
            yield name, f"0{code}"
