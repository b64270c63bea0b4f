"""An ugly list of another system comes in as it is meant: nothing vanishes, and no amount is wrong."""

import io
import os
from collections import defaultdict
from unicodedata import normalize

import pytest
from django.core.management import call_command

from apps.base.declaration import service
from apps.core.importing.definition import ImportOptions
from apps.core.importing.runs import ImportDisplay, import_file
from apps.funding.models import Claim, ProviderInvoice
from apps.people.models import Client, Contact
from tests.foreign_lists import write_lists
from tests.funding.bodies import a_funder

pytestmark = pytest.mark.django_db


class ImportedList:
    """An imported file: its counts, and the codes of errors and warnings by row."""

    def __init__(self, resource, path):
        self.resource, self.path = resource, path
        self.errors, self.warnings = defaultdict(set), defaultdict(set)
        self.notices = []
        self.counts = self.run()

    def run(self, note=True):
        entity_set = service.get_service().by_path[self.resource.lower()]
        options = ImportOptions(errors=self.path.with_suffix(".errors.csv"), ignore_warnings=True)
        display = ImportDisplay(show_notice=self.notices.append)
        if note:
            display.show_issue = self.note
        return import_file(entity_set, self.path, options, display).counts

    def note(self, issue, line):
        codes = self.warnings if issue.is_warning else self.errors
        codes[issue.row.number].add(issue.code)
        assert "of this request" not in line

    def check(self, truths):
        """Every row became what it must become, and no row became anything else."""
        by_outcome = defaultdict(list)
        for truth in truths:
            by_outcome[truth.outcome].append(truth)
        counts = (self.counts.new, self.counts.rejected, self.counts.left_out)
        assert counts == tuple(len(by_outcome[each]) for each in ("stored", "rejected", "left out"))
        assert (self.counts.changed, self.counts.unchanged) == (0, 0)
        for truth in by_outcome["left out"]:
            assert self.warnings[truth.row] == {"Footer"}, truth
        for truth in by_outcome["stored"]:
            assert set(truth.warnings) <= self.warnings[truth.row], truth
        return [truth.values for truth in by_outcome["stored"]], by_outcome["rejected"]


def stored(record, values):
    """What a record has of what it must have; letters in two parts are the same as in one."""
    found = {name: getattr(record, name) for name in values}
    return {name: value if value is None else normalize("NFC", str(value)) for name, value in found.items()}


def composed(values):
    return {name: value and normalize("NFC", value) for name, value in values.items()}


@pytest.fixture
def lists(tmp_path):
    """The folder of the lists, and the truth about them; the price guide is there."""
    people, organisations, claims = map(int, os.environ.get("FOREIGN_LISTS", "200 40 60").split())
    a_funder(primary_email="fay@example.org")
    truths = write_lists(tmp_path, people, organisations, claims)
    call_command("import_price_guide", str(tmp_path / "price_guide.csv"), stdout=io.StringIO())
    return tmp_path, truths


def test_every_row_of_a_foreign_list_is_stored_as_it_is_meant_or_named(lists):
    folder, truths = lists

    for resource, file_name, model in (
        ("client", "organisations.csv", Client),
        ("contact", "people.csv", Contact),
    ):
        found = ImportedList(resource, folder / file_name)
        values, rejected = found.check(truths[file_name])
        assert {truth.row for truth in rejected} == found.errors.keys()
        for truth in rejected:
            assert set(truth.errors) <= found.errors[truth.row], truth
        records = {record.unique_code: record for record in model.objects.exclude(unique_code=None)}
        assert records.keys() == {each["unique_code"] for each in values}
        for each in values:
            assert stored(records[each["unique_code"]], each) == composed(each)

    bills = ImportedList("providerInvoice", folder / "bills.csv")
    values, _ = bills.check(truths["bills.csv"])
    records = {bill.reference: bill for bill in ProviderInvoice.objects.all()}
    for each in values:
        assert stored(records[each["reference"]], each) == each
    assert any("“From” is read with the month first" in notice for notice in bills.notices)

    claims = ImportedList("claim", folder / "claims.csv")
    values, rejected = claims.check(truths["claims.csv"])
    assert {code for codes in claims.errors.values() for code in codes} == {
        code for truth in rejected for code in truth.errors
    }
    records = {claim.claim_number: claim for claim in Claim.objects.select_related("contact", "provider")}
    assert records.keys() == {each["claim_number"] for each in values}
    for each in values:
        claim = records[each["claim_number"]]
        lines = claim.line_items.order_by("position").values_list(
            "product__code", "quantity", "price", "from_date", "total"
        )
        assert [(code, *map(float, rest[:2])) for code, *rest in lines] == [
            (code, float(quantity), float(price)) for code, quantity, price, *_ in each["lines"]
        ]
        assert [[str(day), str(total)] for *_, day, total in lines] == [line[3:] for line in each["lines"]]
        assert str(claim.total) == each["total"]
        assert (claim.contact.unique_code, claim.provider.unique_code) == (each["person"], each["provider"])
        assert [str(claim.start_date), str(claim.end_date)] == [each["start_date"], each["end_date"]]

    for imported in (bills, claims):
        again = imported.run(note=False)
        assert (again.new, again.changed) == (0, 0)
        assert again.unchanged == imported.counts.new
