"""Import the bank's files of returned payments."""

from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.core.management.base import ServiceCommand
from apps.payments.file_formats.bank_file import UnfitBankFile
from apps.payments.file_formats.bank_returns import ReturnedPayment, read_returns
from apps.payments.services.returns import apply_returns, return_sentences


class Command(ServiceCommand):
    help = (
        "Marks payments that came back, by the bank's files: their claims are ready to be paid again, their"
        " accounts are confirmed anew."
        " A second run changes nothing. Exit status: 0 read, 1 a file cannot be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", type=Path, nargs="+")

    def handle(self, *args: object, files: list[Path], **options: object) -> None:
        rows = [row for path in files for row in read_file(path)]
        report = apply_returns(rows, None)
        for sentence in return_sentences(report):
            self.stdout.write(sentence)
        self.stdout.write(
            f"{len(report.returned):,} came back, {len(report.already):,} known already,"
            f" {len(report.unknown):,} of nobody."
        )


def read_file(path: Path) -> list[ReturnedPayment]:
    """The returned payments of a file; ``CommandError`` names the file that cannot be read."""
    try:
        return read_returns(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except UnfitBankFile as unfit:
        raise CommandError(f"{path.name}: {unfit}") from None
