"""Games: a policy plays on a world."""

from driftduel.games.game import play, streams
from driftduel.games.result import Play
from driftduel.games.tracing import COLUMNS, Trace, check_trace_path, trace, write_trace

__all__ = [
    "COLUMNS",
    "Play",
    "Trace",
    "check_trace_path",
    "play",
    "streams",
    "trace",
    "write_trace",
]
