"""CSV has, byte for byte, what the JSON of the records says, whoever makes the cells."""

import csv
import io
import json
from decimal import Decimal

import pytest

from apps.base.cell_texts import LINES_AT_ONCE, formula_safe
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.core.models import PersonalDataRead
from apps.core.read_log import READ_LOG, split_keys
from apps.engagements.models import ClientEngagement
from apps.odata.query.options import parse_options
from apps.odata.read.flattening import columns
from apps.odata.read.projection import bind_projection
from apps.people.models import Contact
from tests.people.records import a_contact

SETS = [pytest.param(each, id=each.name) for each in get_service(V2_1).entity_sets]
QUERIES = ["", "$expand=*", "$expand=*&$top=1", "$skip=1&$orderby={key} desc", "$select={key}"]
NASTY = ["=1+1", "-1", "'", "", "a,b", 'a "b"', "a\nb", "a\r\nb", "\\.", "a\tb", "é🚀", "NULL", " ", "\u2028"]


def get(api, entity_set, query, format_):
    options = dict(option.split("=", 1) for option in query.split("&") if option)
    response = api.get(entity_set.path, {**options, "$format": format_, "version": V2_1})
    assert response.status_code == 200, response.content
    return b"".join(response.streaming_content)


def csv_of_json(entity_set, query, lines):
    """The reference: each record decoded, each cell taken from it."""
    selection = bind_projection(entity_set.type, parse_options(query), item=False).selection
    wanted = columns(entity_set.type, selection)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(column.name for column in wanted)
    for line in lines.decode().split("\n")[:-1]:
        record = json.loads(line, parse_float=Decimal)
        writer.writerow(formula_safe(column.cell(record)) for column in wanted)
    return file.getvalue().encode()


@pytest.mark.parametrize("entity_set", SETS)
def test_csv_of_each_resource_has_the_values_of_its_json(api, records, entity_set):
    navigations = entity_set.type.navigations.items()
    parts = [f"$expand={name}" for name, navigation in navigations if not navigation.item_only]
    for query in [*QUERIES, *parts]:
        query = query.replace("{key}", entity_set.key.name)
        expected = csv_of_json(entity_set, query, get(api, entity_set, query, "ndjson"))
        assert get(api, entity_set, query, "csv") == expected, query


@pytest.mark.parametrize(
    "query", ["", "$expand=Address", "$select=LastName", "$expand=Address&$filter=LastName ne 'x'"]
)
def test_csv_of_more_lines_than_go_at_once_has_each_text_as_it_is(api, query):
    for number in range(LINES_AT_ONCE + len(NASTY)):
        text = NASTY[number % len(NASTY)]
        a_contact(last_name=text, hobbies_interests=text or None, suburb=text, phone1=text * 2)
    entity_set = get_service(V2_1).by_model[Contact]
    expected = csv_of_json(entity_set, query, get(api, entity_set, query, "ndjson"))
    assert get(api, entity_set, query, "csv") == expected


@pytest.mark.parametrize("query", ["", "$expand=Representative", "$expand=*", "$select={key}"])
@pytest.mark.parametrize("model", [Contact, ClientEngagement])
def test_the_read_log_has_the_same_keys_of_every_format(api, records, model, query):
    entity_set = get_service(V2_1).by_model[model]
    entries = []
    for format_ in ("csv", "ndjson"):
        get(api, entity_set, query.replace("{key}", entity_set.key.name), format_)
        READ_LOG.write()
        entry = PersonalDataRead.objects.latest("pk")
        assert (entry.kind, entry.record_type) == ("Export", model._meta.label_lower)
        entries.append((entry.record_count, sorted(split_keys(entry.record_keys))))
    assert entries[0] == entries[1]
    assert entries[0][1]
