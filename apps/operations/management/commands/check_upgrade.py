"""The command ``check_upgrade``: whether the pending migrations can run while the service goes on."""

from django.core.management.base import CommandError

from apps.base.errors import plural
from apps.operations.management.base import OperatorCommand
from apps.operations.services.upgrades import check_upgrade


class Command(OperatorCommand):
    help = (
        "Names what each pending migration locks, writes again or breaks for the version that still runs."
        " Run it with the new code before ./run migrate. Exits with 1 when the service has to stop for it."
    )

    def handle(self, *args: object, **options: object) -> None:
        pending = check_upgrade()
        for migration in pending:
            self.stdout.write(f"{migration.name}: {'stop the service' if migration.stops else 'can run now'}")
            for finding in migration.findings:
                self.stdout.write(f"  {finding.text} It {finding.impact.value}.")
                if finding.accepted:
                    self.stdout.write(f"    Accepted: {finding.accepted}")
                elif finding in migration.stops:
                    self.stdout.write(f"    {finding.remedy}")
                else:
                    self.stdout.write(f"    {finding.table} is small enough.")
        if not pending:
            self.stdout.write("The database is up to date.")
        elif stops := sum(bool(each.stops) for each in pending):
            raise CommandError(
                f"{plural(stops, 'migration')} of {len(pending)} cannot run beside the version that runs:"
                " stop the service, ./run migrate, start it again."
            )
        else:
            self.stdout.write("./run migrate can run beside the service; then SIGHUP starts the new version.")
