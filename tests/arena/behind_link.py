"""A server and its voters in a network namespace, with the database at the other end of a link.

    ip netns exec NAME python -m tests.arena.behind_link STORE TOKEN

Each line on standard input is a wish: ``votes`` prints how many were acknowledged so far, ``end``
ends the voters and prints all acknowledged votes.
"""

import json
import sys
import threading

from driftduel.arena import ArenaManager
from driftduel.arena.serving import in_background
from driftduel.arena.stores.postgres import PostgresStore
from driftduel.arena.web.settings import Rate, ServerSettings
from tests.arena.test_kills import Voter, votes_of

FREE = ServerSettings(per_address=Rate(0.0, 1), per_token=Rate(0.0, 1), handover_seconds=0.5)


def main():
    url, token = sys.argv[1:]
    stop = threading.Event()
    # Short timeouts: a cut link is noticed after seconds, and the test does not take minutes.
    manager = ArenaManager(PostgresStore(url, seconds=3.0))
    with in_background(manager, settings=FREE) as address:
        voters = [Voter(address, token, number, stop) for number in range(4)]
        for each in voters:
            each.start()
        for wish in sys.stdin:
            if wish != "votes\n":
                break
            print(json.dumps([votes_of(voters), [repr(v.trouble) for v in voters if v.trouble]]))
            sys.stdout.flush()
        stop.set()
        for each in voters:
            each.join()
    print(json.dumps([vote for each in voters for vote in each.acknowledged]), flush=True)


if __name__ == "__main__":
    main()
