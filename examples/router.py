"""A router of four models with prices: requests with features, late answers, a restart."""

# %%
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from driftduel.arena import Arena, ShownDuel

PRICES = {"tiny": 0.0, "small": 0.1, "coder": 0.3, "large": 0.6}  # log-odds
QUALITY = {  # a stub for the models: how good their answers are, by category
    "chat": {"tiny": 0.8, "small": 1.4, "coder": 0.2, "large": 1.6},
    "code": {"tiny": -1.0, "small": 0.0, "coder": 2.5, "large": 1.5},
}


# %%
folder = TemporaryDirectory()


def open_router() -> Arena:
    """Open the router, or create it; features and prices are those of its creation."""
    return Arena(
        str(Path(folder.name) / "router.db"),
        options=list(PRICES),
        prices=PRICES,
        features=["category=chat,code", "length:number:500:300"],
        claim="judges",
    )


# %%
rng, router = random.Random(1), open_router()
waiting: list[tuple[ShownDuel, str]] = []  # with the category of the request
for number in range(2000):
    category, length = rng.choice(list(QUALITY)), rng.gauss(500, 300)
    # The two models that answer this request.
    duel = router.ask(request={"category": category, "length": length})
    waiting.append((duel, category))
    if len(waiting) > 30:  # answers come late, in any order
        duel, category = waiting.pop(rng.randrange(len(waiting)))
        assert duel.left and duel.right  # noqa: PT018 - both, unless one option is left
        quality = QUALITY[category]
        lead = quality[duel.left.name] - quality[duel.right.name]
        router.vote(duel.duel, "left" if rng.random() < 1 / (1 + 2.718**-lead) else "right")
    if number == 1000:  # the process stops; the log has also the open duels
        router.close()
        router = open_router()


# %%
def best_for(category: str) -> str:
    """Return the name of the option to use for a request of this category."""
    best = router.best({"category": category, "length": 500})
    return best.name if best else "undecided"


for category in QUALITY:
    print(f"{category}: {best_for(category)}")
router.set_prices({"coder": 3.0})
print(f"code, with another price: {best_for('code')}")
print(router.board().says.requests)
router.close()
folder.cleanup()
