-- Every record carries the running hash of the log up to it, every snapshot a checksum. Rows that
-- an earlier version wrote have NULL.
ALTER TABLE arena_log ADD COLUMN hash BYTEA;
ALTER TABLE arena_snapshots ADD COLUMN checksum BYTEA;
