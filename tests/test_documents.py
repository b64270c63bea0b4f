"""README.md and docs/: links and citations lead somewhere; settings, commands, layers are the code's."""

import ast
import functools
import importlib.machinery
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.test_architecture import MAY_IMPORT

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (
        ROOT / "README.md",
        ROOT / "bench/README.md",
        *ROOT.glob("apps/*/README.md"),
        *ROOT.glob("docs/*.md"),
    )
}
#: Of files in which a page may be cited.
SUFFIXES = ("", ".cfg", ".conf", ".css", ".html", ".js", ".md", ".mjs", ".py", ".service", ".toml", ".yml")
#: Conditions on which a default depends; both of its values stand on the page.
CONDITIONS = ("IS_SERVER", "IS_MIGRATION", "HTTPS")
#: Commands that other commands call: nobody types them.
INTERNAL_COMMANDS = {"prepare_demo"}


# --- links ----------------------------------------------------------------------------------------------


def without_code(text: str) -> str:
    """The text without blocks and spans of code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", without_blocks(text))


def without_blocks(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@functools.cache
def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: Counter[str] = Counter()
    slugs = set()
    for heading in re.findall(r"^#+ (.+)$", without_blocks(PAGES[page]), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        slugs.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return slugs


def links(page: str) -> Iterator[tuple[str, Path, str]]:
    """Each link of a page to a file of ours: as it is written, the file, the anchor in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(PAGES[page])):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield target, (ROOT / page).parent.joinpath(file).resolve() if file else ROOT / page, anchor


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_to_a_file_and_to_a_heading_of_it(page):
    wrong = [
        target
        for target, file, anchor in links(page)
        if not (file.is_relative_to(ROOT) and file.exists())
        or (anchor and anchor not in anchors(str(file.relative_to(ROOT))))
    ]
    assert wrong == []


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), ["README.md"]
    while waiting:
        page = waiting.pop()
        if page in PAGES and page not in reached:
            reached.add(page)
            waiting += [str(file.relative_to(ROOT)) for _, file, _ in links(page)]
    assert set(PAGES) - reached == set()


@pytest.mark.parametrize("page", PAGES)
def test_each_file_that_a_page_names_exists(page):
    named = re.findall(r"`((?:apps|bench|docs|ops|records_site|templates|tests)/[\w/.-]*)`", PAGES[page])
    assert [name for name in named if not (ROOT / name).exists()] == []
    of_apps = re.findall(r"`(?:apps/)?([\w/]+\.py)`", PAGES[page])
    assert [name for name in of_apps if not any(ROOT.rglob(name))] == []


#: Pages that name modules, classes and functions.
PAGES_ABOUT_CODE = ["docs/architecture.md", "docs/decisions.md", *(page for page in PAGES if "apps/" in page)]
#: Of other programs, named because they are not used here.
FOREIGN_NAMES = {"httpx", "pg_snapshot_xmin"}
NAME = re.compile(r"[a-z]+\.E\d{3}|\w+")


@functools.cache
def names_in_the_code() -> set[str]:
    return {name for path, text in texts() if path not in PAGES for name in NAME.findall(text)}


@pytest.mark.parametrize("page", PAGES_ABOUT_CODE)
def test_each_name_of_the_code_that_a_page_has_stands_in_the_code(page):
    spans = re.findall(r"`([A-Za-z_][\w.]*)(?:\(\))?`", without_blocks(PAGES[page]))
    named = {name for span in spans if not span.endswith(".py") for name in NAME.findall(span)}
    assert named - names_in_the_code() - FOREIGN_NAMES == set()


@pytest.mark.parametrize("page", PAGES_ABOUT_CODE)
def test_each_module_that_a_page_names_exists(page):
    spans = re.findall(r"`([a-z_]+)((?:\.\w+)+)(?:\(\))?`", without_blocks(PAGES[page]))
    named = [f"{app}{rest}" for app, rest in spans if app in MAY_IMPORT and not re.match(r"\.E\d", rest)]
    assert [name for name in named if not is_in_module(name.split("."))] == []


def is_in_module(parts: list[str]) -> bool:
    """True when the names are a module of an app, or what stands in one."""
    path = ROOT / "apps"
    for at, part in enumerate(parts):
        module = path / f"{part}.py"
        if module.exists():
            return at == len(parts) - 1 or parts[at + 1] in re.findall(r"\w+", module.read_text())
        path /= part
    return path.is_dir()


def texts() -> Iterator[tuple[str, str]]:
    """Path and text of every file that may cite a page, a citation over several lines in one."""
    for folder in (".ci", "apps", "bench", "docs", "ops", "records_site", "static", "templates", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and is_ours(path):
                yield str(path.relative_to(ROOT)), one_line(path.read_text())
    for name in ("README.md", "pyproject.toml", "requirements.in", "run"):
        yield name, one_line((ROOT / name).read_text())


def is_ours(path: Path) -> bool:
    return "node_modules" not in path.parts and path != Path(__file__)


def one_line(text: str) -> str:
    return re.sub(r"\s*\n[\s#:*/]*", " ", text)


def decisions() -> list[str]:
    """The titles on the page of decisions."""
    titles = re.findall(r"^- \*\*(.+?)[.:]?\*\*", one_entry_a_line(PAGES["docs/decisions.md"]), re.MULTILINE)
    assert len(titles) > 100
    return titles


def one_entry_a_line(page: str) -> str:
    return re.sub(r"\n +", " ", page)


def test_a_decision_is_cited_by_a_title_that_stands_on_their_page():
    wrong = []
    for name, text in texts():
        cited = re.findall(r"decisions\.md(?:\]\([^)]*\))?[`)]?, \"([^\"]+)\"", text)
        wrong += [(name, title) for title in cited if title not in decisions()]
        wrong += [(name, found) for found in re.findall(r"decisions(?:\.md)?[`,)]* \d+\b", text)]
    assert wrong == []


def test_each_decision_has_a_title_of_its_own():
    titles = decisions()
    assert sorted({*titles}) == sorted(titles)
    assert len(PAGES["docs/decisions.md"].split()) <= 7_000


def test_the_readme_is_one_page():
    assert len(PAGES["README.md"].splitlines()) <= 120


# --- settings -------------------------------------------------------------------------------------------


def settings_read() -> dict[str, list[object]]:
    """Each variable that the code reads from the environment, with its defaults where they are constants."""
    found: dict[str, list[object]] = {"PORT": [8000]}  # of ``run``
    nodes = list(ast.walk(ast.parse((ROOT / "records_site/settings.py").read_text())))
    replaced = [node.values[0] for node in nodes if isinstance(node, ast.BoolOp)]  # env.str(…, "") or …
    for node in nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env")),
                args=[ast.Constant(value=str(name)), *positional],
                keywords=named,
            ):
                defaults = [*positional, *(keyword.value for keyword in named)]
                compared = defaults and node not in replaced
                found.setdefault(name, constants(defaults[0]) if compared else [])
    return found


def constants(default: ast.expr) -> list[object]:
    """The values of a default, one for each condition that it depends on; none where it is computed."""
    values = []
    for truth in (True, False):
        names = {"__builtins__": {}, **dict.fromkeys(CONDITIONS, truth)}
        try:
            value = eval(compile(ast.Expression(default), "settings.py", "eval"), names)
        except (NameError, TypeError):
            return []
        if value not in values:
            values.append(value)
    return values


def settings_written() -> dict[str, str]:
    """The rows of docs/settings.md: the cell of the default by the name of the variable."""
    return dict(re.findall(r"^\| `([A-Z0-9_]+)` \| (.*?) \|", PAGES["docs/settings.md"], re.MULTILINE))


def spellings(default: object) -> set[str]:
    """The ways in which the page may write a default."""
    match default:
        case bool():
            return {f"`{str(default).lower()}`"}
        case int() | float():
            mebibytes = {f"{default // 2**20} MiB"} if default and default % 2**20 == 0 else set()
            return {str(default), f"{default:,}", *mebibytes}
        case [] | "":
            return {"none"}
        case list():
            return {f"`{','.join(default)}`"}
    return {f"`{default}`"}


def test_settings_are_those_that_the_code_reads():
    written, read = set(settings_written()), set(settings_read())
    assert (read - written, written - read) == (set(), set()), "not on the page, and not in the code"


def test_defaults_of_settings_are_those_of_the_code():
    written, wrong = settings_written(), {}
    for name, defaults in settings_read().items():
        words = set(re.findall(r"`[^`]*`|none|[\d.,]*\d(?: MiB)?", written[name]))
        if not all(spellings(default) & words for default in defaults):
            wrong[name] = defaults
    assert wrong == {}


# --- commands -------------------------------------------------------------------------------------------


@functools.cache
def run_script():
    loader = importlib.machinery.SourceFileLoader("run_for_documents", str(ROOT / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_for_documents", loader))
    loader.exec_module(module)
    return module


def own_commands() -> set[str]:
    """Every command of ours: those of ``run`` and the management commands of the apps."""
    managed = {path.stem for path in ROOT.glob("apps/*/management/commands/[a-z]*.py")}
    return {*run_script().COMMANDS, *(f"test {name}" for name in run_script().RECORDINGS), *managed}


def test_each_command_stands_on_the_page_of_commands():
    first_cells = re.findall(r"^\| (.*?) \|", PAGES["docs/commands.md"], re.MULTILINE)
    written = set(re.findall(r"`\./run (test (?:faults|races|openapi|mutants)|\w+)", "\n".join(first_cells)))
    assert own_commands() - INTERNAL_COMMANDS - written == set()


def command_lines(page: str) -> list[tuple[str, list[str]]]:
    """(command, its options) of every ``./run …`` in the code of a page."""
    lines = re.findall(r"\./run ([a-z]\w*)([^`\n]*)", PAGES[page])
    return [
        (name, re.findall(r"(?<=[ (])--[a-z][\w-]*", re.split(r" #|\||;|&&| > | >> ", rest)[0]))
        for name, rest in lines
    ]


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_a_page_exists_with_its_options(page):
    wrong = []
    for name, options in command_lines(page):
        if name in ("help", *run_script().COMMANDS):
            continue
        if name in get_commands():
            usage = load_command_class(get_commands()[name], name).create_parser("./run", name).format_help()
            wrong += [f"{name} {option}" for option in options if not re.search(rf"{option}\b", usage)]
        else:
            wrong.append(name)
    assert wrong == []


# --- modules and layers in docs/architecture.md --------------------------------------------------------


def test_the_picture_of_the_layers_shows_what_may_be_imported():
    arrows = re.findall(r"^ *(\w+) --> (\w+)$", PAGES["docs/architecture.md"], re.MULTILINE)
    below: dict[str, set[str]] = {}
    for app in MAY_IMPORT:  # from the lowest on
        lower = {target for source, target in arrows if source == app}
        below[app] = lower.union(*(below[target] for target in lower))
    assert below == MAY_IMPORT


def test_each_module_on_the_way_of_a_request_or_an_import_exists():
    named = re.findall(r"^ *([a-z_]+(?:\.[a-z_]+)+) {2,}", PAGES["docs/architecture.md"], re.MULTILINE)
    paths = ["/".join(name.split(".")) for name in named]
    missing = [
        path
        for path in paths
        if not any(ROOT.glob(f"apps/*/{path}.py")) and not any(ROOT.glob(f"apps/*/{path}"))
    ]
    assert len(paths) > 15
    assert missing == []
