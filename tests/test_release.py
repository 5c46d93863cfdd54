"""Version, changelog, citation, tag, workflows and contributing guide agree with each other."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import driftduel
from driftduel.cli.common import BAD_INPUT, INTERRUPTED, UNREAD

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_version_changelog_and_citations_agree():
    version, date = newest_release()
    assert version == driftduel.__version__
    assert re.search(r"version = \{(.+)\}", read("README.md"))[1] == version
    citation = read("CITATION.cff")
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == version
    assert re.search(r"^date-released: (\S+)$", citation, re.MULTILINE)[1] == date


def newest_release():
    """Return version and date of the newest dated heading of the changelog."""
    pattern = r"^## (\d+\.\d+\.\d+\S*) \((\d{4}-\d\d-\d\d)\)$"
    return re.search(pattern, read("CHANGELOG.md"), re.MULTILINE).groups()


def tags():
    """Return the tag of `make release-check TAG=...`, or the tags of this commit."""
    if tag := os.environ.get("DRIFTDUEL_TAG"):
        return [tag]
    command = ["git", "tag", "--points-at", "HEAD", "--list", "v*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.split()


def test_a_tag_is_the_version_and_its_changes_are_dated():
    if not tags():
        pytest.skip("this commit has no tag; `make release-check TAG=v1.2.3` checks one")
    assert tags() == [f"v{driftduel.__version__}"]
    first = re.search(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert first.startswith(f"{driftduel.__version__} ("), "the changelog has unreleased changes"


def test_pre_commit_runs_the_locked_ruff():
    locked = re.search(r"^ruff==(\S+)", read("requirements/dev.lock"), re.MULTILINE)[1]
    hook = re.search(r"ruff-pre-commit\n\s+rev: v(\S+)", read(".pre-commit-config.yaml"))[1]
    assert hook == locked


def test_the_stability_page_has_the_exit_codes_and_pythons_that_are_tested():
    page = read("docs/reference/stability.md")
    codes = re.findall(r"(\d+) (?:success|invalid input|stopped with|closed pipe)", page)
    assert codes == ["0", str(BAD_INPUT), str(INTERRUPTED), str(UNREAD)]
    assert re.search(r"(3\.\d+) to (3\.\d+)\.", page).groups() == ("3.11", "3.13")
    tested = re.search(r'python: \["(.+)"\]', read(".github/workflows/test.yml"))[1].split('", "')
    assert (tested[0], tested[-1]) == ("3.11", "3.13")
    assert 'requires-python = ">=3.11"' in read("pyproject.toml")


def test_workflows_call_make_targets_that_exist():
    for file in (*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / ".ci" / "run"):
        text = file.read_text("utf-8")
        calls = re.findall(r"(?:run: |then |^)make ((?:[a-z-]+(?: |;|$))+)", text, re.MULTILINE)
        targets = {target for call in calls for target in re.findall(r"[a-z-]+", call)}
        targets.update(*(row.split(", ") for row in re.findall(r"target: \[(.+)\]", text)))
        assert targets
        for target in targets:
            assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), target


def test_the_furniture_of_the_repository_is_valid_yaml():
    yaml = pytest.importorskip("yaml")
    files = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"]
    parsed = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}
    parsed = {name: yaml.safe_load(text) for name, text in parsed.items()}
    forms = [each for name, each in parsed.items() if re.search(r"ISSUE.*/(?!config)", name)]
    assert len(forms) >= 4
    for form in forms:
        assert {"name", "description", "body"} <= set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert all(field["attributes"]["label"] for field in fields)
        assert len({field["id"] for field in fields}) == len(fields)
    for name, workflow in parsed.items():
        if "workflows" in name:
            assert workflow["jobs"]
            assert all("timeout-minutes" in job for job in workflow["jobs"].values()), name
    assert parsed[".github/dependabot.yml"]["version"] == 2
    assert yaml.safe_load(read("CITATION.cff"))["authors"] == [{"name": "driftduel contributors"}]
    assert (ROOT / ".github" / "pull_request_template.md").is_file()


def read(name):
    return (ROOT / name).read_text("utf-8")


def test_contributing_names_files_and_targets_that_exist():
    for place in re.findall(r"`((?:src|docs|tests)/[\w./-]+)`|\]\(([\w./-]+)\)", CONTRIBUTING):
        assert (ROOT / "".join(place)).exists(), place
    for target in re.findall(r"`make ([a-z-]+)", CONTRIBUTING):
        assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), target


def test_the_guide_names_places_and_names_that_are_there():
    table = [line for line in CONTRIBUTING.splitlines() if line.startswith("| a ")]
    assert len(table) == 8
    for row in table:
        named = re.findall(r"`([^`]+)`", row)
        paths = [name for name in named if "/" in name or name.endswith(".py")]
        places = [
            next(
                (place for place in (ROOT / name, ROOT / "src/driftduel" / name) if place.exists()),
                name,
            )
            for name in paths
        ]
        assert not [place for place in places if isinstance(place, str)]
        text = "".join(place.read_text("utf-8") for place in places if place.is_file())
        for name in named:
            if re.fullmatch(r"[A-Z_]{4,}|[a-z]+_[a-z]+|_one|Standing", name):
                assert re.search(rf"(?m)^(def |class )?{name}\b", text), name


@pytest.mark.parametrize(("page", "words"), [("CONTRIBUTING.md", 900), ("CHANGELOG.md", 2400)])
def test_a_page_stays_a_page(page, words):
    assert len(read(page).split()) < words
