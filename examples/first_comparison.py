"""Compare policies in a world with three changes of the winner."""

# %%
import builtins

from driftduel import compare, make_world, measure, play

show = getattr(builtins, "display", print)  # rich display in a notebook, else plain text

# %% [markdown]
# Five arms, 20,000 rounds, a new order and a new winner after each quarter.

# %%
world = "geometric-btl:arms=5,rounds=20000,phases=4,change=winner"
change = measure(make_world(world, seed=1))
print("winners: ", [(phase.first, phase.winner) for phase in change.phases])
print("switches:", change.condorcet_switches, "of which significant:", change.significant_switches)

# %% [markdown]
# A sliding window, restarts on detected changes, a policy for stationary worlds, the paper's
# algorithm, uniform random choice, and an oracle with the switches as prior knowledge. In each run
# all policies share the world and the outcome draws. The column `told` lists the prior knowledge.

# %%
policies = ["sw-dts:window=2000", "glr-dts", "dts", "anaconda", "uniform", "oracle-dts"]
results = compare(policies, world, runs=8)
table = results.summary.sort("regret_mean")
show(table.select("policy", "told", "regret_mean", "regret_low", "regret_high", "restarts_mean"))

# %% [markdown]
# Differences are paired by run. Below 0 the first policy has less regret; an interval without 0
# means that the difference is larger than chance explains.

# %%
show(results.differences.filter(first="sw-dts:window=2000").drop("world", "runs"))

# %% [markdown]
# At this horizon ANACONDA with the paper's rule has eliminated no arm, and has the regret of
# uniform random choice: its theorem is about long horizons. A seed repeats a game.

# %%
row = results.games.filter(policy="anaconda").row(0, named=True)
again = play("anaconda", world, seed=row["game_seed"])
print("the same game again:", again.total == row["regret"])
print("arms that ANACONDA still holds good:", again.policy.info().good)
