"""Texts as they are stored, however they were typed."""

import unicodedata

#: Of marks behind one letter, as many as the stream-safe format of Unicode has (UAX #15, 13): no language
#: needs more, and to put them in order takes time by the square of their number.
MOST_MARKS = 30
#: What is no mark itself, and consists of marks alone.
_MARKS_IN_ONE = frozenset("\u0f73\u0f75\u0f81")


def composed(text: str) -> str:
    """The text with each letter and its marks as one character (NFC), which is how texts are stored.

    One with more marks behind a letter than there are stays as it is: a million took hours.
    """
    if text.isascii() or (len(text) > MOST_MARKS and has_endless_marks(text)):
        return text
    return unicodedata.normalize("NFC", text)


def has_endless_marks(text: str) -> bool:
    """True when more marks follow one another than a letter has, and are not in their order."""
    if unicodedata.is_normalized("NFC", text):
        return False
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) or character in _MARKS_IN_ONE else 0
        if marks > MOST_MARKS:
            return True
    return False
