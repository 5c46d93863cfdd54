"""Private helper modules, shared by all packages. They depend on `driftduel.errors` only."""
