"""Schemathesis reads the OpenAPI document, asks for everything in it, and finds nothing."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from urllib.request import urlopen

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
if find_spec("schemathesis") is None:
    pytest.skip("needs schemathesis", allow_module_level=True)

from driftduel.arena.manager import ArenaManager
from driftduel.arena.serving import in_background
from driftduel.arena.stores import open_store
from driftduel.arena.web.settings import ServerSettings
from tests.arena.served import NO_LIMIT, Clock
from tests.waiting import no_hanging

EXAMPLES = os.environ.get("DRIFTDUEL_EXAMPLES", "15")
# What a schema cannot say, and a sentence does: that a policy exists, that a record is a vote, that
# an address can be reached, that an image is one, that two names differ, that an arena has items
# or slates.
BEYOND_SCHEMA = (
    "make_arena", "void", "make_hook", "join", "change_option", "add_items", "vote",
)  # fmt: skip

CONFIG = """
headers = {{ Authorization = "Bearer {own}" }}

[parameters]
"path.arena" = "colours"
"path.duel" = "{duel}"
"path.option" = "o1"
"path.problem" = "too-late"

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422"]

[[operations]]
include-operation-id = "watch"  # it has no end
enabled = false
"""
OPERATION = """
[[operations]]
include-operation-id = "{name}"
headers = {{ Authorization = "Bearer {token}" }}
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "413", "422"]
"""


@pytest.mark.long
def test_nothing_is_found(tmp_path):
    clock = Clock()
    manager = ArenaManager(open_store("memory:"), clock)
    own = manager.create("colours", ["red", "green", "blue"])
    making = manager.token("*", "own")
    duel = manager.arena("colours").ask("ann").answer.duel
    operations = "".join(
        OPERATION.format(name=name, token=making if name == "make_arena" else own)
        for name in BEYOND_SCHEMA
    )
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG.format(own=own, duel=duel) + operations)
    limits = {"per_address": NO_LIMIT, "per_token": NO_LIMIT, "hooks": False}
    with (
        no_hanging(),
        in_background(manager, settings=ServerSettings(clock=clock, **limits)) as url,
    ):
        with urlopen(f"{url}/v1/openapi.json") as answer:
            document = json.load(answer)
        ended = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run",
             f"{url}/v1/openapi.json", "--max-examples", EXAMPLES, "--seed", "1", "--no-color",
             "--phases", "examples,coverage,fuzzing"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
    said = "\n".join(line[:600] for line in (ended.stdout + ended.stderr).splitlines())
    assert ended.returncode == 0, said
    tested = int(said.partition("Tested: ")[2].split()[0])
    # All but the board that is watched, and the document itself.
    assert tested == sum(len(methods) for methods in document["paths"].values()) - 2, said
