"""Stores that several tests look at are made once."""

import pytest

WORLD = "total-order:arms=3,rounds=2000,phases=3,p=0.9,seed=5"
POLICIES = ("uniform", "rucb", "anaconda:constant=0.3", "oracle-rucb")


@pytest.fixture(scope="session")
def played(tmp_path_factory):
    """Three runs that were really played, and their report."""
    from driftduel.lab import compare
    from driftduel.report import write_report

    folder = tmp_path_factory.mktemp("played") / "store"
    compare(POLICIES, WORLD, runs=3, out=folder)
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def grid(tmp_path_factory):
    """Worlds that differ in horizon and in phases, with regrets that are known."""
    from tests.report.made import made_store

    folder = tmp_path_factory.mktemp("grid") / "store"
    worlds = [
        f"total-order:arms=4,rounds={rounds},phases={phases}"
        for rounds, phases in ((1000, 4), (2000, 4), (4000, 4), (2000, 8), (2000, 2))
    ]

    def regret(policy, world, run):
        rounds = (1000, 2000, 4000, 2000, 2000)[world]
        power, noise = (0.5, 1.0, 0.75)[policy], (1 + 0.02 * ((run * 7 + world * 3) % 5))
        return (3.0, 0.4, 1.5)[policy] * rounds**power * noise

    made_store(
        folder,
        ["rucb", "uniform", "sw-rucb:window=300"],
        worlds,
        runs=5,
        regret=regret,
        restarts=lambda policy, world, run: [600, 700] if policy == 2 else [],
    )
    return folder
