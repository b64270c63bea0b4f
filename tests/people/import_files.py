"""Files for the tests of imports: contacts of our own invention, with the faults that people make."""

import contextlib
import csv
import io
import re

from django.core.management import CommandError, call_command

HEADER = "First Name,Surname,Email,NDIS No,DOB,Mobile,Street,Suburb,State,Postcode,Country"

GOOD = (
    "Ida,Quill,ida@example.org,431000001,02/03/1990,0400000001,1 Low Road,Hobart,TAS,7000,Australia",
    "Ned,Fox,ned@example.org,431000002,28/02/1985,0400000002,2 Low Road,Perth,WA,6000,Australia",
    "Mei,Tan,mei@example.org,431000003,31/12/1979,0400000003,3 Low Road,Darwin,NT,0800,Australia",
)


def a_csv(folder, *rows, header=HEADER, name="people.csv", encoding="utf-8"):
    """A file of those lines; its path."""
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding=encoding, newline="")
    return path


#: A line such as ``241 × Sex, NotAChoice: …``.
KIND = re.compile(r"[\d,]+ × ")


class CommandResult:
    """What a command said, and with which exit status it ended.

    ``out`` has the counts; ``kinds`` are the lines before them, one for each kind of issue.
    """

    def __init__(self, out, err, status):
        lines = out.splitlines(keepends=True)
        self.kinds = [line for line in lines if KIND.match(line)]
        self.out = "".join(line for line in lines if line not in self.kinds)
        self.err, self.status = err, status

    @property
    def lines(self):
        return self.err.splitlines()


def imported(resource, path, *words):
    """Run the command as a user would, in the folder of the file."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        with contextlib.chdir(path.parent):
            call_command(
                "import_records", resource, str(path), *words, stdout=out, stderr=err, skip_checks=True
            )
    except CommandError as error:
        err.write(str(error))
        status = error.returncode
    except SystemExit as left:
        status = left.code
    return CommandResult(out.getvalue(), err.getvalue(), status)


def rows_of(path, encoding="utf-8-sig"):
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file))
