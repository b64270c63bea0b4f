"""Which tests are run on the second engine too: those that could fail there alone."""

from django.test import TransactionTestCase


def depends_on_engine(item):
    """``any_engine`` and ``both_engines`` say otherwise than the rules, each with its reason."""
    if item.get_closest_marker("both_engines"):
        return True
    if item.get_closest_marker("browser") or item.get_closest_marker("any_engine"):
        return False
    return uses_database(item) and not (opens_pages(item) or repeats_a_walk(item))


def uses_database(item):
    is_django_test_case = item.cls is not None and issubclass(item.cls, TransactionTestCase)
    fixtures = {"db", "transactional_db", "databases"}.intersection(item.fixturenames)
    return bool(is_django_test_case or fixtures or item.get_closest_marker("django_db"))


def opens_pages(item):
    """``client`` is a browser of the back office: what its forms and lists do is Django's on each engine."""
    return "client" in item.fixturenames and not item.nodeid.startswith("tests/api/")


def repeats_a_walk(item):
    """The same random steps with another seed: the first walk is taken on both engines."""
    seeds = getattr(item, "callspec", None) and item.callspec.indices.get("seed")
    return bool(seeds)
