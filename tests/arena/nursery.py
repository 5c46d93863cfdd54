"""Servers that are born quickly, so that they can be killed often.

    python -m tests.arena.nursery STORE PORT

Everything is imported and compiled once; then each line on standard input is a wish: ``start``
forks a server, which says on standard output that it is ready, ``kill`` ends it with SIGKILL.
"""

import os
import signal
import sys

from driftduel.arena import Arena, ArenaManager, open_store
from driftduel.arena.serving import serve
from driftduel.arena.web.settings import Rate, ServerSettings


def main():
    store, port = sys.argv[1], int(sys.argv[2])
    with Arena(options=["a", "b", "c", "d"]) as warm:  # compiles what king needs
        for _ in range(10):
            warm.vote(warm.ask("ann").duel, "left")
        warm.board().to_json()
    child = None
    for wish in sys.stdin:
        if wish == "start\n":
            child = os.fork()
            if child == 0:
                live(store, port)
                os._exit(0)
        elif wish == "kill\n":
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print("dead", flush=True)
        else:
            raise SystemExit(f"what is {wish!r}?")
    if child is not None:
        os.kill(child, signal.SIGKILL)


def live(store, port):
    free = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1))
    serve(
        ArenaManager(open_store(store)),
        port=port,
        settings=free,
        echo=lambda line: None,
        ready=lambda url: print("ready", flush=True),
    )


if __name__ == "__main__":
    main()
