"""A whole and a bare record of every kind of documents, for the tests over all resources."""

from apps.base import clock
from tests.documents.builders import a_category, a_document
from tests.people.builders import a_client


def documents_records():
    """({entity set: key of a whole record}, {entity set: key of a bare one})."""
    whole = a_document(name="Plan 2026", client=a_client(), category=a_category())
    bare = a_document(category=a_category())
    closed = a_category(archive_date=clock.now())
    return (
        {"Document": str(whole.pk), "DocumentCategory": str(whole.category_id)},
        {"Document": str(bare.pk), "DocumentCategory": str(closed.pk)},
    )
