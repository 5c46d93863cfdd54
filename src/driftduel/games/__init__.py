"""Games: a policy plays on a world."""

from driftduel.games.game import play, streams
from driftduel.games.identification import Identification, checkpoints, identify
from driftduel.games.observer import Observer
from driftduel.games.result import Play
from driftduel.games.tracing import COLUMNS, Trace, check_trace_path, trace, write_trace

__all__ = [
    "COLUMNS",
    "Identification",
    "Observer",
    "Play",
    "Trace",
    "check_trace_path",
    "checkpoints",
    "identify",
    "play",
    "streams",
    "trace",
    "write_trace",
]
