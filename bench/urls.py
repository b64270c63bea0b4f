"""The product's addresses, and the stock viewsets below ``/stock/``."""

from importlib.util import find_spec

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from bench.stock.claims import ClaimViewSet, ClaimWithContactViewSet, NewClaimViewSet, WholeClaimViewSet
from bench.stock.viewsets import ClientViewSet, NewClientViewSet, StaffViewSet
from records_site import urls as product

if find_spec("ninja"):
    from bench.others import ninja_api
    from bench.others.values_api import ClaimsView
else:  # only the measurements of others install them
    ninja_api = ClaimsView = None

router = DefaultRouter()
router.register("client", ClientViewSet)
router.register("new-client", NewClientViewSet, basename="new-client")
router.register("staff", StaffViewSet)
router.register("claim", ClaimViewSet)
router.register("claim-with-contact", ClaimWithContactViewSet, basename="claim-with-contact")
router.register("whole-claim", WholeClaimViewSet, basename="whole-claim")
router.register("new-claim", NewClaimViewSet, basename="new-claim")

urlpatterns = [
    *([path("ninja/", ninja_api.api.urls)] if ninja_api else ()),
    *([path("values/claim/", ClaimsView.as_view())] if ClaimsView else ()),
    path("stock/", include(router.urls)),
    # As in the product itself: no level above them, which each request would pass.
    *product.urlpatterns,
]
