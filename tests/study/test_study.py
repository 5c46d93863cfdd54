"""The whole study in its tiny form."""

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from driftduel.cli import study as command
from driftduel.lab.running import Silent
from driftduel.study import EXPERIMENTS, as_markdown, read_study, run_study, write_docs

pytestmark = pytest.mark.filterwarnings("ignore")
DOCS = Path(__file__).parents[2] / "docs"
SOME = ["rate", "variation"]


def undated(text):
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    run_study("tiny", out)
    return out


def test_everything_is_written(whole):
    study = read_study(whole / "study.json")
    assert [section.number for section in study.sections] == list(range(1, 8))
    assert study.missing == 0
    for section in study.sections:
        assert section.claims
        for chart in section.charts:
            assert (whole / "figures" / f"{chart.name}.png").stat().st_size > 5000
            assert (whole / "figures" / f"{chart.name}.svg").exists()


def test_the_page_needs_nothing_else(whole):
    page = (whole / "study.html").read_text("utf-8")
    assert not re.search(r"(src|href)='(?!data:|#)", page)
    for section in read_study(whole / "study.json").sections:
        for claim in section.claims:
            assert claim.verdict in page


def test_every_claim_has_a_verdict_of_the_agreed_kind(whole):
    for section in read_study(whole / "study.json").sections:
        for claim in section.claims:
            assert claim.verdict.startswith(("holds", "begins at", "not seen up to", "undecided"))


def test_the_markdown_is_made_from_the_json_alone(whole):
    assert (whole / "study.md").read_text("utf-8") == as_markdown(read_study(whole / "study.json"))


class Stops(Silent):
    """Pull the plug after some cells."""

    def __init__(self, after):
        self.left = after

    def cell(self, outcome):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_a_study_that_was_stopped_goes_on_to_the_same_numbers(tmp_path):
    for after in (5, 30):
        with pytest.raises(KeyboardInterrupt):
            run_study("tiny", tmp_path / "stopped", Stops(after), only=SOME)
    run_study("tiny", tmp_path / "stopped", only=SOME)
    run_study("tiny", tmp_path / "at-once", only=SOME, workers=1)
    texts = [(tmp_path / name / "study.md").read_text("utf-8") for name in ("stopped", "at-once")]
    assert undated(texts[0]) == undated(texts[1])


def test_documentation_is_made_of_the_same_numbers(whole, tmp_path):
    study = read_study(whole / "study.json")
    write_docs(study, whole, tmp_path)
    text = (tmp_path / "study.md").read_text("utf-8")
    assert text == as_markdown(read_study(tmp_path / "study.json"), figures="study")
    shown = re.findall(r"\]\((study/[\w-]+\.png)\)", text)
    assert shown
    assert all((tmp_path / name).exists() for name in shown)


def test_an_unknown_experiment_is_refused(tmp_path):
    from driftduel.errors import DriftduelError

    with pytest.raises(DriftduelError, match="no experiment 'rates'"):
        run_study("tiny", tmp_path, only=["rates"])


def _arguments(*words):
    import argparse

    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(words)


def test_the_command_shows_its_budget_and_plays(tmp_path, capsys):
    words = ["--tiny", "--out", str(tmp_path), "--only", "significant"]
    command.run(_arguments(*words, "--dry-run"))
    assert "estimate" in capsys.readouterr().out
    assert not (tmp_path / "study.html").exists()
    command.run(_arguments(*words))
    assert "Theorem 5.1" in capsys.readouterr().out
    assert (tmp_path / "study.html").exists()


def test_every_experiment_has_a_name():
    assert list(EXPERIMENTS) == [module.NAME for module in EXPERIMENTS.values()]
    assert "driftduel.study" in sys.modules


@pytest.mark.skipif(not (DOCS / "study.json").exists(), reason="no full run is kept yet")
def test_the_page_of_the_docs_is_what_the_writer_makes():
    record = json.loads((DOCS / "study.json").read_text("utf-8"))
    assert record["size"] == "full"
    assert record["missing"] == 0
    made = as_markdown(read_study(record), figures="study")
    assert (DOCS / "study.md").read_text("utf-8") == made
    for section in read_study(record).sections:
        for chart in section.charts:
            assert (DOCS / "study" / f"{chart.name}.png").exists()
