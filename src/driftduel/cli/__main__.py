"""Make ``python -m driftduel.cli`` the same as ``driftduel``."""

import sys

from driftduel.cli import main

sys.exit(main())
