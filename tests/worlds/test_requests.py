"""Worlds with requests: segments, requests, prices, the duel view, tables."""

from itertools import pairwise

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.requests import RequestShape
from driftduel.worlds import NO_LINK, Routing, Table, make_world

SIGMA = np.vectorize(lambda u: 1 / (1 + np.exp(-u)))
SPECS = (
    "routing:arms=3,features=2,rounds=9000",
    "routing:arms=4,features=3,categories=3,rounds=9000,change=one",
    "routing:arms=4,features=3,categories=2,rounds=9000,change=walk,prices=0+0.5+1+2",
    "routing:arms=2,features=0,rounds=9000,change=season,ties=0.3,delay=7",
    "routing:arms=5,rounds=9000,change=burst,phases=6",
)


@pytest.mark.parametrize("spec", SPECS)
def test_a_chunk_does_not_depend_on_how_rounds_are_cut(spec):
    world = make_world(spec, seed=3)
    whole = world.request_chunk(1, 9001)
    for cuts in ([1, 9001], [1, 2, 4095, 4099, 8193, 9001]):
        parts = [world.request_chunk(a, b) for a, b in pairwise(cuts)]
        for name in ("requests", "utilities", "losses", "categories"):
            joined = np.concatenate([getattr(part, name) for part in parts])
            assert (joined == getattr(whole, name)).all(), name
        changes = {
            int(start): share
            for part in parts
            for start, share in zip(part.starts, part.turnover, strict=True)
            if share > 0
        }
        assert changes == {
            int(start): share
            for start, share in zip(whole.starts, whole.turnover, strict=True)
            if share > 0
        }
    again = make_world(spec, seed=3).request_chunk(1, 9001)
    assert (again.utilities == whole.utilities).all()
    assert (make_world(spec, seed=4).request_chunk(1, 9001).utilities != whole.utilities).any()


@pytest.mark.parametrize("spec", SPECS)
def test_utilities_losses_and_the_duel_view_follow_the_definitions(spec):
    world = make_world(spec, seed=5)
    chunk = world.request_chunk(1, 601)
    np.testing.assert_allclose((chunk.requests**2).sum(axis=1), 1.0)
    for i in range(0, 600, 37):
        segment = np.searchsorted(world.starts, i + 1, side="right") - 1
        utilities = [world.thetas[segment, k] @ chunk.requests[i] for k in range(world.arms)]
        np.testing.assert_allclose(chunk.utilities[i], utilities, atol=1e-12)
        net = np.array(utilities) - world.prices
        losses = (1 - world.ties) * (SIGMA(net.max() - net) - 0.5)
        np.testing.assert_allclose(chunk.losses[i], losses, atol=1e-12)
        p = 0.5 + (1 - world.ties) * (SIGMA(utilities[0] - utilities[1]) - 0.5)
        assert world.preferences(i + 1).matrix[0, 1] == pytest.approx(p)
    view = world.chunk(1, 601)
    assert (view.link == NO_LINK) == (world.ties > 0)
    assert view.delay == world.delay == chunk.delay


def test_changes_are_of_the_kind_that_was_asked_for():
    for change, moved in (("all", 4), ("burst", 4), ("one", 1)):
        world = make_world(f"routing:arms=4,features=2,change={change},phases=6", seed=1)
        steps = np.diff(world.thetas, axis=0)
        assert {int(np.any(step, axis=1).sum()) for step in steps} == {moved}
        assert len(world.starts) == 6
        if change == "burst":
            assert (world.starts[1:] > 0.4 * world.rounds).all()
            assert (world.starts[1:] <= 0.6 * world.rounds + 1).all()
    for change in ("walk", "season"):
        world = make_world(f"routing:arms=4,features=2,change={change},spread=3", seed=1)
        lengths = np.linalg.norm(world.thetas.reshape(len(world.thetas), -1), axis=1)
        np.testing.assert_allclose(lengths, 6.0)
        assert (np.diff(world.starts) == 50).all()
    step = make_world("routing:change=walk,rate=0.2", seed=2).thetas.reshape(800, -1)
    lengths = np.linalg.norm(np.diff(step, axis=0), axis=1) / np.linalg.norm(step[0])
    np.testing.assert_allclose(lengths, 0.2 * np.sqrt(50 / 1000), rtol=0.01)


def test_turnover_is_the_share_of_requests_with_a_new_best_option():
    shape = RequestShape(2, one_hot=True)
    thetas = [[[1, 0], [0, 1]], [[1, 1], [0, 0]], [[2, 2], [0, 0]]]
    world = Routing([1, 11, 21], thetas, 30, shape, categories=2)
    second = world.references()[:, 1].mean()
    assert world.turnover.tolist() == [0.0, second, 0.0]
    assert world.best_single[-1][1] == 0
    dear = Routing([1, 11, 21], thetas, 30, shape, categories=2, prices=[9, 0])
    assert dear.best_single == [(1, 1)]


def test_categories_are_uniform_and_named():
    world = make_world("routing:arms=2,features=5,categories=3,rounds=9000", seed=2)
    chunk = world.request_chunk(1, 9001)
    assert np.bincount(chunk.categories).tolist() == pytest.approx([3000] * 3, abs=150)
    assert world.category_names == ("category 1", "category 2", "category 3")
    assert world.shape == RequestShape(5)
    assert make_world("routing:features=3,categories=3").shape == RequestShape(3, one_hot=True)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("routing:features=2,categories=3", "categories=3 must be at most features=2"),
        ("routing:features=2,categories=1", "categories=1 is no choice"),
        ("routing:prices=1+2", "prices=1+2 must be 6 numbers joined by '+'"),
        ("routing:prices=a+b+1+1+1+1", "must be 6 numbers"),
        ("routing:change=walk,rounds=1e12", "coefficients of every 50 rounds"),
        ("routing:change=often", "all, one, walk, season, burst"),
        ("routing:features=64", "features=64"),
    ],
)
def test_a_wrong_key_is_refused(spec, said):
    with pytest.raises(DriftduelError) as error:
        make_world(spec)
    assert said in str(error.value)


# ---- tables ----


@pytest.fixture
def tasks(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["kind,length,fast,good,other,note"]
    for i in range(40):
        kind = ("chat", "code", "math")[i % 3]
        lines.append(f"{kind},{i},{rng.normal():.3f},{rng.normal():.3f},0.5,hello")
    path = tmp_path / "tasks.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_is_a_world(tasks):
    world = make_world(f"table:path={tasks},options=fast+good+other,features=kind+length")
    assert (world.arms, world.rounds, world.names) == (3, 40, ("fast", "good", "other"))
    assert world.shape == RequestShape(4)
    assert world.category_names == ("chat", "code", "math")
    rows = [line.split(",") for line in tasks.read_text().splitlines()[1:]]
    chunk = make_world(
        f"table:path={tasks},options=fast+good,features=kind,order=file,scale=2,rounds=100"
    ).request_chunk(1, 101)
    assert chunk.requests.shape == (100, 3)
    for i in (0, 7, 41, 99):
        row = rows[i % 40]
        assert chunk.utilities[i].tolist() == [2 * float(row[2]), 2 * float(row[3])]
        assert chunk.requests[i].argmax() == ("chat", "code", "math").index(row[0])
        assert chunk.categories[i] == chunk.requests[i].argmax()


def test_options_of_a_table_exchange_their_columns(tasks):
    spec = f"table:path={tasks},options=fast+good+other,order=file,rounds=4000,phases=5"
    world = make_world(spec, seed=1)
    assert len(world.starts) == 5
    assert all(sorted(columns) == [0, 1, 2] for columns in world.columns.tolist())
    assert len({tuple(columns) for columns in world.columns.tolist()}) > 1
    before = make_world(spec.replace("phases=5", "phases=1")).request_chunk(1, 4001).utilities
    after = world.request_chunk(1, 4001).utilities
    segment = np.searchsorted(world.starts, np.arange(1, 4001), side="right") - 1
    for t in range(0, 4000, 97):
        assert (after[t] == before[t][world.columns[segment[t]]]).all()


def test_a_drifting_mix_moves_through_the_table():
    requests = RequestShape(1).scale_all(np.linspace(-2, 2, 50)[:, None])
    scores = np.stack((np.arange(50.0), np.zeros(50)), axis=1)
    world = Table(requests, scores, RequestShape(1), rounds=5000, order="drifting")
    shown = world.request_chunk(1, 5001).utilities[:, 0]
    assert shown[:500].max() < 16
    assert shown[-500:].min() > 34


@pytest.mark.parametrize(
    ("content", "keys", "said"),
    [
        ("a,b\n1,2\n", "options=a", "options= must name two columns"),
        ("a,b\n1,2\n", "options=a+c", "options: there is no column 'c'; its columns are a, b"),
        ("a,b\n1,x\n", "options=a+b", "column 'b' has 'x' in row 2"),
        ("a,b\n1,\n", "options=a+b", "column 'b' has '' in row 2"),
        ("a,b\n1,2,3\n", "options=a+b", "row 2 has 3 cells where 2 are named"),
        ("a,a\n1,2\n", "options=a+b", "two columns of one name"),
        ("a,b\n", "options=a+b", "needs a header and at least one row"),
        ("a,b\n1,2\n", "options=a+b+a", "names a column twice"),
        (
            "a,b,c\n" + "".join(f"1,2,w{i}\n" for i in range(40)),
            "options=a+b,features=c",
            "column 'c' has 40 different words",
        ),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(tmp_path, content, keys, said):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(DriftduelError) as error:
        make_world(f"table:path={path},{keys}")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_in_parquet_is_the_same_world(tasks, tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "tasks.parquet"
    polars.read_csv(tasks).write_parquet(path)
    keys = "options=fast+good,features=kind+length,rounds=300"
    one, other = (make_world(f"table:path={p},{keys}", 1) for p in (tasks, path))
    assert (one.request_chunk(1, 301).requests == other.request_chunk(1, 301).requests).all()
    assert (one.request_chunk(1, 301).utilities == other.request_chunk(1, 301).utilities).all()
