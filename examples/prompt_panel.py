"""Compare six prompts by votes of people; add and retire prompts during the panel."""

# %%
import numpy as np

from driftduel import Duel, Policy, make_policy

people = np.random.default_rng(5)  # a stub for the voters
QUALITY = {0: 0.3, 1: 1.0, 2: 0.1, 3: 0.4, 4: 0.0, 5: 0.5}  # unknown in practice

# %% [markdown]
# In panel mode each vote compares two different prompts. (In serve mode, the default, a policy that
# has found the best one shows it alone in most duels: `duel.alone`.) With `order="asked"` answers
# are learned in the order of the duels, so a delay that depends on the answer has no effect.


# %%
def vote(duel: Duel) -> int | None:
    """Return the preferred prompt of a voter, or None for no difference."""
    a, b = QUALITY[duel.first], QUALITY[duel.second]
    if people.random() < 0.2:
        return None
    return duel.first if people.random() < 1 / (1 + np.exp(2 * (b - a))) else duel.second


def ask_people(policy: Policy, votes: int, out: int = 10) -> None:
    """Hold a panel with ten open duels; one in thirty is never answered."""
    waiting: list[Duel] = []
    for _ in range(votes):
        duel = policy.ask()
        assert not duel.alone
        waiting.append(duel)
        while len(waiting) >= out:
            duel = waiting.pop(int(people.integers(len(waiting))))
            if people.random() < 1 / 30:
                policy.forget(duel)
            else:
                policy.tell(duel, vote(duel))
    for duel in waiting:
        policy.forget(duel)


policy = make_policy("king", arms=6, seed=1, mode="panel", order="asked")
ask_people(policy, votes=1000)
print(f"after 1,000 votes we would ship prompt {policy.best()}")

# %% [markdown]
# A better prompt joins: it is shown from the next vote on, and the evidence about the others is
# kept. Prompt 4, the worst one, is retired.

# %%
new = policy.admit()
QUALITY[new] = 1.8
policy.retire(4)
ask_people(policy, votes=600)
print(f"prompts {policy.present}; after 600 more we would ship prompt {policy.best()}")
