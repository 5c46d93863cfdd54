"""Compare learners in a world whose winner changes three times."""

# %%
import builtins

from driftduel import compare, make_world, measure, play

show = getattr(builtins, "display", print)  # a notebook's own display, else plain text

# %% [markdown]
# Five arms, 20,000 rounds, a new order and a new winner after each quarter.

# %%
world = "geometric-btl:arms=5,rounds=20000,phases=4,change=winner"
change = measure(make_world(world, seed=1))
print("winners: ", [(phase.first, phase.winner) for phase in change.phases])
print("switches:", change.condorcet_switches, "of which significant:", change.significant_switches)

# %% [markdown]
# A learner that forgets, one that restarts when it sees a change, one that believes the world
# stands still, the paper's algorithm, blind chance, and an oracle that is told the switches. In
# each run all of them face one world and one luck. `prior_knowledge` is what each had to be told.

# %%
policies = ["sw-dts:window=2000", "glr-dts", "dts", "anaconda", "uniform", "oracle-dts"]
results = compare(policies, world, runs=8)
table = results.summary.sort("regret_mean")
show(table.select("policy", "told", "regret_mean", "regret_low", "regret_high", "restarts_mean"))

# %% [markdown]
# Differences are taken run by run. Below 0 the first has lost less; an interval without 0 means
# that this is more than chance.

# %%
show(results.differences.filter(first="sw-dts:window=2000").drop("world", "runs"))

# %% [markdown]
# At this horizon ANACONDA with the paper's rule has eliminated nobody, and loses what blind chance
# loses: its theorem is about long horizons. Any game can be played again by its seed.

# %%
row = results.games.filter(policy="anaconda").row(0, named=True)
again = play("anaconda", world, seed=row["game_seed"])
print("the same game again:", again.total == row["regret"])
print("arms that ANACONDA still holds good:", again.policy.info().good)
