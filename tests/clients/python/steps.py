"""The service under test, and the steps that every client takes: each returns what it saw, or raises."""

import os

SERVICE = os.environ["RECORDS_SERVICE"]
TOKEN = os.environ["RECORDS_TOKEN"]
CONTACTS = int(os.environ["RECORDS_CONTACTS"])
VERSION = os.environ["RECORDS_VERSION"]


def take(**steps):
    for name, step in steps.items():
        print(f"{name}: {step()}", flush=True)


def whole_list(keys):
    """Clients create contacts meanwhile: a list that is read in pages must have them all, each once."""
    assert len(set(keys)) == len(keys)
    assert len(keys) >= CONTACTS, f"{len(keys)} of {CONTACTS}"
    return f"{len(keys)} records"
