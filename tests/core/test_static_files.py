"""What a browser fetches besides a page: small, compressed, kept, and with every icon that a page names."""

import gzip
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.management import CommandError, call_command
from django.template.loader import get_template
from django.test import override_settings

from tests.people.records import a_contact, an_administrator

STATIC = Path(settings.BASE_DIR) / "static"
ICONS = {line for line in (STATIC / "icons.txt").read_text().splitlines() if not line.startswith("#")}
PREPARED = {
    **settings.STORAGES,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}


@pytest.mark.django_db
def test_static_files_are_collected_once_compressed_and_with_names_of_their_content(tmp_path, monkeypatch):
    style = tmp_path / "source" / "own.css"
    style.parent.mkdir()
    style.write_text("body { color: black }\n" * 50)
    folder = tmp_path / "static"
    folder.mkdir()
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    with override_settings(
        STATIC_ROOT=folder, STORAGES=PREPARED, STATICFILES_DIRS=[style.parent], STATICFILES_FINDERS=finders
    ):
        call_command("prepare_static")
        name = json.loads((folder / "staticfiles.json").read_text())["paths"]["own.css"]
        assert re.fullmatch(r"own\.[0-9a-f]{12}\.css", name)
        assert gzip.decompress((folder / f"{name}.gz").read_bytes()) == style.read_bytes()
        (folder / name).unlink()
        call_command("prepare_static")
        assert not (folder / name).exists()  # nothing has changed
        style.write_text("body { color: blue }")
        call_command("prepare_static")
        assert json.loads((folder / "staticfiles.json").read_text())["paths"]["own.css"] != name
        (folder / "stamp").unlink()
        (folder / "staticfiles.json").unlink()
        (folder / "staticfiles.json" / "in the way").mkdir(parents=True)
        with pytest.raises(CommandError, match="The files for browsers cannot be written: "):
            call_command("prepare_static")


def test_the_font_of_icons_has_every_icon_of_the_menu_and_the_templates():
    named = {getattr(page, "icon", "home") for page in admin.site._registry.values()}
    named |= {
        each.icon
        for page in admin.site._registry.values()
        for each in (*getattr(page, "list_pages", ()), *getattr(page, "record_pages", ()))
        if each.icon
    }
    for folder in (STATIC.parent / "apps", STATIC.parent / "templates", library_templates()):
        for template in folder.rglob("*.html"):
            named |= set(re.findall(r"material-symbols-outlined[^>]*>\s*([a-z_0-9]+)", template.read_text()))
        for module in folder.rglob("*.py"):
            named |= set(re.findall(r'icon(?:=|": )"([a-z_0-9]+)"', module.read_text()))
    assert len(named) > 60
    assert named - ICONS == set()


def library_templates():
    return Path(get_template("unfold/layouts/base_simple.html").origin.name).parents[2]


@pytest.mark.django_db
def test_a_page_of_fifty_records_is_small_and_loads_nothing_that_it_does_not_use(client):
    client.force_login(an_administrator())
    for number in range(50):
        a_contact(primary_email=f"mia{number}@example.org", scheme_number=f"4301234{number:02}")
    answer = client.get("/admin/people/contact/", headers={"accept-encoding": "gzip"})
    page = gzip.decompress(answer.content).decode()
    assert page.count('class="action-select"') == 50
    assert len(page) < 100_000
    assert len(answer.content) < 20_000
    assert not re.search(r"chart\.js|alpine\.sort|urlify|xregexp|fonts/", page)
