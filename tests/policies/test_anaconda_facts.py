"""The seven facts of ANACONDA's engine say where in the code they are, and they are there."""

import re
from importlib import import_module

from driftduel.policies import _anaconda

NAMED = re.compile(r"`(\w+)(?:\.(\w+))?`")


def test_every_fact_names_a_place_that_exists():
    facts = re.split(r"^\d\. ", _anaconda.__doc__, flags=re.MULTILINE)[1:]
    assert len(facts) == 7
    for fact in facts:
        heading = fact.partition(").")[0]
        places = NAMED.findall(heading)
        assert places, heading
        for room, name in places:
            module = import_module(f"driftduel.policies._anaconda.{room}")
            assert not name or name in module.__all__, (room, name)
