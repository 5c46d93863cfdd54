"""The site: every page runs, nothing that exists is left out, and every link leads somewhere."""

import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

import driftduel
from driftduel.cli import COMMANDS, main, parser
from driftduel.cli.arena import COMMANDS as ARENA_COMMANDS
from driftduel.cli.log import COMMANDS as LOG_COMMANDS
from driftduel.errors import MissingExtraError
from driftduel.policies import POLICIES
from driftduel.worlds import WORLDS
from tests.scripts import load_script

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# These two are run, and looked at more closely, by tests/test_docs.py.
RUN_ELSEWHERE = {
    f"guide/{name}.md" for name in ("own-policy", "lab", "own-policy-paper", "preflib")
}


generate = load_script("docs/generate.py")


class Block(NamedTuple):
    kind: str
    text: str
    run: bool
    after: str
    """The paragraph that follows."""


def blocks(page: str) -> Iterator[Block]:
    text = (DOCS / page).read_text("utf-8")
    for match in re.finditer(r"(?ms)^```(\w*)\n(.*?)^```$", text):
        before = text[: match.start()].rstrip().rpartition("\n")[2]
        after = text[match.end() :].strip().partition("\n\n")[0]
        yield Block(match[1], match[2], not before.startswith("<!-- not run"), after)


def commands_in(text: str) -> list[list[str]]:
    """Return the driftduel commands of a block, as lists of words."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("driftduel ")]
    return [each[1:] for each in words]


def exit_code(call: Callable[[list[str]], object], words: list[str]) -> object:
    """Return what a command exits with; None and 0 are good."""
    try:
        return call(words)
    except SystemExit as stopped:
        return stopped.code


# ---- nothing is left out ----


def test_every_mark_is_known_and_every_part_is_on_a_page():
    marks = {mark for page in PAGES for mark in generate.MARK.findall((DOCS / page).read_text())}
    assert marks == set(generate.PARTS)


def _rooms() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(driftduel.__path__)]
    return [name for name in names if not name.startswith("_")]


@pytest.mark.parametrize("room", _rooms())
def test_every_public_name_of_a_room_is_in_the_reference(room):
    page = generate.package_page(room)
    assert f"(python/{room}.md)" in generate.python_index()
    try:
        names = importlib.import_module(f"driftduel.{room}").__all__
    except (MissingExtraError, ModuleNotFoundError):
        names = generate.public_names(room)
    assert names
    assert [name for name in names if f"::: driftduel.{room}.{name}\n" not in page] == []


def test_every_name_of_driftduel_itself_is_in_the_reference():
    index = generate.python_index()
    assert [name for name in driftduel.__all__ if f"[`{name}`][" not in index] == []


def _sections(text: str, level: str) -> dict[str, str]:
    found = re.split(rf"(?m)^{level} (.*?)(?: {{.*}})?$", text)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_command_is_in_the_reference():
    text = generate.command_line()
    for command in COMMANDS:
        assert f"`driftduel {command}`" in text
    for command in LOG_COMMANDS:
        assert f"[`log {command}`](#log-{command})" in text
    for command in ARENA_COMMANDS:
        assert f"[`arena {command}`](#arena-{command})" in text


@pytest.mark.parametrize("command", sorted({*generate.commands()} - {"log", "arena"}))
def test_every_option_of_a_command_is_in_the_reference(command):
    section = _sections(generate.command_line(), "##")[f"driftduel {command}"]
    for action in generate.commands()[command]._actions:
        for name in action.option_strings or [action.metavar or action.dest]:
            assert re.search(rf"^\| `.*{re.escape(name)}\b", section, re.MULTILINE), name
        assert generate.cell(action.help.replace("%%", "%")) in section
        for choice in action.choices or ():
            assert choice in section


@pytest.mark.parametrize("entry", list(WORLDS), ids=lambda entry: entry.name)
def test_every_world_and_key_is_in_the_reference(entry):
    section = _sections(generate.worlds(), "##")[entry.name]
    assert entry.summary in section
    for key in entry.parameters:
        default = "required" if key.required else f"`{str(key.default).lower()}`"
        assert re.search(rf"^\| `{key.name}` \|.*\| {re.escape(default)} \|", section, re.MULTILINE)
        assert key.help in section
        assert str(key.allowed or "") in section


@pytest.mark.parametrize("entry", list(POLICIES), ids=lambda entry: entry.name)
def test_every_policy_and_key_is_in_the_reference(entry):
    wrapper = getattr(entry.factory, "wrapper", None)
    title = f"{wrapper.prefix}-*" if wrapper else entry.name
    section = _sections(generate.policies(), "###")[title]
    kind = wrapper or entry.factory
    for fact in (kind.guarantee, kind.source, kind.confidence):
        assert fact in section
    (row,) = re.findall(rf"^\| `{entry.name}` \|.*$", section, re.MULTILINE) if wrapper else [""]
    for key in entry.parameters:
        assert f"| `{key.name}` |" in section or f"`{key.name}`" in row
        assert key.help in section or wrapper
    assert f"[`{title}`]" in generate.by_prior_knowledge()
    assert generate.facts(entry)["prior knowledge"] in (row or section)


def test_every_key_of_a_sweeps_file_is_on_the_page_of_the_lab():
    pytest.importorskip("polars")
    from driftduel.lab.toml import _Sweep

    page = (DOCS / "guide" / "lab.md").read_text("utf-8")
    keys = _Sweep.__struct_fields__
    assert [key for key in keys if not re.search(rf"^\[?{key}\b|`{key}`", page, re.M)] == []


def test_the_comparison_on_the_page_is_that_of_its_plan():
    path = ROOT / "research" / "benchmarks" / "which-policy.toml"
    plan = tomllib.loads(path.read_text("utf-8"))
    rows = generate.comparison()
    pairs = {(world, policy) for world in plan["worlds"] for policy in plan["policies"]}
    assert {(row["world"], row["policy"]) for row in rows} == pairs
    assert {row["runs"] for row in rows} == {str(plan["runs"])}
    for policy in plan["policies"]:
        assert f"[`{policy}`]" in generate.measured()


# ---- every page runs ----


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_can_be_parsed(page):
    for block in blocks(page):
        for words in commands_in(block.text):
            assert exit_code(parser().parse_args, words) != 2, f"driftduel {shlex.join(words)}"
    known = {*COMMANDS, "COMMAND"}
    for name in re.findall(r"`driftduel ([\w-]+)", (DOCS / page).read_text("utf-8")):
        assert name in known or name.startswith("--"), f"driftduel {name}"


def test_every_target_of_make_on_a_page_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for page in PAGES:
        text = (DOCS / page).read_text("utf-8")
        code = "\n".join(block.text for block in blocks(page))
        shown = re.findall(r"(?m)^make ([\w-]+)", code) + re.findall(r"`make ([\w-]+)", text)
        for target in shown:  # a line of prose may begin with "make", too
            assert re.search(rf"(?m)^{target}:", makefile), f"{page}: make {target}"


@pytest.fixture
def _registries_as_before():
    with POLICIES.temporarily(), WORLDS.temporarily():
        yield


def masked(text: str) -> set[str]:
    """Return the lines with numbers blotted out: they may differ from machine to machine."""
    text = re.sub(r"\d[\d,.]*(e[+-]?\d+)?", "#", text)
    text = re.sub(r"# ?[kMG]\b", "#", text)
    text = re.sub(r"--+", "--", text)
    return {" ".join(line.split()) for line in text.splitlines() if line.strip()}


@pytest.mark.long
@pytest.mark.usefixtures("_registries_as_before")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE])
def test_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch, capsys):
    found = list(blocks(page))
    if not any(block.kind in ("python", "sh") for block in found):
        return
    for package in ("polars", "scipy", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    printed = ""
    for block in found:
        if block.kind == "python":
            code = compile(block.text, page, "exec")
            if block.run:
                exec(code, names)
        elif block.kind == "sh" and block.run:
            for words in commands_in(block.text):
                assert not exit_code(main, words), f"driftduel {shlex.join(words)}"
        elif block.kind == "toml":
            (name,) = re.findall(r"as `([\w-]+\.toml)`", block.after)
            Path(name).write_text(block.text)
        if block.kind == "text":
            assert masked(block.text) - masked(printed) == set()
        else:
            printed = capsys.readouterr().out
    if "plt" in names:
        names["plt"].close("all")


# ---- the site itself ----


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """Build the site once, whichever worker comes first."""
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("latex2mathml")
    import fcntl

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    built, done = folder / "site", folder / "site.done"
    with open(folder / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            command = [
                sys.executable,
                "-P",
                "-m",
                "mkdocs",
                "build",
                "--strict",
                "--quiet",
                "-d",
                built,
            ]
            quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            out = subprocess.run(
                command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False
            )
            assert out.returncode == 0, out.stdout + out.stderr
            done.touch()
    return built


class Seen(HTMLParser):
    """What one built page has and what it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get("src"):
            self.resources.append(given["src"])
        if tag == "link" and given.get("href"):
            self.resources.append(given["href"])
        if "mermaid" in (given.get("class") or ""):
            self.resources.append("https://a-script-that-draws-diagrams")


@pytest.fixture(scope="session")
def seen(site) -> dict[Path, Seen]:
    return {path.resolve(): Seen(path) for path in site.rglob("*.html")}


@pytest.mark.long
def test_every_link_of_the_site_leads_somewhere(seen):
    for page, content in seen.items():
        if page.name == "404.html":  # its links are absolute
            continue
        for link in content.links:
            if re.match(r"https?:|javascript:", link):
                continue
            path, _, place = link.partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if target.is_dir():
                target /= "index.html"
            assert target.exists(), f"{page.name}: {link}"
            if place and target in seen:
                assert place in seen[target].ids or place == "__skip", f"{page.name}: {link}"


@pytest.mark.long
def test_the_site_fetches_nothing_from_the_network(site, seen):
    for page, content in seen.items():
        outside = [each for each in content.resources if re.match(r"(https?:)?//", each)]
        assert outside == [], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text("utf-8")), sheet.name


@pytest.mark.long
def test_every_public_name_has_a_place_on_the_site(site, seen):
    for room in _rooms():
        ids = seen[(site / "reference" / "python" / f"{room}.html").resolve()].ids
        names = generate.public_names(room)
        assert [name for name in names if f"driftduel.{room}.{name}" not in ids] == []


@pytest.mark.long
def test_formulas_are_shown_without_a_script(site):
    page = (site / "research" / "theory.html").read_text("utf-8")
    assert page.count("<math") > 20
    assert "arithmatex" not in page


def test_the_site_has_a_guide_a_reference_and_research_notes():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    chapters = dict(re.findall(r"^  - (.+?):\n((?:      .*\n)+)", nav, re.MULTILINE))
    assert list(chapters) == ["Guide", "Reference", "Research notes"]
    notes = re.findall(r": (\S+\.md)", chapters["Research notes"])
    assert sorted(notes) == [page for page in PAGES if page.startswith("research/")]
    assert "research/" not in chapters["Guide"] + chapters["Reference"]
    guides = re.findall(r": (\S+\.md)", chapters["Guide"])
    assert sorted(guides) == [page for page in PAGES if page.startswith("guide/")]


def test_figures_follow_a_dark_page():
    css = (DOCS / "assets" / "site.css").read_text("utf-8")
    rule = css.partition('[data-md-color-scheme="slate"] .md-typeset img {')[2].partition("}")[0]
    assert "invert(" in rule
