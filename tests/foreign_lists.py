"""Lists as another system gives them, ugly on purpose, with the truth about each of their rows.

    .venv/bin/python -m tests.foreign_lists FOLDER --people 5000 --organisations 500 --claims 1000 --seed 7

writes files to be imported in this order, by command or in the browser:

    import_price_guide price_guide.csv            import_records providerInvoice bills.csv
    import_records client organisations.csv       import_records claim claims.csv --ignore-warnings
    import_records contact people.csv

and ``truth.json``: for each file the rows that must be stored, with their values, and those that must be
rejected, left out or warned of, with the codes that say why. Bills and claims name the member of staff of
``--staff-email``. ``test_foreign_lists`` imports small lists; with FOREIGN_LISTS="5000 500 1000" large ones.
"""

import argparse
import csv
import datetime as dt
import json
import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from stdnum.au import abn

SEMICOLON = ";"
# With letters in two parts, as some systems write them.
FIRST = ("Ada", "Bao", "Clara", "Zoe\u0308", "Elena", "Fari\u0301d", "Grace", "Hugo", "Isla", "Anna Maria")
LAST = ("Abbott", "Bakker", "Cheng", "O'Brien", "Müller", "de la Cruz", "Grieve", "Nguye\u0302\u0303n")
PLACES = (
    ("Parramatta", "NSW", "2150"),
    ("Geelong", "VIC", "3220"),
    ("Toowoomba", "QLD", "4350"),
    ("Glenelg", "SA", "5045"),
    ("Darwin", "NT", "0800"),
    ("Belconnen", "ACT", "2617"),
)
STATES = {"VIC": "Vic.", "QLD": "Queensland", "NSW": "New South Wales"}
TRADES = ("Care", "Physio & Co", "Räder", "Support – North", "Café Services", "Transport")
ITEMS = {f"01_{number:03}_0107_1_1": Decimal(price) for number, price in ((11, 70), (12, 65), (799, 120))}
JULY = dt.date(2025, 7, 1)


@dataclass
class Truth:
    """What becomes of a row: ``stored`` with ``values``, ``rejected`` or ``left out``, and what is said."""

    row: int
    outcome: str = "stored"
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    values: dict = field(default_factory=dict)

    def reject(self, code):
        self.outcome = "rejected"
        self.errors.append(code)


class ForeignList:
    """A file with the truth about its rows. Cells are added with what they must become."""

    def __init__(self, path, header, before=(), encoding="utf-8"):
        self.path, self.header, self.encoding = path, header, encoding
        self.rows = [*before, header]
        self.truths = []

    def add(self, cells, truth=None):
        """A row of the cells by their headers."""
        self.rows.append([cells.get(name, "") for name in self.header])
        if truth is not None:
            truth.row = len(self.rows)
            self.truths.append(truth)

    def add_blank(self):
        self.rows.append([""] * len(self.header))

    def add_footer(self, *cells):
        self.rows.append([*cells, *[""] * (len(self.header) - len(cells))])
        self.truths.append(Truth(len(self.rows), "left out", warnings=["Footer"]))

    def write(self):
        with self.path.open("w", newline="", encoding=self.encoding) as file:
            csv.writer(file, delimiter=SEMICOLON).writerows(self.rows)


def pick(chance, truth, name, *ways):
    """The text of a cell, one of the weighted ``ways``: (weight, text, value, code); ``!`` marks an error."""
    ((_, text, value, *codes),) = chance.choices(ways, [way[0] for way in ways])
    truth.values[name] = value
    for code in codes:
        if code.startswith("!"):
            truth.reject(code[1:])
        else:
            truth.warnings.append(code)
    return text


# --- people -----------------------------------------------------------------------------------------------


def birthday_cell(chance, truth):
    day = dt.date(1960, 1, 1) + dt.timedelta(
        chance.randrange(14_500)
    )  # until 1999: one century, whenever read
    usual, iso = f"{day:%d/%m/%Y}", day.isoformat()
    return pick(
        chance, truth, "birthday",
        (50, usual, iso), (10, f"{day:%d-%b-%y}", iso), (10, f"{day:%Y%m%d}", iso), (5, iso, iso),
        (10, f"{usual} 12:00:00 AM", iso), (5, f"{day.day} {day:%B %Y}", iso), (5, "", None),
        (2, "01/01/1900", "1900-01-01", "UnusualBirthday"), (1, "31/02/1990", None, "!InvalidDate"),
        (1, "32874", None, "!InvalidDate"),
    )  # fmt: skip


def scheme_number_cell(chance, truth, number):
    digits = f"43{number:07}"
    exact = f"{digits[0]}.{digits[1:]}E+08"
    return pick(
        chance, truth, "scheme_number",
        (50, digits, digits), (10, f"{digits[:3]} {digits[3:6]} {digits[6:]}", digits),
        (10, f"NDIS {digits}", digits), (10, f"{digits}.0", digits), (3, exact, digits), (5, "", None),
        (3, "n/a", None), (1, "4.31E+08", None, "!DigitsLost"),
        (1, f"99{number:07}", None, "!InvalidSchemeNumber"),
    )  # fmt: skip


def mobile_cell(chance, truth, name="phone1"):
    digits = f"4{chance.randrange(10**8):08}"
    spaced = f"0{digits[:3]} {digits[3:6]} {digits[6:]}"
    zero = "LeadingZeroRestored"
    return pick(
        chance, truth, name,
        (40, spaced, spaced), (20, digits, f"0{digits}", zero), (10, f"{digits}.0", f"0{digits}", zero),
        (5, f"{digits[0]}.{digits[1:]}E+08", f"0{digits}", zero), (10, "", None), (5, "N/A", None),
        (5, f"+61 {digits}", f"+61 {digits}"), (2, f"{digits[0]}.{digits[1:3]}E+08", None, "!DigitsLost"),
    )  # fmt: skip


def address_cells(chance, truth):
    """The cells of an address; few have a country."""
    suburb, state, code = chance.choice(PLACES)
    long = STATES.get(state)
    written = pick(
        chance, truth, "state",
        (70, state, state), (20 if long else 0, long, state, "StateAbbreviated"), (5, "", None),
        (2, "Otago", "Otago"),
    )  # fmt: skip
    country = chance.choices(("", "Australia", "New Zealand"), (80, 15, 5))[0]
    truth.values["country"] = country or ("Australia" if written and written != "Otago" else None)
    if written == "Otago" and not country:
        truth.reject("Required")
    number = chance.randint(1, 300)
    truth.values |= {"suburb": suburb, "street_address": f"{number} Low Road"}
    short = code.lstrip("0")
    is_restored = short != code and written in (state, long) and country != "New Zealand"
    post_code = pick(
        chance, truth, "post_code",
        (80, code, code), (10, f"{code}.0", code), (5, "", None),
        (5, short, code, "LeadingZeroRestored") if is_restored else (5, short, short),
    )  # fmt: skip
    return {
        "Addr": f" {number} Low Road", "Suburb": f"{suburb}\u00a0", "State": written, "P/code": post_code,
        "Country": country,
    }  # fmt: skip


def write_people(path, count, chance):
    header = [
        *("ID", "Given names", "Surname", "NDIS No", "DOB", "Sex", "Mob", "Home phone", "E-mail"),
        *("Addr", "Suburb", "State", "P/code", "Country", "Notes"),
    ]
    groups = ["Person", "", "", "Scheme", "", "", "Reached by", "", "", "Home", "", "", "", "", "Remarks"]
    people = ForeignList(path, header, before=[groups])
    for number in range(1, count + 1):
        truth = Truth(number, values={"unique_code": f"P{number:05}"})
        first, last = chance.choice(FIRST), chance.choice(LAST)
        home = f"2{chance.randrange(10**8):08}"
        notes = chance.choice(("", 'Says: "call; don\'t write"', "Two\nlines", "Ends 13/13/2026"))
        email = f"{number}@example.org"
        truth.values |= {"first_name": first, "additional_information": notes or None}
        cells = {
            "ID": truth.values["unique_code"],
            "Given names": chance.choice((first, f" {first} ", first.replace(" ", "  "), f"{first}\u200b")),
            "Surname": pick(
                chance, truth, "last_name",
                (95, last, last), (3, "N/A", "N/A", "PlaceholderName"), (1, "", None, "!Required"),
            ),
            "NDIS No": scheme_number_cell(chance, truth, number),
            "DOB": birthday_cell(chance, truth),
            "Sex": pick(
                chance, truth, "gender",
                (40, "M", "Male"), (40, "f", "Female"), (5, "female", "Female"), (10, "", None),
                (3, "not stated", "Unspecified"),
            ),
            "Mob": mobile_cell(chance, truth),
            "Home phone": pick(
                chance, truth, "home_phone",
                (30, home, f"0{home}", "LeadingZeroRestored"), (40, "", None),
                (30, f"(02) {home[1:5]} {home[5:]}", f"(02) {home[1:5]} {home[5:]}"),
            ),
            "E-mail": pick(
                chance, truth, "primary_email",
                (60, email, email), (20, "none", None), (5, "-", None), (5, "n/a", None), (8, "", None),
                (1, "not-an-email", None, "!InvalidEmail"),
            ),
            "Notes": notes,
            **address_cells(chance, truth),
        }  # fmt: skip
        people.add(cells, truth)
        if number % 50 == 0 and truth.outcome == "stored":
            people.add(cells, Truth(0, "rejected", ["NotUnique"]))
        if number % 80 == 0:
            people.add_blank()
    people.rows.append(["P99999", "Cut", "Off"])
    people.truths.append(Truth(len(people.rows), "rejected", ["InvalidRow"]))
    people.add_footer(f"{count} records")
    people.write()
    return people


# --- organisations ----------------------------------------------------------------------------------------


def business_number(number):
    digits = f"{100_000_000 + number * 7:09}"
    return abn.calc_check_digits(digits) + digits


def write_organisations(path, count, chance):
    header = ["ID", "Supplier", "ABN No", "Ph", "Addr", "Suburb", "State", "P/code", "Country", "Web"]
    organisations = ForeignList(path, header, before=[["Suppliers"]], encoding="cp1252")
    for number in range(1, count + 1):
        digits = business_number(number)
        grouped = f"{digits[:2]} {digits[2:5]} {digits[5:8]} {digits[8:]}"
        name = f"{chance.choice(TRADES)} {number}"
        truth = Truth(number, values={"unique_code": f"S{number:04}", "business_name": name})
        cells = {
            "ID": truth.values["unique_code"],
            "Supplier": chance.choice((name, f"{name} ", name.replace(" ", "  "))),
            "ABN No": pick(
                chance, truth, "business_number",
                (40, digits, digits), (20, grouped, grouped), (10, grouped.replace(" ", "-"), digits),
                (10, f"ABN {grouped}", digits), (5, f"{digits}.0", digits), (5, "", None),
                (3, f"{digits[0]}.{digits[1:]}E+10", digits),
                (1, f"{digits[0]}.{digits[1:3]}E+10", None, "!DigitsLost"),
                (1, digits[::-1], digits[::-1], "UnusualBusinessNumber"),
            ),
            "Ph": mobile_cell(chance, truth, "business_phone"),
            "Web": "",
            **address_cells(chance, truth),
        }  # fmt: skip
        organisations.add(cells, truth)
        if number % 40 == 0 and truth.outcome == "stored":
            organisations.add(cells, Truth(0, "rejected", ["NotUnique"]))
    organisations.add_blank()
    organisations.add_footer("Total suppliers", str(count))
    organisations.add_footer("Printed on 23/11/2026 by admin")
    organisations.write()
    return organisations


# --- bills and claims -------------------------------------------------------------------------------------


def american(day):
    return f"{day.month}/{day.day}/{day.year}"


def write_claims(folder, count, chance, people, organisations, staff_email):
    """The provider's invoices and the claims for them: days with the month first."""
    bill_header = ["Supplier ABN", "NDIS No", "Inv No", "From", "To", "Total", "Staff email"]
    header = [
        *("Claim No", "Inv No", "Supplier ABN", "NDIS No", "Staff email", "Start date", "End date"),
        *("Support item", "Price book", "Hrs", "Rate", "Service date"),
    ]
    bills, claims = ForeignList(folder / "bills.csv", bill_header), ForeignList(folder / "claims.csv", header)
    participants = [t.values for t in people.truths if t.outcome == "stored" and t.values["scheme_number"]]
    providers = [
        t.values
        for t in organisations.truths
        if t.outcome == "stored" and abn.is_valid(t.values["business_number"] or "")
    ]
    sum_of_all = Decimal(0)
    for number in range(1, count + 1):
        person, provider = chance.choice(participants), chance.choice(providers)
        start = JULY + dt.timedelta(chance.randrange(90))
        end, reference = start + dt.timedelta(6), f"R-{number:05}"
        truth = Truth(0, values={"claim_number": f"X{number:05}", "lines": []})
        lines = []
        for _ in range(chance.randint(1, 4)):
            code, price = chance.choice(list(ITEMS.items()))
            quantity = Decimal(chance.choice(("1", "2", "0.25", "1.5", "7.75", "12")))
            rate = price - Decimal(chance.randrange(500)) / 100
            day = start + dt.timedelta(chance.randrange(7))
            amount = (quantity * rate).quantize(Decimal("0.01"), ROUND_HALF_UP)
            truth.values["lines"].append([code, str(quantity), str(rate), day.isoformat(), str(amount)])
            lines.append(
                {
                    "Support item": code,
                    "Price book": "price guide",
                    "Hrs": str(quantity),
                    "Rate": chance.choice((f"{rate}", f"${rate}", f"$ {rate}")),
                    "Service date": chance.choice((american(day), day.isoformat())),
                }
            )
        total = sum(Decimal(line[-1]) for line in truth.values["lines"])
        truth.values |= {
            "total": str(total),
            "person": person["unique_code"],
            "provider": provider["unique_code"],
            "start_date": start.isoformat(),
            "end_date": end.isoformat(),
        }
        if number % 60 == 0:
            lines[-1]["Hrs"] = "two"
            truth.reject("InvalidNumber")
        elif number % 61 == 0:
            lines[0]["Support item"] = "01_999_0107_1_1"
            truth.reject("NotFound")
        else:
            sum_of_all += total
        shared = {
            "Supplier ABN": provider["business_number"],
            "NDIS No": f"NDIS {person['scheme_number']}",
            "Inv No": reference,
            "Staff email": staff_email.upper(),
        }
        bill = {"reference": reference, "invoice_total": str(total), "service_start_date": start.isoformat()}
        days = {"From": american(start), "To": end.isoformat()}
        bills.add({**shared, **days, "Total": f"${total:,}"}, Truth(0, values=bill))
        own = {"Claim No": f"X{number:05}", "Start date": american(start), "End date": american(end)}
        for at, line in enumerate(lines):
            claims.add({**shared, **own, **line}, truth if at == 0 else None)
    bills.add_footer("Total", "", "", "", "", f"${sum_of_all:,}")
    claims.add_footer("Grand total", "", "", "", "", "", "", "", "", "", f"{sum_of_all:,}")
    claims.add_footer("*** End of list ***")
    bills.write()
    claims.write()
    return bills, claims


def write_price_guide(path):
    header = "Support Item Number,Support Item Name,Unit,Start Date,End Date,National,Remote,Very Remote"
    rows = [
        f"{code},Item {code},H,07/01/2025,99991231,{price},{price},{price}" for code, price in ITEMS.items()
    ]
    last = "04_590_0125_6_1,Ended,H,07/01/2025,07/13/2025,1,1,1"  # its day is what shows the order
    path.write_text("\n".join([header, *rows, last]) + "\n", encoding="utf-8")


def write_lists(folder, people=5000, organisations=500, claims=1000, seed=7, staff_email="fay@example.org"):
    """Write all files; the truths by the name of their file."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    write_price_guide(folder / "price_guide.csv")
    suppliers = write_organisations(folder / "organisations.csv", organisations, chance)
    persons = write_people(folder / "people.csv", people, chance)
    lists = (suppliers, persons, *write_claims(folder, claims, chance, persons, suppliers, staff_email))
    truths = {each.path.name: each.truths for each in lists}
    text = json.dumps(truths, default=asdict, indent=1)
    (folder / "truth.json").write_text(text, encoding="utf-8")
    return truths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name, number in (("people", 5000), ("organisations", 500), ("claims", 1000), ("seed", 7)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--staff-email", default="fay@example.org")
    truths = write_lists(**vars(parser.parse_args()))
    for name, rows in truths.items():
        outcomes = Counter(truth.outcome for truth in rows)
        print(f"{name}: {', '.join(f'{number:,} {outcome}' for outcome, number in outcomes.items())}")


if __name__ == "__main__":
    main()
