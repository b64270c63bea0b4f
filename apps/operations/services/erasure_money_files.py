"""The erasure of a person's values from archives of old claim files, answers and payment runs.

An archive is written anew without them, read again, and takes the place of the one before. As in the
database, amounts, days, references of lines and numbers of payments stay.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.db.models import Model

from apps.base import clock
from apps.documents.storage import sync_to_disk
from apps.funding.file_formats.claim_file import blank_scheme_numbers
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, ClaimResult, Invoice, RemittanceLine
from apps.operations.backup_files import CHECKSUMS, backup_lock
from apps.operations.money_files import find_faults, opened, write_money_file, year_of
from apps.operations.personal_records import RecordKeys
from apps.operations.services.erasure_copies import ERASED
from apps.operations.services.erasure_plans import cleared_columns
from apps.operations.services.money_archives import files_folder, json_line, rows_entry
from apps.operations.tables import OperationError
from apps.payments.file_formats.bank_file import erase_payments
from apps.payments.models import BankFile, PaymentRunClaim, PaymentRunItem
from apps.people.models import Client, Contact

Row = dict[str, Any]


@dataclass(slots=True)
class PersonalRows:
    """The rows of an archive that are about a person, and the kept files without their values.

    ``lines``: of claim files; ``payees``: payments to the person; ``references``: payments to others for one
    claim of the person, whose reference is what the payee calls that.
    """

    lines: set[int] = field(default_factory=set)
    payees: set[int] = field(default_factory=set)
    references: set[int] = field(default_factory=set)
    #: By the model and the key of their rows, those that change.
    contents: dict[type[Model], dict[str, bytes]] = field(
        default_factory=lambda: {ClaimFile: {}, BankFile: {}}
    )


def erase_from_money_files(paths: Iterable[Path], keys: RecordKeys) -> dict[str, int]:
    """How many rows and kept files lost values, by the new name of each archive.

    Raises ``OperationError`` for one that is damaged, before any is changed.
    """
    paths = list(paths)
    if faults := [f"{path.name}: {fault}" for path in paths for fault in find_faults(path)]:
        raise OperationError("\n".join([*faults, "An archive is damaged."]))
    return dict(erase_from_money_file(path, keys) for path in paths)


def erase_from_money_file(path: Path, keys: RecordKeys) -> tuple[str, int]:
    """Write one archive anew, if anything of the person is in it."""
    with opened(path) as archive:
        own = find_personal_rows(archive, keys)
        count = sum(len(contents) for contents in own.contents.values())
        count += sum(changed for model in ROW_ERASERS for _, changed in erased_rows(archive, model, own))
        if not count:
            return path.name, 0
        with backup_lock(path.parent):
            written = write_money_file(path.parent, year_of(path), erased_entries(archive, own))
            if written != path:
                path.unlink()
                sync_to_disk(path.parent)
    return written.name, count


# --- what is of the person ------------------------------------------------------------------------------


def rows_of(archive: ZipFile, model: type[Model]) -> Iterator[Row]:
    if rows_entry(model) in archive.namelist():
        with archive.open(rows_entry(model)) as lines:
            yield from map(json.loads, lines)


def find_personal_rows(archive: ZipFile, keys: RecordKeys) -> PersonalRows:
    own = PersonalRows()
    texts = {model: set(map(str, keys.get(model, ()))) for model in (Claim, Invoice, Contact, Client)}
    positions: dict[str, list[int]] = defaultdict(list)
    for row in rows_of(archive, ClaimFileLine):
        if row["claim_id"] in texts[Claim] or row["invoice_id"] in texts[Invoice]:
            own.lines.add(row["id"])
            positions[row["claim_file_id"]].append(row["position"])
    erase_claim_files(archive, positions, own)
    counts = Counter(row["item_id"] for row in rows_of(archive, PaymentRunClaim))
    for row in rows_of(archive, PaymentRunClaim):
        if row["claim_id"] in texts[Claim] and counts[row["item_id"]] == 1:
            own.references.add(row["item_id"])
    for row in rows_of(archive, PaymentRunItem):
        if row["contact_id"] in texts[Contact] or row["client_id"] in texts[Client]:
            own.payees.add(row["id"])
    erase_bank_files(archive, own)
    return own


def erase_claim_files(archive: ZipFile, positions: dict[str, list[int]], own: PersonalRows) -> None:
    for key, content in archived_files(archive, ClaimFile, positions):
        erased = blank_scheme_numbers(content, positions[key])
        if erased != content:
            own.contents[ClaimFile][key] = erased


def erase_bank_files(archive: ZipFile, own: PersonalRows) -> None:
    """The payments of a run are in its files in their order, as many in each as its row says."""
    runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    affected = set()
    for row in rows_of(archive, PaymentRunItem):
        runs[row["run_id"]].append((row["position"], row["id"]))
        if row["id"] in own.payees | own.references:
            affected.add(row["run_id"])
    files = [row for row in rows_of(archive, BankFile) if row["run_id"] in affected]
    contents = dict(archived_files(archive, BankFile, {str(row["id"]) for row in files}))
    started: Counter[str] = Counter()
    for row in sorted(files, key=lambda each: (each["run_id"], each["position"])):
        first = started[row["run_id"]]
        started[row["run_id"]] += row["payment_count"]
        items = [key for _, key in sorted(runs[row["run_id"]])][first : started[row["run_id"]]]
        payees = [place for place, key in enumerate(items) if key in own.payees]
        references = [place for place, key in enumerate(items) if key in own.references]
        content = contents[str(row["id"])]
        erased = erase_payments(content, payees, references)
        if erased != content:
            own.contents[BankFile][str(row["id"])] = erased


def archived_files(archive: ZipFile, model: type[Model], keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The kept files of the rows with these keys."""
    wanted = set(keys)
    for name in archive.namelist():
        key = key_of_file(name, model)
        if key in wanted:
            yield key, archive.read(name)


def key_of_file(name: str, model: type[Model]) -> str | None:
    """The key of the row that a kept file belongs to; ``None`` when it is of another model."""
    if not name.startswith(files_folder(model)):
        return None
    rest = name.removeprefix(files_folder(model))
    return rest[:36] if model is ClaimFile else rest.partition("-")[0]


# --- without the values ---------------------------------------------------------------------------------


def clear(model: type[Model], row: Row) -> None:
    """Take from a row what a row in the database loses."""
    for name, value in cleared_columns(model).items():
        column: Any = model._meta.get_field(name)
        row[column.attname] = value


def erase_answer(model: type[Model]) -> Callable[[Row, PersonalRows], None]:
    def erase(row: Row, own: PersonalRows) -> None:
        if row["file_line_id"] in own.lines:
            clear(model, row)

    return erase


def erase_payment(row: Row, own: PersonalRows) -> None:
    if row["id"] in own.payees:
        clear(PaymentRunItem, row)
    elif row["id"] in own.references:
        row["reference"] = ERASED


def erase_claim_file(row: Row, own: PersonalRows) -> None:
    if row["guid"] in own.contents[ClaimFile]:
        row["erased_sha256"] = hashlib.sha256(own.contents[ClaimFile][row["guid"]]).hexdigest()


def erase_bank_file(row: Row, own: PersonalRows) -> None:
    if str(row["id"]) in own.contents[BankFile]:
        row["sha256"] = hashlib.sha256(own.contents[BankFile][str(row["id"])]).hexdigest()
        row["erased_at"] = clock.now()


#: The rows that may lose values; those of other models name nobody.
ROW_ERASERS: dict[type[Model], Callable[[Row, PersonalRows], None]] = {
    ClaimResult: erase_answer(ClaimResult),
    RemittanceLine: erase_answer(RemittanceLine),
    PaymentRunItem: erase_payment,
    ClaimFile: erase_claim_file,
    BankFile: erase_bank_file,
}


def erased_rows(archive: ZipFile, model: type[Model], own: PersonalRows) -> Iterator[tuple[bytes, bool]]:
    """The rows of a model without the person's values, and whether each had any."""
    if rows_entry(model) not in archive.namelist():
        return
    with archive.open(rows_entry(model)) as lines:
        for line in lines:
            row = json.loads(line)
            ROW_ERASERS[model](row, own)
            erased = json_line(row)
            yield erased, erased != line


def erased_entries(archive: ZipFile, own: PersonalRows) -> Iterator[tuple[str, Iterable[bytes]]]:
    """The entries of the archive in their order."""
    models = {rows_entry(model): model for model in ROW_ERASERS}
    for name in archive.namelist():
        if name == CHECKSUMS:
            continue
        if name in models:
            yield name, (line for line, _ in erased_rows(archive, models[name], own))
            continue
        found = ((model, key_of_file(name, model)) for model in own.contents)
        erased = [own.contents[model][key] for model, key in found if key and key in own.contents[model]]
        yield name, erased or chunks_of(archive, name)


def chunks_of(archive: ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as entry:
        while chunk := entry.read(1 << 20):
            yield chunk
