"""Delete what is kept for some days only; to be run once a day."""

from apps.access.services import purge_expired
from apps.core.management.base import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Delete expired access tokens, idempotency keys, usage counts, finished tasks, files of imports, "
        "exports, notices and entries of the read log. Run it once a day."
    )

    def handle(self, *args: object, **options: object) -> None:
        for what, count in purge_expired().items():
            self.stdout.write(f"{count:>9,} {what} deleted")
