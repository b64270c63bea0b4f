"""Lists of bank accounts: each arrives as if it had been entered by hand, and waits for its confirmation.

Owners are organisations or people that exist. An account that its owner has already stays as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from apps.base.batched_queries import AnyOf
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import CleanedText
from apps.core.importing.columns import ImportColumn
from apps.core.importing.definition import ImportOptions
from apps.core.importing.fixed_columns import FixedRow, find_columns, read_row
from apps.core.importing.record_names import (
    RecordName,
    compared_field,
    digits,
    number_spellings,
    records_by_text,
)
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.importing.runs import ImportDisplay, import_of_fixed_columns
from apps.core.models import normalised
from apps.core.saving import try_out
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError, Row
from apps.payments.drafts import AccountDraft
from apps.payments.models import BankAccount, plain_account_number, plain_bsb
from apps.payments.services.accounts import create_bank_accounts
from apps.people.entered_texts import clean_business_number, clean_scheme_number, whole_digits
from apps.people.models import Client, Contact


def read_bsb(text: str) -> str:
    """``062-000``, ``062 000`` and ``062000``; a number whose zero a spreadsheet dropped is refused."""
    bsb = plain_bsb(whole_digits(text))
    if re.fullmatch("[0-9]{3}-[0-9]{3}", bsb):
        return bsb
    if re.fullmatch("[0-9]{5}", short := plain_account_number(bsb)):
        sentence = f"has five digits. Did it lose its leading zero: 0{short[:2]}-{short[2:]}?"
        raise WireValueError("InvalidBsb", sentence)
    raise WireValueError("InvalidBsb", "must be six digits: 062-000.")


def read_account_number(text: str) -> str:
    number = plain_account_number(whole_digits(text))
    if not re.fullmatch("[0-9]{1,9}", number):
        raise WireValueError("InvalidAccountNumber", "must have one to nine digits.")
    return number


def account_columns() -> list[ImportColumn]:
    """The columns that a file may have, in any order."""
    return [
        ImportColumn(
            "abn",
            ("Business number", "Organisation ABN", "Provider ABN", "Supplier ABN", "Tax number"),
            clean=clean_business_number,
        ),
        ImportColumn(
            "ndis_number",
            ("NDIS No", "Scheme number", "Participant number", "Participant NDIS number"),
            clean=clean_scheme_number,
        ),
        ImportColumn(
            "code", ("Unique code", "Supplier code", "Provider code", "Participant code", "Card ID")
        ),
        ImportColumn(
            "name",
            (
                *("Organisation", "Organization", "Business name", "Company", "Company name", "Payee"),
                *("Provider", "Provider name", "Supplier", "Supplier name", "Contact name", "Co./Last name"),
                *("Owner", "Participant", "Participant name"),
            ),
        ),
        ImportColumn(
            "bsb",
            ("BSB number", "BSB no", "Bank BSB", "BSB code"),
            read=read_bsb,
            in_every_file=True,
            in_every_row=True,
        ),
        ImportColumn(
            "account_number",
            ("Account no", "Account", "Bank account number", "Bank account no", "Bank account"),
            read=read_account_number,
            in_every_file=True,
            in_every_row=True,
        ),
        ImportColumn(
            "account_name",
            ("Bank account name", "Name of account", "Account holder", "Account title"),
            clean=lambda text: CleanedText(" ".join(text.split())),
            in_every_file=True,
            in_every_row=True,
        ),
    ]


#: What names an owner, the surest first, and the columns in which it is looked up.
NAMED: Mapping[str, Sequence[tuple[type[Model], str]]] = {
    "ndis_number": [(Contact, "scheme_number")],
    "abn": [(Client, "business_number")],
    "code": [(Client, "unique_code"), (Contact, "unique_code")],
    "name": [(Client, "business_name")],
}
NAMED_BY = tuple(NAMED)


@dataclass(eq=False)
class AccountRow(FixedRow):
    """A row: the values of its columns, whose account it is, and the one that it replaces."""

    values: dict[str, Any] = field(default_factory=dict)
    owner: Client | Contact | None = None
    present: BankAccount | None = None

    def draft(self) -> AccountDraft:
        """A new draft of it: services fill those that they are given."""
        names = ("bsb", "account_number", "account_name")
        values = {name: self.values[name] for name in names}
        owners = {"client": None, "contact": None, owner_column(self.owner): self.owner}
        return AccountDraft({**owners, **values}, given={*owners, *values})

    @property
    def is_known(self) -> bool:
        """True when the owner has this account already: zeros before a number are none of its digits."""
        return self.present is not None and self.compared(vars(self.present)) == self.compared(self.values)

    @staticmethod
    def compared(values: Mapping[str, Any]) -> tuple[str, str, str | None]:
        return values["bsb"], values["account_number"].lstrip("0"), normalised(values["account_name"])


def owner_column(owner: Model | None) -> str:
    return "client" if isinstance(owner, Client) else "contact"


def import_bank_accounts(path: Path, options: ImportOptions, display: ImportDisplay) -> ImportReport:
    """Enter the accounts of a file; ``ImportFileError`` when it cannot be read at all."""
    table = open_table(path, sheet=options.sheet, header_row=options.header_row)
    found = find_columns(table, account_columns())
    columns = found.by_name
    missing = [column.headers[0] for column in found.missing]
    if not columns.keys() & set(NAMED_BY):
        missing.append("a column that says whose account it is (ABN, NDIS number, code or name)")
    if missing:
        raise ImportFileError(
            f"The file lacks {', '.join(missing)}. Where one column has BSB and account number, make two of"
            " it."
        )
    for notice in table.notices():
        display.show_notice(notice)
    if found.unknown:
        display.show_notice(f"Not read: {', '.join(found.unknown)}.")
    with import_of_fixed_columns(path, table, columns, options, display) as (report, rows):
        read = [read_account_row(row, columns) for row in rows]
        report.counts.rows = len(read)
        find_owners(read)
        with transaction.atomic():
            store_accounts(read, report, options.dry_run)
    return report


def read_account_row(row: Row, columns: Mapping[str, ImportColumn]) -> AccountRow:
    if row.defect is not None:
        line = AccountRow(row, columns)
        line.errors.append(RowIssue(row, None, "InvalidRow", f"It {row.defect}"))
        return line
    values, issues = read_row(row, columns)
    line = AccountRow(row, columns, values=values)
    line.add_cell_issues(issues, line.warnings)
    return line


# --- whose account it is ----------------------------------------------------------------------------------


def find_owners(rows: Sequence[AccountRow]) -> None:
    """Give each row its owner, or an error: five queries."""
    texts = {name: {row.values[name] for row in rows if row.values.get(name)} for name in NAMED_BY}
    found = {name: records_named(name, texts[name]) for name in NAMED_BY}
    for row in rows:
        given = [name for name in NAMED_BY if row.values.get(name)]
        if row.errors:
            continue
        if not given:
            row.add_error("name", "Required", "Say whose account it is.")
            continue
        # The surest decides; the others tell records of one number apart.
        owners = found[given[0]].get(row.values[given[0]], [])
        for name in given[1:]:
            same = {owner.pk for owner in found[name].get(row.values[name], [])}
            narrowed = [owner for owner in owners if owner.pk in same]
            owners = narrowed if len(owners) > 1 and narrowed else owners
        if len(owners) != 1:
            code = "Ambiguous" if owners else "NotFound"
            said = (
                f"{len(owners)} organisations or people have" if owners else "No organisation or person has"
            )
            row.add_error(given[0], code, f"{said} this.")
        elif owners[0].is_archived:
            row.add_error(given[0], "Archived", f"{owners[0]} is archived.")
        else:
            row.owner = owners[0]
            check_other_names(row, given[1:], found)


def check_other_names(
    row: AccountRow, names: Iterable[str], found: Mapping[str, Mapping[str, Sequence[Client | Contact]]]
) -> None:
    """Name what else a row says of its owner and what is not so: another's number is an error."""
    owner = row.owner
    assert owner is not None
    for name in names:
        others = found[name].get(row.values[name], [])
        if any(other.pk == owner.pk for other in others):
            continue
        if others:
            row.add_error(name, "Differs", f"It is of {others[0]}; the row is of {owner}.")
        elif name == "name" and normalised(row.values[name]) != normalised(str(owner)):
            text = f"The record is called {owner}."
            row.warnings.append(row.issue(name, "OtherName", text, is_warning=True))


def records_named(name: str, texts: Iterable[str]) -> dict[str, list[Client | Contact]]:
    """The records that texts of a column name, those in use; people are found by number or code."""
    found: dict[str, list[Client | Contact]] = defaultdict(list)
    for model, column in NAMED[name]:
        field = compared_field(model, column)
        named = RecordName(name, column, field)
        if name in ("abn", "ndis_number"):
            named = RecordName(name, column, field, digits, number_spellings)
        by_text = records_by_text(model, named, texts)
        records: Any = model._default_manager.in_bulk({key for keys in by_text.values() for key, _ in keys})
        for text in texts:
            keys = dict.fromkeys(key for key, _ in by_text.get(named.compare(text), ()))
            found[text] += [records[key] for key in keys]
    return found


# --- what is entered ----------------------------------------------------------------------------------------


def store_accounts(rows: Sequence[AccountRow], report: ImportReport, dry_run: bool) -> None:
    """Enter the accounts that their owners do not have; report every row."""
    find_present(rows)
    changing = list(find_changing(rows))
    for number, issue in try_out(create_bank_accounts, [row.draft() for row in changing]) if changing else ():
        changing[number].add_error(str(issue.field), issue.code, issue.message)
    good = [row for row in changing if not row.errors]
    if good and not dry_run:
        create_bank_accounts([row.draft() for row in good])
    for row in rows:
        if row.errors:
            report.reject([row.row], row.errors, row.warnings)
            continue
        outcome = "unchanged" if row not in changing else "changed" if row.present else "new"
        setattr(report.counts, outcome, getattr(report.counts, outcome) + 1)
        report.warn(row.warnings)


def find_present(rows: Iterable[AccountRow]) -> None:
    """The accounts that owners have now; these are locked, in the order of their keys."""
    owned = [row for row in rows if row.owner is not None]
    for model in (Client, Contact):
        keys = {row.owner.pk for row in owned if isinstance(row.owner, model)}
        list(model.objects.filter(AnyOf("guid", keys)).order_by("guid").select_for_update().values_list("pk"))
        column = f"{model._meta.model_name}_id"
        accounts = BankAccount.objects.filter(AnyOf(column.removesuffix("_id"), keys), archive_date=None)
        present: dict[UUID, BankAccount] = {getattr(account, column): account for account in accounts}
        for row in owned:
            if isinstance(row.owner, model):
                row.present = present.get(row.owner.pk)


def find_changing(rows: Iterable[AccountRow]) -> Iterator[AccountRow]:
    """The rows that enter an account; one for an owner of an earlier row is an error."""
    taken: dict[UUID, int] = {}
    for row in rows:
        if row.errors or row.owner is None:
            continue
        earlier = taken.setdefault(row.owner.pk, row.row.number)
        if earlier != row.row.number:
            text = f"Row {earlier:,} has an account of {row.owner}: one is theirs."
            row.add_error("account_number", "NotUnique", text)
        elif not row.is_known:
            if row.present is not None:
                row.warnings.append(replaced_warning(row, row.present))
            yield row


def replaced_warning(row: AccountRow, present: BankAccount) -> RowIssue:
    confirmed = ", which is confirmed" if present.is_confirmed else ""
    text = (
        f"It takes the place of the account that {row.owner} has{confirmed}. Nothing is paid to it before"
        " somebody else has confirmed it, by a telephone number that was known before."
    )
    column = next(name for name in NAMED_BY if row.values.get(name))
    return row.issue(column, "Replaced", text, is_warning=True)
