"""The product's addresses, and the stock viewsets below ``/stock/``."""

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from bench.stock.claims import ClaimViewSet, NewClaimViewSet, WholeClaimViewSet
from bench.stock.viewsets import ClientViewSet, NewClientViewSet, StaffViewSet

router = DefaultRouter()
router.register("client", ClientViewSet)
router.register("new-client", NewClientViewSet, basename="new-client")
router.register("staff", StaffViewSet)
router.register("claim", ClaimViewSet)
router.register("whole-claim", WholeClaimViewSet, basename="whole-claim")
router.register("new-claim", NewClaimViewSet, basename="new-claim")

urlpatterns = [
    path("stock/", include(router.urls)),
    path("", include("records_site.urls")),
]
