"""People compare six prompts, two at a time; prompts are added and retired on the way."""

# %%
import numpy as np

from driftduel import Duel, Policy, make_policy

people = np.random.default_rng(5)  # stands in for those who vote
QUALITY = {0: 0.3, 1: 1.0, 2: 0.1, 3: 0.4, 4: 0.0, 5: 0.5}  # what nobody knows

# %% [markdown]
# In panel mode each vote compares two different prompts. (In serve mode, the default, most duels of
# a policy that has found the best one show it alone: `duel.alone`.) `order="asked"` because people
# may take longer where they like something less; then how late they answer cannot matter.


# %%
def vote(duel: Duel) -> int | None:
    """Return what somebody prefers: one of the two prompts, or None for no difference."""
    a, b = QUALITY[duel.first], QUALITY[duel.second]
    if people.random() < 0.2:
        return None
    return duel.first if people.random() < 1 / (1 + np.exp(2 * (b - a))) else duel.second


def ask_people(policy: Policy, votes: int, out: int = 10) -> None:
    """Hold a panel; ten people think at the same time, and one in thirty leaves."""
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
# Somebody writes a better one. It takes part from the next vote on, and what is known of the others
# stays. Prompt 4 never won anybody over, and goes.

# %%
new = policy.admit()
QUALITY[new] = 1.8
policy.retire(4)
ask_people(policy, votes=600)
print(f"prompts {policy.present}; after 600 more we would ship prompt {policy.best()}")
