"""The tables of the sample service, made once per run."""

import pytest
from django.db import connection

from tests.odata import sample


@pytest.fixture(scope="session")
def sample_tables(django_db_setup, django_db_blocker):
    """The sample's tables with its records."""
    records = sample.records()
    with django_db_blocker.unblock():
        with connection.schema_editor() as editor:
            for model in sample.MODELS:
                editor.create_model(model)
        sample.store(records)
    yield records
    with django_db_blocker.unblock(), connection.schema_editor() as editor:
        for model in reversed(sample.MODELS):
            editor.delete_model(model)


@pytest.fixture
def stored_jobs(sample_tables, db):
    """The records that stand in the tables."""
    return sample_tables
