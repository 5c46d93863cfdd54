-- Items: prompts with one answer per option. The log holds their numbers only, so that contents can
-- be changed and erased. Several versions of an item have the same id.
CREATE TABLE arena_items (
    arena TEXT NOT NULL,
    number BIGINT NOT NULL,
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (arena, number)
);
CREATE INDEX arena_items_by_id ON arena_items (arena, id);

-- Uploaded images and audio, by an id that cannot be guessed.
CREATE TABLE arena_files (
    arena TEXT NOT NULL,
    id TEXT NOT NULL,
    media TEXT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (arena, id)
);

-- Texts and buttons of the vote page: settings that may change.
CREATE TABLE arena_pages (
    arena TEXT PRIMARY KEY,
    settings TEXT NOT NULL
);
