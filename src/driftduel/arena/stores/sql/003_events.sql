-- Events for webhooks, written in the transaction of their records (an outbox): delivery does not
-- have to read the log.
CREATE TABLE arena_events (
    arena TEXT NOT NULL,
    seq BIGINT NOT NULL,
    place BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (arena, seq, place)
);
