"""Saved in the middle and loaded, a policy goes on to the bit; foreign files are refused."""

import copy
import json
import pickle

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.policies import (
    Policy,
    load_policy,
    make_policy,
    policy_from_bytes,
    policy_to_bytes,
    save_policy,
)
from driftduel.worlds import make_world
from tests.policies.runs import outcomes

SPECS = [
    "anaconda:constant=0.1",
    "anaconda:constant=0.1,estimate=symmetric,replay_rate=0.5",
    "anaconda:rule=freedman",
    "anaconda:horizon=none,constant=0.05",
]


def go_on(policy, outcome, first, last):
    duels = []
    for t in range(first, last + 1):
        duel = policy.ask()
        duels.append(duel)
        policy.tell_first_won(duel, outcome(t, duel.first, duel.second))
    return duels


def test_the_methods_save_and_load(tmp_path):
    policy = make_policy("king", 3, 7)
    pending = policy.ask()
    policy.save(tmp_path / "p.npz")
    loaded = [Policy.load(tmp_path / "p.npz"), type(policy).load(str(tmp_path / "p.npz"))]
    for again in (policy, *loaded):
        again.tell(pending, pending.first)
    assert policy_to_bytes(loaded[0]) == policy_to_bytes(loaded[1]) == policy_to_bytes(policy)
    assert type(loaded[0]) is type(policy)
    other = type(make_policy("uniform", 3, 7))
    with pytest.raises(DriftduelError, match=r"is a saved King \(king\), not a UniformRandom; use"):
        other.load(tmp_path / "p.npz")
    with pytest.raises(DriftduelError, match="cannot read"):
        Policy.load(tmp_path / "missing.npz")


@pytest.mark.parametrize("spec", SPECS)
def test_a_loaded_policy_goes_on_to_the_bit(spec, tmp_path):
    world = make_world("geometric-btl:arms=4,rounds=3000,phases=3", 2)
    outcome = outcomes(world, 1)
    policy = make_policy(spec, 4, 7, horizon=3000)
    go_on(policy, outcome, 1, 1234)
    open_duel = policy.ask()
    early = policy.ask()
    policy.tell_first_won(early, 1)
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    from_bytes = policy_from_bytes(policy_to_bytes(policy))
    assert again.info() == from_bytes.info() == policy.info()
    for each in (policy, again, from_bytes):
        each.tell(open_duel, open_duel.first)
    expected = go_on(policy, outcome, 1237, 3000)
    assert go_on(again, outcome, 1237, 3000) == expected
    assert go_on(from_bytes, outcome, 1237, 3000) == expected
    assert again.restarts == from_bytes.restarts == policy.restarts
    for name, array in policy.get_state().items():
        np.testing.assert_array_equal(array, again.get_state()[name])


@pytest.fixture
def saved(tmp_path):
    policy = make_policy("anaconda:constant=0.1", 3, 7, horizon=500)
    go_on(policy, lambda t, a, b: int(a < b), 1, 200)
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    return path


def rewrite(path, change):
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(str(content["header"][()]))
    change(header, content)
    content["header"] = np.array(json.dumps(header))
    np.savez(path, **content)


def set_key(key, value):
    return lambda header, content: header.__setitem__(key, value)


def set_cell(field, index, value):
    return lambda header, content: content[f"state_{field}"].__setitem__(index, value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_key("format", 1), "format 1; this driftduel reads 4"),
        (set_key("order", "arrival"), "which learns in the order of asking"),
        (set_key("ties", "maybe"), "ties='maybe' must be skip or coin"),
        (set_key("policy", "anacondo"), "did you mean anaconda"),
        (set_key("parameters", {"constant": -1}), "constant=-1"),
        (set_key("parameters", {"x": 1}), "no key 'x'"),
        (set_key("arms", 4), "has the shape"),
        (set_key("rng", "{}"), "random state"),
        (set_key("pending", [[0, 9, 201, [3.0]]]), "arms 0 and 9"),
        (set_key("asked", None), "damaged"),
        (lambda h, c: c.pop("state_pairs.won"), "must have"),
        (lambda h, c: c.__setitem__("state_last", c["state_last"].astype(float)), "float64"),
        (set_cell("pairs.begin", 0, 10**9), "is inconsistent"),
        (set_cell("pairs.filled", 0, -5), "pairs of 'anaconda' has -5"),
        (set_cell("pairs.waiting", 0, 99), "pairs of 'anaconda' has 99"),
        (set_cell("numbers.depth", 0, 1000), "it must be between 0 and 65 (depth)"),
        (set_cell("numbers.active_arms", 0, 9), "it must be between 0 and 3 (active_arms)"),
        (set_cell("numbers.duels_used", 0, -1), "between 0 and 64 (duels_used)"),
        (set_cell("active", 0, 77), "active of 'anaconda' has 77"),
        (set_cell("duels.first", 0, -1), "duels of 'anaconda' has -1"),
        (set_cell("draws", 0, 3.0), "draws of 'anaconda' has 3.0"),
    ],
)
def test_damaged_and_foreign_states_are_refused(saved, change, said):
    rewrite(saved, change)
    with pytest.raises(DriftduelError) as error:
        load_policy(saved)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(DriftduelError) as as_bytes:
        policy_from_bytes(saved.read_bytes())
    assert str(as_bytes.value) == str(error.value).replace(repr(str(saved)), "the argument")


def test_a_file_of_the_format_before_is_read_if_its_policy_still_keeps_its_state_so(tmp_path):
    policy = make_policy("dts", 3, 7)
    path = tmp_path / "p.npz"
    save_policy(policy, path)
    rewrite(path, set_key("format", 3))
    assert load_policy(path).ask() == policy.ask()


def test_a_file_of_the_format_before_is_refused_if_its_policy_does_not(saved):
    def as_before(header, content):
        header["format"] = 3
        numbers = [content.pop(name) for name in list(content) if name.startswith("state_numbers.")]
        content["state_ints"] = np.concatenate(numbers).astype(int)

    rewrite(saved, as_before)
    with pytest.raises(DriftduelError) as error:
        load_policy(saved)
    assert str(error.value) == (
        f"{str(saved)!r} is a saved 'anaconda' of format 3; for this policy, this driftduel reads "
        f"format 4 only."
    )


@pytest.mark.parametrize("data", [b"", b"nothing of the kind", pickle.dumps({"header": 1})])
def test_bytes_that_are_no_policies(data):
    with pytest.raises(DriftduelError, match="the argument is not a saved policy"):
        policy_from_bytes(data)
    with pytest.raises(DriftduelError, match="a snapshot is bytes, not str"):
        policy_from_bytes("p.npz")


def test_a_snapshot_has_a_bearable_size(saved, monkeypatch):
    monkeypatch.setattr("driftduel.policies.saving.MOST_BYTES", 100)
    with pytest.raises(DriftduelError, match="more than the 100 that a saved policy may have"):
        policy_from_bytes(saved.read_bytes())


@pytest.mark.parametrize("spec", ["king", "sw-dts", "doubling-rex3"])
def test_a_copy_draws_from_a_generator_of_its_own(spec):
    policy, fresh = make_policy(spec, 4, seed=3), make_policy(spec, 4, seed=3)
    go_on(policy, lambda t, a, b: t % 2, 1, 10)
    other = copy.deepcopy(policy)
    expected = go_on(other, lambda t, a, b: 1, 11, 60)
    assert go_on(policy, lambda t, a, b: 1, 11, 60) == expected
    go_on(fresh, lambda t, a, b: t % 2, 1, 10)
    assert go_on(fresh, lambda t, a, b: 1, 11, 60) == expected


def test_files_that_are_no_policies(tmp_path):
    with pytest.raises(DriftduelError, match="cannot read"):
        load_policy(tmp_path / "none.npz")
    (tmp_path / "x.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(DriftduelError, match="not a saved policy"):
        load_policy(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", a=np.zeros(3))
    with pytest.raises(DriftduelError, match="not a saved policy"):
        load_policy(tmp_path / "y.npz")


def test_loading_never_runs_code(tmp_path, saved):
    mark = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (mark.write_text, ("ran",))

    (tmp_path / "bomb.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DriftduelError):
        load_policy(tmp_path / "bomb.npz")
    objects = np.empty(1, dtype=object)
    objects[0] = Bomb()
    np.savez(tmp_path / "bomb2.npz", header=objects)
    mark.unlink(missing_ok=True)
    with pytest.raises(DriftduelError):
        load_policy(tmp_path / "bomb2.npz")
    assert not mark.exists()


def test_nothing_half_written_is_left(tmp_path):
    policy = make_policy("anaconda", 2, horizon=10)
    with pytest.raises(DriftduelError, match="cannot write"):
        save_policy(policy, tmp_path / "no" / "p.npz")
    save_policy(policy, tmp_path / "p.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["p.npz"]
