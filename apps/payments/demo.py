"""Demo data of payments."""

from apps.core.demo import Context, DemoSet
from apps.payments.models import PaymentRun


def load(context: Context) -> None:
    """Nothing yet."""


DEMO = DemoSet((), (PaymentRun,), load)
