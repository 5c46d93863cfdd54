"""The whole study in its tiny form."""

import json
import re
import signal
import sys
from dataclasses import replace
from importlib.resources import files

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.games import play
from driftduel.lab.running import NullListener
from driftduel.policies.calibration import FILE
from research.places import PAGES, RECORDS, ROOT
from research.study import (
    EXPERIMENTS,
    __main__ as command,
    as_markdown,
    constants,
    merged,
    read_study,
    record_in,
    replays,
    run_study,
    running,
    write_calibration,
    write_docs,
)
from research.study.short import in_short

pytestmark = pytest.mark.filterwarnings("ignore")
DOCS = ROOT / "research"
SOME = ["rate", "variation"]


def undated(text):
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    run_study("tiny", out)
    return out


@pytest.mark.long
def test_everything_is_written(whole):
    study = read_study(whole / "study.json")
    assert [section.number for section in study.sections] == list(range(1, 8))
    assert study.missing == 0
    for section in study.sections:
        assert section.claims
        for chart in section.charts:
            assert (whole / "figures" / f"{chart.name}.png").stat().st_size > 5000
            assert (whole / "figures" / f"{chart.name}.svg").exists()


@pytest.mark.long
def test_the_page_needs_nothing_else(whole):
    page = (whole / "study.html").read_text("utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    for section in read_study(whole / "study.json").sections:
        for claim in section.claims:
            assert claim.verdict in page


@pytest.mark.long
def test_every_claim_has_a_verdict_of_the_agreed_kind(whole):
    for section in read_study(whole / "study.json").sections:
        for claim in section.claims:
            assert claim.verdict.startswith(("holds", "begins at", "not seen up to", "undecided"))


@pytest.mark.long
def test_the_markdown_is_made_from_the_json_alone(whole):
    assert (whole / "study.md").read_text("utf-8") == as_markdown(read_study(whole / "study.json"))


@pytest.mark.long
def test_the_page_begins_with_a_sentence_a_section(whole):
    study = read_study(whole / "study.json")
    said = dict(in_short(study.sections))
    assert list(said) == [section.title for section in study.sections]
    for text in said.values():
        assert text in (whole / "study.md").read_text("utf-8")
    noise = next(section for section in study.sections if section.title == "Background noise")
    (ours, *_) = noise.claims
    assert ours.measured.split()[0] in said["Background noise"]
    constants = next(s for s in study.sections if s.title == "What a constant costs")
    last = constants.charts[0].panels[0].series[-1]
    assert f"C = {last.x[last.y.index(min(last.y))]:g} loses least" in said[constants.title]


class Stops(NullListener):
    """Pull the plug after some cells."""

    def __init__(self, after):
        self.more = after

    def cell(self, outcome):
        self.more -= 1
        if self.more == 0:
            raise KeyboardInterrupt


@pytest.mark.long
def test_a_study_that_was_stopped_goes_on_to_the_same_numbers(tmp_path):
    for after in (5, 30):
        with pytest.raises(KeyboardInterrupt):
            run_study("tiny", tmp_path / "stopped", Stops(after), only=SOME)
    run_study("tiny", tmp_path / "stopped", only=SOME)
    run_study("tiny", tmp_path / "at-once", only=SOME, workers=1)
    texts = [(tmp_path / name / "study.md").read_text("utf-8") for name in ("stopped", "at-once")]
    assert undated(texts[0]) == undated(texts[1])


def test_a_game_that_was_cut_short_is_not_an_observation(monkeypatch):
    """Ctrl-C ends the game at its next stretch; `play` returns the finished rounds."""
    monkeypatch.setattr(
        "research.study.replays.play",
        lambda policy, world, seed: play(policy, world, seed, progress=press),
    )
    monkeypatch.setattr("research.study.replays._SIZES", {"tiny": (100_000, 1, 1)})
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 1000)

    def press(done, rounds):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        replays.observe("tiny", lambda text: None)


@pytest.mark.long
def test_documentation_is_made_of_the_same_numbers(whole, tmp_path):
    study = read_study(whole / "study.json")
    write_docs(study, whole, tmp_path)
    text = (tmp_path / "pages" / "study.md").read_text("utf-8")
    assert text == as_markdown(read_study(record_in(tmp_path)), figures="study")
    shown = re.findall(r"\]\((study/[\w-]+\.png)\)", text)
    assert shown
    assert all((tmp_path / "pages" / name).exists() for name in shown)


@pytest.mark.long
def test_sections_played_again_take_the_place_of_the_old_ones(whole, tmp_path):
    before = read_study(whole / "study.json")
    write_docs(before, whole, tmp_path)
    words = ["--tiny", "--out", str(tmp_path / "again"), "--docs", str(tmp_path)]
    for only, because in (("variation", "a trial."), ("rate", "another.")):
        command.run(_arguments(*words, "--only", only, "--because", because))
    found = read_study(record_in(tmp_path))
    assert [section.number for section in found.sections] == list(range(1, 8))
    assert (found.games, found.rounds) == (before.games, before.rounds)
    assert [(each.sections, each.because) for each in found.reruns] == [
        ([4], "a trial."),
        ([1], "another."),
    ]
    again = next(each for each in found.reruns if each.sections == [1])
    assert 0 < again.games < before.games
    # The same games: the same numbers.
    for old, new in zip(before.sections, found.sections, strict=True):
        assert old.claims == new.claims
    text = (tmp_path / "pages" / "study.md").read_text("utf-8")
    assert text == as_markdown(found, figures="study")
    assert re.search(
        r"Section 4 was played again on \S+ with driftduel .* rounds\): a trial\.", text
    )
    shown = re.findall(r"\]\((study/[\w-]+\.png)\)", text)
    assert all((tmp_path / "pages" / name).exists() for name in shown)


@pytest.mark.long
def test_a_section_played_twice_is_noted_once(whole):
    study = read_study(whole / "study.json")

    def some(*numbers):
        return replace(study, sections=[s for s in study.sections if s.number in numbers])

    found = merged(merged(study, some(2, 7), "first."), some(7), "second.")
    assert [(each.sections, each.because) for each in found.reruns] == [
        ([2], "first."),
        ([7], "second."),
    ]
    with pytest.raises(DriftduelError, match="of size quick cannot be put into one of size tiny"):
        merged(study, replace(study, size="quick"), "never.")


def test_a_study_that_could_write_no_page_is_not_played(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match="jinja2"):
        run_study("tiny", tmp_path, only=["rate"])
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_is_refused(tmp_path):
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--docs", "{0}/none"), "must be a folder that exists"),
        (("--docs", str(DOCS), "--only", "rate"), "add --because with the reason"),
        (("--docs", str(DOCS), "--only", "rate", "--because", "so."), "cannot be put into it"),
        (("--docs", str(DOCS), "--because", "so."), "it needs --only"),
        (("--docs", "{0}", "--only", "rate", "--because", "so."), "that has records/study.json"),
        (("--calibration", "{0}/none/c.json"), "there is no folder"),
        (("--calibration", "{0}/c.json", "--only", "rate"), "needs the experiment lemmas"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_before_anything_is_played(
    tmp_path, words, message
):
    given = [word.format(tmp_path) for word in words]
    with pytest.raises(DriftduelError, match=message):
        command.run(_arguments("--tiny", "--out", str(tmp_path / "out"), *given))
    assert not (tmp_path / "out").exists()


def test_every_experiment_has_a_name():
    assert list(EXPERIMENTS) == [module.NAME for module in EXPERIMENTS.values()]
    assert "research.study" in sys.modules


def test_the_calibration_that_ships_is_that_of_the_docs(tmp_path):
    write_calibration(read_study(RECORDS / "study.json"), tmp_path / FILE)
    shipped = files("driftduel.policies") / FILE
    assert (tmp_path / FILE).read_text("utf-8") == shipped.read_text("utf-8")


def test_the_docs_say_of_the_constant_what_the_code_computes():
    section = next(s for s in read_study(RECORDS / "study.json").sections if s.number == 6)
    assert section.intro == constants.intro([1e5, 1e6, 1e7, 1e8])
    said = [claim.statement for claim in section.claims]
    assert said[:4] == [constants.statement(t) for t in (1e5, 1e6, 1e7, 1e8)]


def test_a_calibration_needs_its_experiment(tmp_path):
    study = read_study(RECORDS / "study.json")
    without = replace(study, sections=[s for s in study.sections if s.number != 5])
    with pytest.raises(DriftduelError, match="needs the experiment lemmas"):
        write_calibration(without, tmp_path / FILE)
    assert not list(tmp_path.iterdir())


def test_the_page_of_the_docs_is_what_the_writer_makes():
    record = json.loads((RECORDS / "study.json").read_text("utf-8"))
    assert record["size"] == "full"
    assert record["missing"] == 0
    made = as_markdown(read_study(record), figures="study")
    assert (PAGES / "study.md").read_text("utf-8") == made
    for section in read_study(record).sections:
        for chart in section.charts:
            assert (PAGES / "study" / f"{chart.name}.png").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[" * 100_000,
        lambda text: "[]",
        lambda text: text.replace('"seen"', '"sawn"'),
        lambda text: text.replace("[1, 2]", "[1, 3]"),
        lambda text: text.replace("[1, 2]", "[1, NaN]"),
    ],
)
def test_a_damaged_note_is_made_again(damage, tmp_path):
    path = tmp_path / "lemmas-observed.json"
    looked, said = [], []

    def observe(size, say):
        looked.append(size)
        return {"a": [1, 2]}

    def kept():
        return running._kept(path, observe, "tiny", said.append)

    assert kept() == kept() == {"a": [1, 2]}
    assert (looked, said) == (["tiny"], [])
    path.write_text(damage(path.read_text()))
    assert kept() == kept() == {"a": [1, 2]}
    assert looked == ["tiny"] * 2
    (sentence,) = said
    assert str(path) in sentence
    assert "damaged and made again" in sentence


def test_what_is_no_study(tmp_path):
    path = tmp_path / "study.json"
    for text in ("", "{}", "[]", '{"sections": [{}]}', '{"sections": 3}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(DriftduelError):
            read_study(path)
