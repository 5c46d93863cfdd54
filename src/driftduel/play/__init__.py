"""Play: a policy meets a world."""

from driftduel.play.game import Play, play, streams
from driftduel.play.trace import COLUMNS, Trace, check_trace_path, trace, write_trace

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
