"""The back office of payments."""

from django.contrib import admin

from apps.core.admin_base import RecordAdmin
from apps.payments.models import PaymentRun


@admin.register(PaymentRun)
class PaymentRunAdmin(RecordAdmin):
    """Payment runs."""

    purpose = "What is paid out at once."
