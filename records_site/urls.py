"""Where everything answers."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from apps.core.admin_base import RecordAutocompleteView
from apps.core.admin_base.palette import search_page
from apps.odata.http.router import service_urls
from records_site.metrics import metrics
from records_site.service import router

urlpatterns = [
    # First, because most requests come here.
    *service_urls("api/", router),
    path("", include("apps.core.urls")),
    path("", include("apps.access.urls")),
    path("metrics", metrics, name="metrics"),
    re_path("^(?P<section>docs|admin)$", RedirectView.as_view(url="/%(section)s/")),
    path("docs/", include("apps.odata.http.docs_urls")),
    path(
        "admin/autocomplete/",
        admin.site.admin_view(RecordAutocompleteView.as_view(admin_site=admin.site)),
        name="autocomplete",
    ),
    path("admin/search/", admin.site.admin_view(search_page), name="palette"),
    path("admin/", include("apps.people.authentication.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "records_site.failures.bad_request"
handler403 = "records_site.failures.permission_denied"
handler404 = "records_site.failures.page_not_found"
handler429 = "apps.people.authentication.attempts.too_many_response"  # django-allauth's
handler500 = "records_site.failures.server_error"
