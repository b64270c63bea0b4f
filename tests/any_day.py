"""Runs the tests on days on which dates go wrong: `python -m tests.any_day [--engine=...] [pytest words]`.

The clock of the tests is set, and goes on from there; programs that they start have the real one.
"""

import os
import subprocess
import sys

#: The variable that names the moment to the tests, in ISO 8601.
MOMENT = "TESTS_MOMENT"

#: Each weekday, and on it a date or an hour at which things go wrong. In the morning of Sydney it is still
#: the day before in UTC; in the small hours zones change. The clock goes on from each moment. All are to
#: come: tests that go to a day of their own would find that nobody has signed in yet.
MOMENTS = (
    "2028-02-28T23:30+11:00",  # Monday
    "2028-02-29T00:30+11:00",  # Tuesday
    "2027-06-30T23:59+10:00",  # Wednesday; a minute later it is another month and financial year
    "2026-12-31T23:30+11:00",  # Thursday
    "2027-01-01T00:30+11:00",  # Friday
    "2028-06-30T23:30+10:00",  # Friday, the last day of a financial year
    "2028-07-01T00:30+10:00",  # Saturday
    "2027-10-03T01:59+10:00",  # Sunday; a minute later it is 3:00
    "2027-02-28T09:00+11:00",  # Sunday
    "2027-04-04T02:30+11:00",  # Sunday; this hour comes twice
    "2027-04-04T02:30+10:00",  # and this is the second
)


def main(words: list[str]) -> int:
    """The exit status: 0 only when the tests passed at every moment."""
    failed = []
    for moment in MOMENTS:
        print(f"\n== The tests at {moment}", flush=True)
        environment = {**os.environ, MOMENT: moment}
        if subprocess.run([sys.executable, "-m", "tests.engines", *words], env=environment).returncode:
            failed.append(moment)
    print(f"\nFailed at {', '.join(failed)}" if failed else "\nPassed at every moment.", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
