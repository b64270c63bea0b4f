"""The check that names what a domain app lacks."""

import sys

import pytest

from apps.base.declaration.service import get_service
from apps.core.domains import DEMO, MODULES, check_domains, find_parts
from apps.sales.resources import OpportunityResource


def test_our_apps_lack_nothing(settings):
    assert check_domains() == []
    assert len(find_parts(DEMO)) == len(settings.DOMAIN_APPS)


@pytest.mark.parametrize("left_out", [*MODULES, "demo"])
def test_a_file_that_is_left_out_is_named(settings, tmp_path, monkeypatch, left_out):
    app = f"app_without_{left_out}"  # a name of its own: what was imported once is not looked for again
    folder = tmp_path / app
    folder.mkdir()
    for module in ("__init__", *MODULES, "demo"):
        if module != left_out:
            text = "DEMO = None\nfrom apps.base.declaration.resource import Resource\n"
            (folder / f"{module}.py").write_text(f"{text}class Thing(Resource):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(get_service(), "declared", Everything())
    settings.DOMAIN_APPS = [app]
    (error,) = check_domains()
    assert error.id == "core.E002"
    assert f"{app}/{left_out}.py" in error.msg


class Everything:
    def __contains__(self, resource):
        return True


def test_a_part_that_is_left_out_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.sales"]
    monkeypatch.delattr("apps.sales.demo.DEMO")
    (error,) = check_domains()
    assert error.msg == "There is no DEMO in apps/sales/demo.py."


def test_a_resource_without_an_address_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.sales"]
    others = [each for each in get_service().declared if each is not OpportunityResource]
    monkeypatch.setattr(get_service(), "declared", others)
    (error,) = check_domains()
    assert error.msg == "OpportunityResource has no address."
    assert "apps/sales/viewsets.py" in error.hint


def test_a_module_without_a_resource_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.sales"]
    monkeypatch.setattr("apps.core.domains.find_resources", lambda app: [])
    (error,) = check_domains()
    assert error.msg == "There is no resource in apps/sales/resources.py."


def test_a_page_that_nothing_imports_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.funding"]
    monkeypatch.delitem(sys.modules, "apps.funding.admin.price_guide")
    (error,) = check_domains()
    assert (error.id, error.msg) == ("core.E005", "Nothing imports apps/funding/admin/price_guide.py.")
    assert "apps/funding/admin/__init__.py" in error.hint
