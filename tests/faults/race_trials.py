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
METHOD = """\
Callers begin at the same moment, each in a thread and on a connection of its own. A trial fails when not
exactly one has what only one can have, or the others are not told why.
"""
#: Trials of each race in one run of pytest, all on one server.
BATCH = 200
#: Of each module: what must hold whatever comes first.
RACES = {
    "tests/api/test_races.py": (
        "test_one_of_eight_who_want_the_same_name_gets_it",
        "test_one_of_two_who_want_the_same_login_gets_it",
        "test_one_of_two_puts_with_the_same_tag_is_412",
        "test_of_two_patches_and_a_delete_with_the_same_tag_one_wins",
        "test_the_same_request_sent_twice_at_once_is_stored_once",
    ),
    "tests/funding/test_races.py": (
        "test_one_of_twenty_claims_on_a_single_use_provider_invoice_wins_and_the_others_know_why",
        "test_no_claim_slips_in_while_its_provider_invoice_is_rejected",
        "test_one_of_eight_claims_with_the_same_number_gets_it",
        "test_a_number_given_and_the_same_number_assigned_end_well_for_both_or_with_its_place",
    ),
    "tests/funding/test_transition_races.py": (
        "test_of_an_approval_and_a_hold_one_is_refused_with_the_current_status",
        "test_bulks_about_the_same_budgets_wait_for_each_other",
    ),
    "tests/funding/test_claim_file_races.py": (
        "test_two_people_who_make_a_file_of_the_same_bills_claim_each_line_once",
    ),
    "tests/funding/test_answer_races.py": (
        "test_the_same_remittance_twice_at_once_pays_once",
        "test_two_remittances_with_a_payment_in_common_pay_it_once",
        "test_results_and_their_remittance_at_once_end_as_one_after_the_other",
        "test_a_payment_by_hand_and_a_remittance_at_once_pay_once",
    ),
    "tests/payments/test_races.py": (
        "test_two_runs_at_once_hold_each_claim_once",
        "test_of_two_releases_one_makes_the_files",
        "test_a_run_while_a_remittance_is_imported_has_all_of_a_claim_or_nothing",
        "test_the_same_returns_twice_at_once_come_back_once",
    ),
    "tests/payments/test_accounts_races.py": ("test_of_two_exports_at_once_one_has_everything",),
}


def try_races(url, trials):
    """Whether all of so many trials of each race ended as they must."""
    environment = {**os.environ, "DATABASE_URL": url, "RACE_ROUNDS": str(trials)}
    tests = [f"{module}::{test}" for module, tests in RACES.items() for test in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "--reuse-db", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def as_markdown(trials, words):
    """The section of docs/faults.md."""
    rows = [
        (test.removeprefix("test_").replace("_", " "), f"{trials:,}", 0)
        for tests in RACES.values()
        for test in tests
    ]
    heads = ("What must hold", "Trials", "Failed")
    return f"{page.origin(f'races {words}')}\n{METHOD}\n{page.table(heads, rows)}"


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
