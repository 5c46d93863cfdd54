"""A router of four models with prices: requests with features, late answers, a restart."""

# %%
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from driftduel.arena import Arena

PRICES = {"tiny": 0.0, "small": 0.1, "coder": 0.3, "large": 0.6}  # log-odds
QUALITY = {  # a stub for the models: how good their answers are, by category
    "chat": {"tiny": 0.8, "small": 1.4, "coder": 0.2, "large": 1.6},
    "code": {"tiny": -1.0, "small": 0.0, "coder": 2.5, "large": 1.5},
}


# %%
folder = TemporaryDirectory()


def open_router():
    """Open the router, or create it; features and prices are those of its creation."""
    return Arena(
        str(Path(folder.name) / "router.db"),
        options=list(PRICES),
        prices=PRICES,
        features=["category=chat,code", "length:number:500:300"],
        claim="judges",
    )


# %%
rng, router, waiting = random.Random(1), open_router(), []
for number in range(2000):
    request = {"category": rng.choice(list(QUALITY)), "length": rng.gauss(500, 300)}
    duel = router.ask(request=request)  # the two models that answer this request
    waiting.append((duel, request))
    if len(waiting) > 30:  # answers come late, in any order
        duel, request = waiting.pop(rng.randrange(len(waiting)))
        lead = QUALITY[request["category"]]
        lead = lead[duel.left.name] - lead[duel.right.name]
        router.vote(duel.duel, "left" if rng.random() < 1 / (1 + 2.718**-lead) else "right")
    if number == 1000:  # the process stops; the log has also the open duels
        router.close()
        router = open_router()

# %%
for category in QUALITY:
    print(f"{category}: {router.best({'category': category, 'length': 500}).name}")
router.set_prices({"coder": 3.0})
print(f"code, with another price: {router.best({'category': 'code', 'length': 500}).name}")
print(router.board().says.requests)
router.close()
folder.cleanup()
