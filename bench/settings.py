"""The product's settings, with the stock viewsets beside its own and no caller refused for calling often."""

import os
import sys

from records_site import settings as product

sys.path.append(os.environ.get("BENCH_PACKAGES", ""))  # behind those of the product
globals().update({name: getattr(product, name) for name in dir(product) if name.isupper()})

INSTALLED_APPS = [*product.INSTALLED_APPS, "bench"]
ROOT_URLCONF = "bench.urls"
API_REQUESTS_PER_MINUTE = 0  # no limit; requests are counted all the same, on both sides
API_REQUESTS_PER_DAY = 0
DEMO_APPS = [app for app in product.DEMO_APPS if app != "apps.sales"]  # it is not measured
