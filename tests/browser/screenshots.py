"""The pictures of the back office in docs/screenshots, of a running service with demo data.

``./run screenshots http://127.0.0.1:8000`` with the environment of that service (its database); names of
pictures behind it take those alone: ``./run screenshots http://127.0.0.1:8000 tracker statement``.
"""

import datetime as dt
import io
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import django
from PIL import Image
from playwright.sync_api import sync_playwright

from tests.chromium import find_chromium, launch
from tests.foreign_lists import write_lists

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
WIDTH, HEIGHT, TELEPHONE = 1280, 860, 390
#: As many as a page has shades; a picture has a third of its bytes.
COLOURS = 128


def pages():
    """(name, address, width, whether in the dark) of each picture, of records that have something to show."""
    from apps.base import clock
    from apps.engagements.admin.budgets import load_short_components
    from apps.engagements.models import ClientEngagement, FundingPeriod
    from apps.funding.models import Claim, ClaimFile, ProviderInvoice
    from apps.payments.models import AccountsExport, BankAccount, PaymentRun, Statement
    from apps.people.models import Role

    def newest(model, **filters):
        return model.objects.filter(**filters).order_by("-pk").first().pk

    waiting = newest(Claim, funding_status="AwaitingStaffApproval", archive_date=None)
    halfway = clock.today() - dt.timedelta(days=180)
    plans = ClientEngagement.objects.filter(archive_date=None, plan_start_date__lte=halfway)
    plan = plans.order_by("-plan_start_date", "-pk").first()
    with_document = {"document__file_name__endswith": ".pdf", "contact__isnull": False}
    received = newest(ProviderInvoice, is_claimed=False, archive_date=None, **with_document)
    account = newest(BankAccount, confirmed_at=None, archive_date=None)
    run = newest(PaymentRun, status="Released")
    export = AccountsExport.objects.order_by("-creation_date").first().pk
    statement = Statement.objects.filter(is_replaced=False).order_by("-month", "-paid").first()
    in_periods = plans.filter(category_budgets__periods__isnull=False)
    short_components = load_short_components(FundingPeriod.objects.all())
    short = in_periods.filter(category_budgets__in=short_components).first()
    pace = f"engagements/clientengagement/{(short or in_periods.first() or plan).pk}/"
    participant = f"people/contact/{plan.participant_id}/overview/"
    return (
        ("home", "", WIDTH, False),
        ("home_dark", "", WIDTH, True),
        ("participants", "people/contact/", WIDTH, False),
        ("participant", participant, WIDTH, False),
        ("participant_telephone", participant, TELEPHONE, True),
        ("plan", f"engagements/clientengagement/{plan.pk}/plan/", WIDTH, False),
        ("plan_periods", f"{pace}plan/", WIDTH, False),
        ("plan_components", f"{pace}components/", WIDTH, False),
        ("claim_entry", f"funding/claim/add/?provider_invoice={received}", WIDTH, False),
        ("approval", "funding/claim/?status=AwaitingStaffApproval", WIDTH, False),
        ("claim_dark", f"funding/claim/{waiting}/change/", WIDTH, True),
        ("month_end", "funding/claim/month-end/", WIDTH, False),
        ("claim_file_new", "funding/claimfile/add/", WIDTH, False),
        ("claim_file", f"funding/claimfile/{newest(ClaimFile)}/file/", WIDTH, False),
        ("refused_dark", "funding/claim/?status=refused-by-agency", WIDTH, True),
        ("ready_to_pay", "payments/paymentrun/ready/", WIDTH, False),
        ("account_confirm_telephone", f"payments/bankaccount/{account}/confirm/", TELEPHONE, False),
        ("payment_run_dark", f"payments/paymentrun/{run}/run/", WIDTH, True),
        ("tracker", "funding/claim/tracker/", WIDTH, False),
        ("accounts_export", f"payments/accountsexport/{export}/export/", WIDTH, False),
        ("statements", f"payments/statement/month/{statement.month:%Y-%m}/", WIDTH, False),
        ("statement_dark", f"payments/statement/{statement.pk}/statement/", WIDTH, True),
        ("pipeline", "sales/opportunity/board/", WIDTH, False),
        ("role", f"people/role/{newest(Role, all_permissions=False)}/change/", WIDTH, False),
    )


def session_cookie(url):
    from django.conf import settings
    from django.test import Client

    from apps.people.models import Staff

    client = Client()
    administrators = Staff.objects.filter(role__all_permissions=True, disable_login_date=None)
    person = administrators.order_by("pk").first()  # of those with work, not the one who signs in first
    client.force_login(person, settings.AUTHENTICATION_BACKENDS[-1])
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }


def upload_list(page):
    """Upload a list of another system, with all its faults; the address of the import once it is checked."""
    page.goto("/admin/core/fileimport/add/?kind=contact")
    with TemporaryDirectory() as folder:
        write_lists(Path(folder), people=400, organisations=10, claims=10)
        page.set_input_files("[name=file]", Path(folder) / "people.csv")
        with page.expect_navigation():
            page.click("button >> text=Read the file")
    page.wait_for_selector(".rs-import-kinds", timeout=60_000)
    return page.url.partition("/admin/")[2]


def take(url, names=()):
    cookie, listed = session_cookie(url), pages()
    FOLDER.mkdir(exist_ok=True)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's event loop runs in this thread
    with sync_playwright() as playwright:
        browser = launch(playwright, find_chromium() or "chromium")
        context = browser.new_context(base_url=url)
        context.add_cookies([cookie])
        address = upload_list(context.new_page())
        imports = (("import", address, WIDTH, False), ("import_values", f"{address}#values", WIDTH, False))
        context.close()
        for name, address, width, is_dark in (*listed, *imports):
            if names and name not in names:
                continue
            context = browser.new_context(base_url=url, color_scheme="dark" if is_dark else "light")
            context.add_cookies([cookie])
            page = context.new_page()
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.goto(f"/admin/{address}", wait_until="networkidle")
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
            path = FOLDER / f"{name}.png"
            picture.save(path, optimize=True)
            print(f"{path.name}: {path.stat().st_size:,} bytes")
            context.close()
        browser.close()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "records_site.settings")
    django.setup()
    take(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000", sys.argv[2:])
