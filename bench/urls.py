"""The product's addresses, and the stock viewsets below ``/stock/``."""

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from bench.stock.viewsets import ClientViewSet, NewClientViewSet, StaffViewSet

router = DefaultRouter()
router.register("client", ClientViewSet)
router.register("new-client", NewClientViewSet, basename="new-client")
router.register("staff", StaffViewSet)

urlpatterns = [
    path("stock/", include(router.urls)),
    path("", include("records_site.urls")),
]
