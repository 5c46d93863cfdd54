"""Six models answer 200 prompts; people vote, and the board reports which model leads."""

# %%
import json

import numpy as np

from driftduel.arena import Arena

MODELS = {f"model-{letter}": quality for quality, letter in enumerate("abcdef")}
people = np.random.default_rng(3)  # stands in for the voters

# %% [markdown]
# One JSON object per line: a prompt, an answer of each model, and tags. No answer names its model.
# In a file, the same lines serve `driftduel arena new six --items items.jsonl`, where people vote
# in a browser.

# %%
lines: list[str] = []
for n in range(200):
    answers = {model: f"It is **{n * n + 5 - quality}**." for model, quality in MODELS.items()}
    item = {"id": f"p{n}", "prompt": f"What is ${n}^2$?", "answers": answers}
    lines.append(json.dumps(item | {"tags": {"lang": "en" if n % 2 else "de"}}))

# %% [markdown]
# The policy chooses two models, the arena a prompt that this voter has not seen with them.

# %%
arena = Arena(items=map(json.loads, lines), seed=1)
for vote in range(1500):
    duel = arena.ask(f"person {vote // 5}", tags={"channel": "mail"})
    assert duel.left and duel.right  # noqa: PT018 - a panel always shows two
    gap = MODELS[duel.left.name] - MODELS[duel.right.name]
    arena.vote(duel.duel, "left" if people.random() < 1 / (1 + np.exp(-gap / 2)) else "right")
print(arena.board())
