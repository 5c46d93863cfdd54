"""Games: a policy plays on a world."""

from typing import TYPE_CHECKING

from driftduel._internal.lazy import import_on_use
from driftduel.games.game import play, streams
from driftduel.games.identification import LASTING as LASTING, Identification, checkpoints, identify
from driftduel.games.observer import Observer
from driftduel.games.prior_knowledge import KNOWN as KNOWN, knowledge as knowledge
from driftduel.games.replays import (
    Replays as Replays,
    replays_at_moments as replays_at_moments,
    replays_of as replays_of,
)
from driftduel.games.restarts import count_false_alarms as count_false_alarms
from driftduel.games.result import Play
from driftduel.games.slates import check_slates as check_slates
from driftduel.games.tracing import COLUMNS, Trace, check_trace_path, trace, write_trace

if TYPE_CHECKING:
    from driftduel.games.certificate import CertificateObserver as CertificateObserver
else:
    __getattr__ = import_on_use(
        __name__,
        {
            "certificate": "CertificateObserver",
        },
    )

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
