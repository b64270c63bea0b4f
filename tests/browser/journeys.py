"""A journey through the back office: the keys, clicks and seconds from a page to the result."""

import time
from dataclasses import dataclass, field

#: The journeys of this run, for the table at its end.
FINISHED = []


@dataclass
class Journey:
    """Counts what a person does on a page; ``with Journey(page, name, role) as journey``."""

    page: object
    name: str
    role: str
    keys: int = 0
    clicks: int = 0
    seconds: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    def __enter__(self):
        return self

    def __exit__(self, error_class, *_):
        self.seconds = time.perf_counter() - self.started
        if error_class is None:
            found = [*self.page.errors, *self.page.elsewhere]
            assert not found, found
            FINISHED.append(self)

    def open(self, address):
        self.page.goto(address)

    def click(self, selector):
        self.clicks += 1
        self.page.click(selector)

    def submit(self, selector):
        """Click a button that leads to another page."""
        with self.page.expect_navigation():
            self.click(selector)

    def press(self, *keys):
        self.keys += len(keys)
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text):
        self.keys += len(text)
        self.page.keyboard.type(text)

    def wait_for(self, selector):
        self.page.wait_for_selector(selector)

    def look_up(self, words, label):
        self.keys += len(words) + len(("Enter", "Tab"))
        look_up(self.page, words, label)


def look_up(page, words, label):
    """Choose a record in the field that the cursor is in, by typing, and go on to the next.

    Each step waits for what the one before brings about.
    """
    page.wait_for_function("document.activeElement.classList.contains('select2-selection')")
    page.keyboard.press(words[0])  # opens what is looked up
    page.wait_for_function("document.activeElement.classList.contains('select2-search__field')")
    page.keyboard.type(words[1:])
    page.wait_for_function("words => document.activeElement.value === words", arg=words)
    page.wait_for_selector(f".select2-results__option--highlighted >> text={label}")
    page.keyboard.press("Enter")
    page.wait_for_selector(".select2-container--open", state="detached")
    page.wait_for_function("document.activeElement.classList.contains('select2-selection')")
    page.keyboard.press("Tab")


def table():
    """The finished journeys as a table in Markdown."""
    rows = [
        f"| {each.name} | {each.role} | {each.keys} | {each.clicks} | {each.seconds:.1f} |"
        for each in FINISHED
    ]
    return "\n".join(["| Journey | Role | Keys | Clicks | Seconds |", "|---|---|--:|--:|--:|", *rows])
