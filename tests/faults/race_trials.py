"""The tests of races, tried as often as one likes: `./run test races --trials 10000`.

It exits 0 when no trial has failed; ``--record`` writes docs/faults.md.
"""

import argparse
import os
import subprocess
import sys

from tests import postgres
from tests.faults import page
from tests.server.server_process import ROOT

TITLE = "Races"
#: Trials of each race in one run of pytest, all on one server.
BATCH = 25
API, FUNDING, TRANSITIONS = (
    f"tests/{name}.py::test_"
    for name in ("api/test_races", "funding/test_races", "funding/test_transition_races")
)
RACES = {
    "eight callers, one name or code": f"{API}one_of_eight_who_want_the_same_name_gets_it",
    "two callers, one login": f"{API}one_of_two_who_want_the_same_login_gets_it",
    "three PUTs with one ETag": f"{API}one_of_two_puts_with_the_same_tag_is_412",
    "two PATCHes and a DELETE with one ETag": f"{API}of_two_patches_and_a_delete_with_the_same_tag_one_wins",
    "four requests with one Idempotency-Key": f"{API}the_same_request_sent_twice_at_once_is_stored_once",
    "twenty claims, one provider invoice of single use": f"{FUNDING}one_of_twenty_claims_on_a_single_use"
    "_provider_invoice_wins_and_the_others_know_why",
    "twenty claims and the rejection of their provider invoice": f"{FUNDING}no_claim_slips_in_while_its"
    "_provider_invoice_is_rejected",
    "eight claims with one number": f"{FUNDING}one_of_eight_claims_with_the_same_number_gets_it",
    "a number given and the same number assigned": f"{FUNDING}a_number_given_and_the_same_number_assigned"
    "_end_well_for_both_or_with_its_place",
    "an approval and a hold": f"{TRANSITIONS}of_an_approval_and_a_hold_one_is_refused_with_the_current_status",
    "two transitions on the same budgets": f"{TRANSITIONS}bulks_about_the_same_budgets_wait_for_each_other",
}


def try_races(url, trials):
    """Whether all of so many trials of each race ended as they must."""
    environment = {**os.environ, "DATABASE_URL": url, "RACE_ROUNDS": str(trials)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--reuse-db", *RACES.values()]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def as_markdown(trials, words):
    """The section of docs/faults.md."""
    return (
        f"Written by `./run test races {words}` on {page.versions()}.\n\n"
        "Callers begin at the same moment, each in a thread and on a connection of its own. A trial is a violation\n"
        "when not exactly one has what only one can have, or the others are not told why.\n\n"
        + page.table(("Race", "Trials", "Violations"), [(race, f"{trials:,}", 0) for race in RACES])
    )


def main(arguments):
    parser = argparse.ArgumentParser(prog="./run test races", description=__doc__)
    parser.add_argument("--trials", type=int, default=BATCH, help="of each race (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="write docs/faults.md")
    options = parser.parse_args(arguments)
    with postgres.throwaway_server() as url:
        for done in range(0, options.trials, BATCH):
            batch = min(BATCH, options.trials - done)
            if not try_races(url, batch):
                return 1
            if options.record:
                page.replace_section(TITLE, as_markdown(done + batch, " ".join(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
