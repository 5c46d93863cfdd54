"""`python -m driftduel` is the command `driftduel`."""

import sys

from driftduel.cli import main

if __name__ == "__main__":
    sys.exit(main())
