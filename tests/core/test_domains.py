"""The check that names what a domain app lacks."""

import sys

import pytest

from apps.core.domains import DEMO, MODULES, ROUTER, check_domains, find_parts


def test_our_apps_lack_nothing(settings):
    assert check_domains() == []
    assert len(find_parts(ROUTER)) == len(find_parts(DEMO)) == len(settings.DOMAIN_APPS)


@pytest.mark.parametrize("left_out", [*MODULES, "viewsets", "demo"])
def test_a_file_that_is_left_out_is_named(settings, tmp_path, monkeypatch, left_out):
    app = f"app_without_{left_out}"  # a name of its own: what was imported once is not looked for again
    folder = tmp_path / app
    folder.mkdir()
    for module in ("__init__", *MODULES, "viewsets", "demo"):
        if module != left_out:
            (folder / f"{module}.py").write_text("DEMO = None\nclass router:\n    registry = [DEMO]\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings.DOMAIN_APPS = [app]
    (error,) = check_domains()
    assert error.id == "core.E002"
    assert f"{app}/{left_out}.py" in error.msg


@pytest.mark.parametrize(("module", "name"), [ROUTER, DEMO])
def test_a_part_that_is_left_out_is_named(settings, monkeypatch, module, name):
    settings.DOMAIN_APPS = ["apps.sales"]
    monkeypatch.delattr(f"apps.sales.{module}.{name}")
    (error,) = check_domains()
    assert error.msg == f"There is no {name} in apps/sales/{module}.py."


def test_a_router_without_a_resource_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.sales"]
    monkeypatch.setattr("apps.sales.viewsets.router.registry", [])
    (error,) = check_domains()
    assert error.msg == "There is no resource in the router of apps/sales/viewsets.py."


def test_a_page_that_nothing_imports_is_named(settings, monkeypatch):
    settings.DOMAIN_APPS = ["apps.funding"]
    monkeypatch.delitem(sys.modules, "apps.funding.admin.price_guide")
    (error,) = check_domains()
    assert (error.id, error.msg) == ("core.E005", "Nothing imports apps/funding/admin/price_guide.py.")
    assert "apps/funding/admin/__init__.py" in error.hint
