-- Shared by SQLite and PostgreSQL. A line that begins with "-- sqlite:" or "-- postgresql:" is for
-- that database only. Statements of a released file never change; additions get the next number.

CREATE TABLE arenas (
    name TEXT PRIMARY KEY,
    secret BYTEA NOT NULL
);

-- The log, the source of truth. Its primary key is the fence: a process that inserts an existing
-- record has lost the ownership of the arena.
CREATE TABLE arena_log (
    arena TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    ref BIGINT,
    body TEXT NOT NULL,
    PRIMARY KEY (arena, seq)
)
-- sqlite: WITHOUT ROWID
;

CREATE INDEX arena_votes ON arena_log (arena, ref) WHERE ref IS NOT NULL;

CREATE TABLE arena_snapshots (
    arena TEXT NOT NULL,
    seq BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (arena, seq)
);

CREATE TABLE arena_options (
    arena TEXT NOT NULL,
    id TEXT NOT NULL,
    place BIGINT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (arena, id)
);

CREATE TABLE arena_tokens (
    digest BYTEA PRIMARY KEY,
    arena TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL
);
CREATE INDEX arena_tokens_of ON arena_tokens (arena);

-- Pseudonyms of voters: not in the log, so that they can be erased.
CREATE TABLE arena_voters (
    arena TEXT NOT NULL,
    voter BYTEA NOT NULL,
    pseudonym TEXT NOT NULL,
    PRIMARY KEY (arena, voter)
);

CREATE TABLE arena_hooks (
    id TEXT PRIMARY KEY,
    arena TEXT NOT NULL,
    url TEXT NOT NULL,
    secret BYTEA NOT NULL,
    events TEXT NOT NULL,
    done BIGINT NOT NULL
);
CREATE INDEX arena_hooks_of ON arena_hooks (arena);

-- Ownership of arenas among several processes: a process holds an advisory lock while it is alive,
-- and writes a heartbeat at regular intervals.
-- postgresql: CREATE TABLE arena_processes (
-- postgresql:     process TEXT PRIMARY KEY,
-- postgresql:     lock BIGINT NOT NULL,
-- postgresql:     about TEXT NOT NULL,
-- postgresql:     beat TIMESTAMPTZ NOT NULL
-- postgresql: );
-- postgresql: CREATE TABLE arena_owners (arena TEXT PRIMARY KEY, process TEXT NOT NULL);
-- postgresql: CREATE INDEX arena_owners_of ON arena_owners (process);
