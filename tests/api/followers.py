"""A program that copies an entity set once and follows its changes from then on."""

from itertools import cycle

from tests.api.caller import ok

TRACK_CHANGES = "odata.track-changes"


class Follower:
    """A copy of what a query answers, by key; ``link`` is its delta link, ``entries`` counts what came.

    ``page_sizes`` are asked for in turns, one a page.
    """

    def __init__(self, api, path, query=None, page_sizes=(300,), **headers):
        self.api, self.path, self.query = api, path, query
        self.page_sizes, self.other_headers = cycle(page_sizes), headers
        self.copy, self.removed, self.entries = {}, [], 0
        self.link = self.apply(ok(api.get(path, query, **self.headers())))

    def headers(self):
        """Of the next request."""
        return {"Prefer": f"{TRACK_CHANGES}, maxpagesize={next(self.page_sizes)}", **self.other_headers}

    def sync(self):
        """Follow the delta link; how many entries came."""
        answer = ok(self.api.follow(self.link, **self.headers()))
        before = self.entries
        self.link = self.apply(answer)
        return self.entries - before

    def apply(self, answer):
        """Apply an answer and its further pages; the delta link of the last one."""
        while True:
            for entry in answer["value"]:
                self.entries += 1
                self.apply_entry(entry)
            if "@odata.nextLink" not in answer:
                return answer["@odata.deltaLink"]
            assert "@odata.deltaLink" not in answer
            answer = ok(self.api.follow(answer["@odata.nextLink"], **self.headers()))

    def apply_entry(self, entry):
        address = entry.get("id") if "reason" in entry else entry.get("@odata.id")
        if address is None:
            self.copy[key_of(entry)] = entry
            return
        reason = entry["reason"] if "reason" in entry else entry["@removed"]["reason"]
        key = address.rpartition("(")[2].removesuffix(")")
        self.removed.append((key, reason))
        self.copy.pop(key, None)

    def fresh(self):
        """What the query answers now."""
        return {key_of(record): record for record in self.api.all(self.path, self.query)}


def key_of(record):
    """The value of the first member: lists of this service begin with the key."""
    return str(next(value for name, value in record.items() if not name.startswith("@")))
