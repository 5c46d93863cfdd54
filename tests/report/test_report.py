"""The page and the figures: what is in them, how large they are, and what they are made from."""

import json
import math
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")
pytest.importorskip("plotly")

from driftduel.errors import DriftduelError, MissingExtraError, WeakSpotWarning
from driftduel.lab import compare, load_results
from driftduel.lab.findings import Standing, fit, read_findings, short_names
from driftduel.lab.statistics import t_interval
from driftduel.policies import make_policy
from driftduel.report import write_report
from driftduel.report.chart import numbers
from driftduel.report.page import OF_ALL_WORLDS, OF_ONE_WORLD, _ReportTemplate
from driftduel.report.section import OneWorld
from driftduel.report.sections import trace as drawing, verdict
from driftduel.worlds import make_world
from tests.report.conftest import POLICIES, WORLD
from tests.report.made import made_store
from tests.test_pages import HOSTILE


def read(folder):
    return (folder / "report" / "index.html").read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def text_of(page):
    """Return the page without scripts, styles, pictures and tags."""
    page = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def test_the_page_answers_the_four_questions(played):
    text = text_of(read(played))
    best = load_results(played).summary.sort("regret_mean").row(0, named=True)
    assert best["policy"] == "oracle-rucb"
    assert f"{best['policy']} had the lowest regret, {best['regret_mean']:.0f}"[:40] in text
    assert "The next, " in text  # by how much
    assert "the 95% interval of their paired difference is" in text  # how sure
    assert "oracle-rucb uses prior knowledge (the rounds of the changes)" in text
    assert re.search(r"the best arm changes (twice|\d times), in rounds ", text)  # where it changed
    for policy in POLICIES:
        assert policy in text


def test_every_chart_has_its_data(played):
    charts = data_of(read(played))["charts"]
    assert {name.split("-")[0] for name in charts} == {
        "totals", "regret", "restarts", "moments", "shares",
    }  # fmt: skip
    lines = [trace for trace in charts["regret-0"]["traces"] if trace.get("name")]
    found = load_results(played)
    for trace in lines:
        rows = found.summary.filter(policy=POLICIES[trace["policy"]])
        assert trace["y"][-1] == pytest.approx(rows["regret_mean"][0], rel=1e-4)
    assert len(lines) == len(POLICIES)
    assert charts["regret-0"]["shared"]["at"][-1] == 2000


def test_the_page_repeats_a_game(played):
    page = text_of(read(played))
    command = re.search(r"driftduel play --policy (\S+) --world (\S+) --seed (\d+)", page)
    from driftduel.games import play

    game = play(command[1], command[2], int(command[3]))
    assert game.total in load_results(played).games["regret"].to_list()


def test_figures_are_written_in_all_formats(played):
    names = {path.name for path in (played / "report" / "figures").iterdir()}
    assert names == {
        f"{name}.{ending}"
        for name in ("totals", "regret", "restarts", "shares", "trace")
        for ending in ("png", "svg", "pdf")
    }
    for path in (played / "report" / "figures").iterdir():
        assert path.stat().st_size > 5000


@pytest.mark.long
def test_a_report_is_the_same_every_time(played, tmp_path):
    page = write_report(played, tmp_path / "again")
    assert page.read_text() == read(played)
    for path in (played / "report" / "figures").glob("*.svg"):
        assert (tmp_path / "again" / "figures" / path.name).read_bytes() == path.read_bytes()


def test_a_page_has_remarks_and_the_warnings_of_policies(tmp_path):
    store = tmp_path / "s"
    compare(["mdb", "uniform"], "two-arm:rounds=400", 2, out=store, workers=1)
    page = write_report(store, figures=False, remarks={"uniform": "Learns <nothing>."}).read_text()
    remarks = re.search('<ul class="hint" id="standings-0-remarks">(.*?)</ul>', page)[1]
    with pytest.warns(WeakSpotWarning) as caught:
        make_policy("mdb", 2, horizon=400, switches=1)
    assert f"<code>mdb</code>: {caught[0].message}" in remarks
    assert "MDB monitors 100% of the rounds" in remarks
    assert "<code>uniform</code>: Learns &lt;nothing&gt;." in remarks
    assert remarks.count("<li>") == 2


@pytest.mark.parametrize(("worst", "scale"), [(4.0, "linear"), (6.0, "log")])
def test_regret_opens_on_a_log_axis_where_means_are_far_apart(tmp_path, worst, scale):
    regrets = [1.0, worst]
    made_store(
        tmp_path / "s", ["rucb", "uniform"], ["two-arm:rounds=400"],
        regret=lambda policy, *_: regrets[policy],
    )  # fmt: skip
    page = write_report(tmp_path / "s", figures=False).read_text()
    assert f'data-chart="regret-0" data-scale="{scale}"' in page
    (pressed,) = re.findall('data-scale="([a-z-]+)" data-of="regret-0" aria-pressed="true"', page)
    assert pressed == scale


def test_nothing_comes_from_elsewhere(played):
    page = read(played)
    ours = page.replace(re.search(r"<script>/\*\*.*?</script>", page, re.DOTALL)[0], "")
    assert len(ours) < 1_000_000
    assert "http://" not in ours
    assert "https://" not in ours
    assert "@import" not in ours
    assert "default-src 'none'" in ours
    assert all(
        link.startswith(("figures/", "data:", "#")) for link in re.findall('href="(.*?)"', ours)
    )


def test_several_worlds(grid, tmp_path):
    page = write_report(grid, tmp_path / "r", figures=False).read_text()
    text = text_of(page)
    assert "Lowest regret in 5 worlds: rucb in 5 (beyond chance)." in text
    assert "In 3 worlds of 1,000 to 4,000 rounds (T), the regret of rucb grows slowest" in text
    assert page.count('<section class="world"') == 5
    heat = re.search('id="heat-table".*?</table>', page, re.DOTALL)[0]
    assert heat.count("<b>1.00</b>") == 6


@pytest.mark.long
def test_several_worlds_have_figures_each(tmp_path):
    worlds = [f"two-arm:rounds={rounds}" for rounds in (400, 800)]
    made_store(tmp_path / "s", ["uniform", "rucb"], worlds, restarts=lambda *_: [120])
    write_report(tmp_path / "s")
    names = [path.stem for path in (tmp_path / "s" / "report" / "figures").glob("*.svg")]
    assert sorted(names) == sorted(
        ["heat", "rounds", "facets"]
        + [
            f"{kind}-{world}"
            for kind in ("totals", "regret", "restarts", "shares")
            for world in ("1-rounds-400", "2-rounds-800")
        ]
    )


def test_slopes_are_those_of_the_power_law(grid):
    (trend,) = read_findings(load_results(grid)).trends
    assert trend.axis == "rounds"
    assert trend.x.tolist() == [1000, 2000, 4000]
    for policy, power in enumerate((0.5, 1.0, 0.75)):
        line = trend.lines[policy]
        assert line.slope == pytest.approx(power, abs=0.02)
        assert line.slope_low < line.slope < line.slope_high
        assert line.slope_high - line.slope_low < 0.1


@pytest.mark.parametrize("runs", [2, 3, 12])
def test_the_interval_of_a_slope_is_the_jackknifes(runs):
    """Fit without each run in turn: the variance is (n - 1) / n times the sum of squares."""
    from scipy.stats import t as student

    luck = np.random.default_rng(runs)
    x = np.array([1e3, 1e4, 1e5])
    games = [(0, run) for run in range(runs)]
    table = np.sqrt(x)[:, None] * (1 + 0.3 * luck.random((3, runs)))
    regrets = [dict(zip(games, row, strict=True)) for row in table]
    regrets[1][1, 99] = 1e9  # a game that the other worlds do not have
    standings = [Standing(0, "p", (), runs, runs, float(row.mean())) for row in table]
    found = fit(x, standings, regrets)

    def slope(columns):
        return np.polyfit(np.log(x), np.log(table[:, columns].mean(axis=1)), 1)[0]

    everyone = list(range(runs))
    left_out = [slope([r for r in everyone if r != out]) for out in everyone]
    middle = sum(left_out) / runs
    error = math.sqrt((runs - 1) / runs * sum((each - middle) ** 2 for each in left_out))
    half = student.ppf(0.975, runs - 1) * error
    assert found.slope == pytest.approx(slope(everyone))
    assert found.slope_low == pytest.approx(found.slope - half)
    assert found.slope_high == pytest.approx(found.slope + half)


def test_slopes_against_switches(tmp_path):
    worlds = [
        f"total-order:arms=5,rounds=900,phases={phases},seed=1,change=winner"
        for phases in (3, 5, 9, 1)
    ]
    store = compare(["uniform", "rucb"], worlds, runs=2, out=tmp_path / "s")
    (trend,) = read_findings(store).trends
    assert trend.axis == "switches"
    assert trend.x.tolist() == [2, 4, 8]
    assert trend.left_out == 1


def test_bands_are_intervals_over_runs(played):
    found = load_results(played)
    (world,) = read_findings(found).worlds
    games = found.games.filter(policy=POLICIES[1])
    curves = np.array(games["regret_curve"].to_list())
    for i in (5, 50, -1):
        low, high = t_interval(curves[:, i])
        assert world.curves[1].low[i] == pytest.approx(low)
        assert world.curves[1].high[i] == pytest.approx(high)


def test_shares_add_up_and_winners_are_true(played):
    from driftduel.worlds import make_world

    (world,) = read_findings(load_results(played)).worlds
    assert list(world.winners) == make_world(WORLD).condorcet_winners()
    for shares in world.shares.values():
        np.testing.assert_allclose(shares.shares.sum(axis=1), 1)


def test_an_unfinished_sweep_says_what_is_missing(tmp_path):
    worlds = [f"total-order:arms=3,rounds=400,phases={phases}" for phases in (2, 3, 4)]
    store = made_store(
        tmp_path / "s",
        ["uniform", "rucb"],
        worlds,
        played=lambda policy, world, run: world < 2 and (policy == 0 or run == 0),
    )
    store.fail(next(iter(store.plan.cells())), "unused: this one is finished")
    unplayed = next(cell for cell in store.plan.cells() if cell.world == worlds[2])
    store.fail(unplayed, "the disk </script> was <b>full</b>")
    page = write_report(tmp_path / "s", figures=False).read_text()
    text = text_of(page)
    assert "Unfinished: 14 games of 24 are missing, 1 of them because they failed." in text
    assert f"No game is finished in {worlds[2]}" in text
    assert f"3 games of rucb in {worlds[0]}" in text
    assert "the disk &lt;/script&gt; was &lt;b&gt;full" in page
    assert "They share too few runs" in text


def test_one_run_of_one_policy(tmp_path):
    made_store(tmp_path / "s", ["uniform"], ["two-arm:rounds=50"], runs=1)
    text = text_of(write_report(tmp_path / "s").read_text())
    assert "There is no other policy" in text
    assert "ANACONDA" not in text  # nothing to draw, so nothing is said


def test_names_cannot_break_the_page(tmp_path):
    from driftduel.worlds import make_world, save_world

    nasty = tmp_path / "<img src=x onerror='alert(1)'> {{plotly}} & \"<" / "script>`.npz"
    nasty.parent.mkdir(parents=True)
    save_world(make_world("two-arm:rounds=200"), nasty)
    worlds = [f"file:path={nasty}", "two-arm:rounds=200"]
    folder = tmp_path / '<b onload="x">{{7*7}}`'
    compare(["uniform", "rucb"], worlds, runs=2, out=folder)
    page = write_report(folder).read_text()
    assert "<img src=x" not in page
    assert "<b onload" not in page
    assert "{{7*7}}" in page
    assert page.count("<script") == page.count("</script>") - page.count("<\\/script>")
    assert len(page) < 6_000_000  # the charting library is there once
    assert data_of(page)["charts"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_policy_in_a_hostile_world_adds_no_tag(played, name):
    """Specs are checked before a game is played; a page trusts nobody all the same."""
    found = load_results(played)
    findings = read_findings(found)
    (world,) = findings.worlds

    def tags_with(word):
        named = tuple(replace(s, name=word, told=(word,)) for s in world.standings)
        hostile = replace(world, spec=word, label=word, standings=named)
        of_all = replace(findings, worlds=(hostile, replace(hostile, index=1)), common=word)
        page = _ReportTemplate()
        one = OneWorld(found, of_all, hostile, hostile)
        parts = [page.add(make(one)) for make in OF_ONE_WORLD]
        parts += [page.add(make(of_all)) for make in OF_ALL_WORLDS]
        parts += [page.add(verdict.heading(of_all, word)), page.add(verdict.section(of_all))]
        parts += [page.add(drawing.section(drawing.TracePicture(word, word, None)))]
        assert "<" not in page.data({"word": word})
        text = re.sub(r"</?code[^>]*>|<wbr>", "", "".join(parts))
        quoted = r'"[^"]*"'
        return [re.sub(quoted, "", tag) for tag in re.findall(rf"<(?:{quoted}|[^>])*>", text)]

    assert tags_with(name) == tags_with("innocent")


@pytest.mark.long
def test_twenty_policies_in_ten_worlds_stay_small(tmp_path):
    policies = [f"sw-rucb:window={100 * i}" for i in range(1, 20)] + ["anaconda"]
    worlds = [
        f"{name}:arms=20,rounds={rounds},change=winner"
        for name in ("total-order", "utilities")
        for rounds in (10_000, 20_000, 50_000, 100_000, 200_000)
    ]
    rng = np.random.default_rng(0)
    made_store(
        tmp_path / "s",
        policies,
        worlds,
        runs=2,
        regret=lambda policy, world, run: 1000 * rng.random() + 100,
        restarts=lambda policy, world, run: sorted(rng.integers(1, 10_000, 1000).tolist()),
    )
    page = write_report(tmp_path / "s", figures=False)
    assert page.stat().st_size < 10_000_000
    data = data_of(page.read_text())
    assert len(data["hidden"]) == 12
    assert len(data["charts"]) == 10 * (4 + 20) + 2


def many(folder, worlds, policies, runs=1):
    """Make up a store of so many worlds and policies, and return the specs of both."""
    worlds = [f"total-order:arms=5,rounds=2000,phases=4,seed={seed}" for seed in range(worlds)]
    policies = [f"sw-rucb:window={100 + i}" for i in range(policies)]

    def regret(policy, world, run):
        return 100.0 + policy * (1 + 0.1 * ((world * 7 + policy * 3 + run) % 11))

    restarts = lambda policy, world, run: [600, 1600] if policy % 2 else []  # noqa: E731
    made_store(folder, policies, worlds, runs, regret=regret, restarts=restarts)
    return worlds, policies


def check_large(path, worlds, policies):
    """Look at a page that cannot show everything; return the places of the worlds it shows."""
    page = path.read_text(encoding="utf-8")
    (heat,) = re.findall(r'id="heat-table">.*?</table>', page, re.DOTALL)
    assert heat.count('<th scope="col"') == 2 + len(worlds)  # what concerns all worlds is complete
    assert heat.count("<tr>") == 1 + len(policies)
    shown = [int(place) for place in re.findall(r'<section class="world" id="world-(\d+)"', page)]
    assert re.findall(r'<option value="(\d+)"', page.partition("</select>")[0]) == list(
        map(str, shown)
    )
    charts = data_of(page)["charts"]
    for place in shown:
        (standings,) = re.findall(rf'id="standings-{place}">.*?</table>', page, re.DOTALL)
        assert standings.count('<span class="policy">') == len(policies)
        assert len(charts[f"totals-{place}"]["rows"]) == len(policies)
        lines = [trace for trace in charts[f"regret-{place}"]["traces"] if "name" in trace]
        assert len(lines) == 12
        assert len(charts[f"regret-{place}"]["shared"]["at"]) <= 100
        assert charts[f"regret-{place}"]["shared"]["at"][-1] == 2000
        pairs = re.findall(rf'id="differences-{place}">.*?</table>', page, re.DOTALL)[0]
        assert pairs.count("<tr>") == 1 + 12 * 11 // 2
    assert {name for name in charts if name.startswith("totals")} == {
        f"totals-{place}" for place in shown
    }
    text = text_of(page)
    assert (
        f"At the end, {policies[-1]} has the highest," in text
    )  # sentences are about all policies
    assert f"the best 12 of {len(policies)} policies of this world" in text
    return shown, text


def test_a_page_that_would_be_too_large_shows_less_and_says_so(tmp_path, monkeypatch):
    worlds, policies = many(tmp_path / "s", 24, 18)
    monkeypatch.setattr("driftduel.report.page._MOST_BYTES", 6_500_000)
    page = write_report(tmp_path / "s", figures=False)
    assert page.stat().st_size < 6_500_000 + 100_000
    shown, text = check_large(page, worlds, policies)
    assert shown == list(range(len(shown)))
    assert 2 < len(shown) < 24
    assert f"{len(shown)} of 24 worlds are shown, the first, to limit the size of the page" in text
    assert "driftduel report s --world PATTERN shows the matching ones" in text


@pytest.mark.long
def test_worlds_can_be_named(tmp_path):
    _, policies = many(tmp_path / "s", 24, 18)
    page = write_report(tmp_path / "s", figures=False, worlds="*seed=2?")
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<section class="world" id="world-(\d+)"', text) == ["20", "21", "22", "23"]
    assert "4 of 24 worlds are shown, those that match the pattern." in text_of(text)
    # So few of them can be shown in full.
    lines = [trace for trace in data_of(text)["charts"]["regret-20"]["traces"] if "name" in trace]
    assert len(lines) == len(policies)
    with pytest.raises(DriftduelError, match="no world with results matches 'seed=77'; a spec is"):
        write_report(tmp_path / "s", figures=False, worlds="seed=77")
    figures = write_report(tmp_path / "s", worlds="seed=23").parent / "figures"
    assert {path.stem.split("-")[0] for path in figures.glob("*-24-*.png")} == {
        "totals", "regret", "restarts", "shares",
    }  # fmt: skip
    assert [path.stem for path in figures.glob("*-1-*")] == []


@pytest.mark.slow
def test_fifty_policies_in_two_hundred_worlds_fit_into_fifteen_megabytes(tmp_path):
    worlds, policies = many(tmp_path / "s", 200, 50, runs=2)
    page = write_report(tmp_path / "s", figures=False)
    assert page.stat().st_size < 15_000_000
    shown, text = check_large(page, worlds, policies)
    assert len(shown) > 20
    assert f"{len(shown)} of 200 worlds are shown, the first, to limit the size of the page" in text


@pytest.mark.parametrize("what", ["nothing", "an empty folder", "another folder", "a file"])
def test_what_is_no_store_is_refused(tmp_path, what):
    folder = tmp_path / "s"
    if what == "a file":
        folder.write_text("")
    elif what != "nothing":
        folder.mkdir()
    if what == "another folder":
        (folder / "notes.txt").write_text("")
    with pytest.raises(DriftduelError, match=r"plan\.json|Not a directory"):
        write_report(folder)
    assert not (tmp_path / "s" / "report").exists()


def test_a_store_without_games_is_refused(tmp_path):
    store = made_store(tmp_path / "s", ["rucb"], ["two-arm"], runs=3, played=lambda *_: False)
    with pytest.raises(DriftduelError, match="is for 3 games, but none is finished yet"):
        write_report(tmp_path / "s")
    store.fail(next(iter(store.plan.cells())), "no")
    with pytest.raises(DriftduelError, match="none is finished and 1 failed"):
        write_report(tmp_path / "s")


def test_a_place_that_cannot_be_written_is_refused(played, tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(DriftduelError, match="cannot write to"):
        write_report(played, tmp_path / "f")


def test_one_may_choose_the_game_that_is_drawn(played, tmp_path):
    said = []
    page = write_report(
        played, tmp_path / "r", trace="*anaconda*0.0", figures=False, progress=said.append
    )
    assert "Run 0 (regret" in page.read_text()
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["index.html"]
    assert said[0] == "reading results"
    with pytest.raises(DriftduelError, match="no cell matches"):
        write_report(played, tmp_path / "r", trace="nobody")
    for not_kept in ("uniform", "*anaconda*0.2"):
        with pytest.raises(DriftduelError, match="only a finished run 0 of a policy with replays"):
            write_report(played, tmp_path / "r", trace=not_kept)


def test_a_report_plays_nothing_and_builds_nothing(played, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a report is made from what is stored")

    from driftduel.specs import Registry
    from driftduel.worlds import World

    monkeypatch.setattr(Registry, "build", refuse)
    for name in ("chunk", "chunks", "condorcet_winners", "preferences"):
        monkeypatch.setattr(World, name, refuse)
    names = ("play", "trace", "make_world", "make_policy", "world_of", "planned_world")
    for module in [m for name, m in sys.modules.items() if name.startswith("driftduel")]:
        for name in names:
            if callable(vars(module).get(name)):
                monkeypatch.setattr(module, name, refuse)
    page = write_report(played, tmp_path / "r").read_text()
    assert "Run 0 (regret" in page  # the picture as well
    assert "of its plays were of the best arm at the time" in page


OLD = Path(__file__).parent / "store-0.1.0"


def test_results_of_driftduel_0_1_still_give_a_report(tmp_path):
    """Its store was made by ``compare`` of version 0.1.0, before anything of worlds was kept."""
    shutil.copytree(OLD, tmp_path / "old")
    found = load_results(tmp_path / "old")
    assert found.missing == 0
    assert found.store.damaged == []
    assert found.games["winners"].is_null().all()
    text = text_of(write_report(tmp_path / "old").read_text())
    best = found.summary.sort("regret_mean").row(0, named=True)
    assert f"{best['policy']} had the lowest regret" in text
    assert "driftduel 0.1 did not record them" in text
    assert "driftduel 0.1.0 did not record stages" in text
    assert sorted(path.name for path in (tmp_path / "old" / "report" / "figures").iterdir()) == [
        f"{name}.{ending}"
        for name in ("regret", "shares", "totals")
        for ending in ("pdf", "png", "svg")
    ]


def test_games_are_those_of_driftduel_0_1(tmp_path):
    old = load_results(OLD)
    spec = [policy.spec for policy in old.plan.policies], [world.spec for world in old.plan.worlds]
    new = compare(*spec, runs=old.plan.runs, points=old.plan.points, workers=1)
    for column in ("policy", "run", "regret_curve", "plays", "restarts", "switches"):
        assert new.games[column].to_list() == old.games[column].to_list()


def test_a_missing_library_is_said(played, tmp_path, monkeypatch):
    for name, module in (("jinja2", "jinja2"), ("plotly", "plotly.offline")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtraError, match=name):
            write_report(played, tmp_path / "r", figures=False)
        assert not (tmp_path / "r").exists()


@pytest.mark.long
def test_a_world_with_ties_and_absences_is_described(tmp_path):
    worlds = [
        "sleeping:arms=4,rounds=1000,events=12,seed=3,ties=0.2",
        "arrivals:arms=6,rounds=1000,pool=3,seed=1",
    ]
    found = compare(["uniform", "dts"], worlds, runs=2, out=tmp_path / "store")
    assert found.summary.height == 4
    assert not found.summary["regret_mean"].is_nan().any()
    write_report(tmp_path / "store")
    text = text_of(read(tmp_path / "store"))
    there = [make_world(worlds[0]).present(t) for t in range(1, 1001)]
    fewest, most = (f(map(len, there)) for f in (min, max))
    assert f"Arms join and leave: {fewest} to {most} of 4 are present at a time" in text
    assert "Of the duels of two arms, 20% tie" in text
    assert "Arms join and leave: 3 of 6 are present at a time, and the best arm" in text
    assert "Choosing at random" not in text


def test_regret_is_shown_by_category_of_the_request(tmp_path):
    table = tmp_path / "tasks.csv"
    rows = [f"{kind},{i % 3},{i % 5}" for i, kind in enumerate(["chat", "<b>code"] * 30)]
    table.write_text("\n".join(["kind,fast,good", *rows]) + "\n")
    worlds = [
        f"table:path={table},options=fast+good,features=kind,rounds=400",
        "routing:arms=3,features=2,rounds=300",
    ]
    folder = tmp_path / "store"
    found = compare(["uniform", "king"], worlds, runs=3, out=folder)
    for row in found.games.filter(world=worlds[0]).iter_rows(named=True):
        assert sorted(row["categories"]) == ["<b>code", "chat"]
        assert sum(row["category_rounds"]) == 400
        assert sum(row["category_regret"]) == pytest.approx(row["regret"])
    with_categories, without = read_findings(found).worlds
    assert without.categories is None
    shown = with_categories.categories
    assert sum(shown.shares) == pytest.approx(1)
    for standing in with_categories.standings:
        regrets = shown.regrets[standing.policy]
        assert sum(each.mean for each in regrets) == pytest.approx(standing.mean)
        assert all(each.low < each.mean < each.high for each in regrets)
    write_report(folder)
    page = read(folder)
    assert text_of(page).count("Regret by category of the request") == 1
    assert "&lt;b&gt;code" in page
    assert "<b>code" not in page
    assert f'title="{shown.shares[1]:.0%} of the requests"' in page


@pytest.mark.parametrize("benchmark", ["exploitability", "von-neumann"])
def test_regret_without_a_winner_is_called_by_its_name(tmp_path, benchmark):
    worlds = ["rps-top:arms=4,rounds=900,phases=3,seed=1"]
    compare(["uniform", "king"], worlds, runs=2, benchmark=benchmark, out=tmp_path / "store")
    write_report(tmp_path / "store")
    page = read(tmp_path / "store")
    text = text_of(page)
    (world,) = read_findings(load_results(tmp_path / "store")).worlds
    assert make_world(worlds[0]).condorcet_winners() == [(1, None)]
    assert world.winners == ((1, None), (301, None), (601, None))
    assert "No arm beats all others in any round." in text
    if benchmark == "exploitability":
        assert "Exploitability over time" in text
        assert "exploitability so far (mean of runs)" in page
        assert "Regret is exploitability, the gain of one arm per phase" in text
        assert "In every run the preferences change twice, in rounds 301 and 601." in text
    else:
        assert "Regret over time" in text
        assert "Regret is against the von Neumann winner of each round" in text
        assert "In every run the arms without regret change twice, in rounds 301" in text
    assert f"--benchmark {benchmark}" in text


def test_short_names():
    assert short_names(["a:k=1"]) == (["a:k=1"], "")
    assert short_names(["a:k=1,m=2", "a:k=1,m=3"]) == (["m=2", "m=3"], "a:k=1")
    assert short_names(["a:k=1,m=2", "b:k=1"]) == (["a:m=2", "b"], "k=1")
    assert short_names(["a", "a:m=2"]) == (["a", "m=2"], "a")


def test_numbers_are_short_and_finite():
    assert numbers([np.nan, np.inf, 1e-9, 123456.7]) == [None, None, 1e-09, 123460]
    assert json.dumps(numbers([1.0, 0.1 + 0.2])) == "[1, 0.3]"


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there")
def test_folders_whose_names_are_no_text(grid, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(grid, folder)
    page = write_report(folder, figures=False)
    assert r"caf\udce9" in page.read_text("utf-8")
    with pytest.raises(DriftduelError, match="cannot be the name of a folder"):
        write_report(grid, "a\0b", figures=False)
