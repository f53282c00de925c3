-- What becomes of messages over time, what they are about, vectors elsewhere, and what the background passes did when.
ALTER TABLE messages ADD COLUMN saved_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN last_accessed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN access_count INTEGER NOT NULL DEFAULT 0;
-- Evicted messages leave recall. The session files keep what was said.
ALTER TABLE messages ADD COLUMN evicted_at INTEGER;
-- When entities and edges were taken from it.
ALTER TABLE messages ADD COLUMN extracted_at INTEGER;
UPDATE messages SET saved_at = coalesce(unixepoch(said_at), 0);

CREATE TABLE summaries (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    first_message INTEGER NOT NULL,
    last_message INTEGER NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, session_id, kind)
) STRICT;
CREATE INDEX summaries_of_session ON summaries (session_id);

CREATE TABLE entities (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    canonical TEXT NOT NULL,
    type TEXT NOT NULL,
    summary TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    UNIQUE (project_id, canonical, type)
) STRICT;

-- A fact goes with the message it was taken from, so that what is forgotten is forgotten here, too.
CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    source INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    relation TEXT NOT NULL,
    fact TEXT NOT NULL,
    confidence REAL NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    superseded_by INTEGER,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX edges_of_source ON edges (project_id, source);
CREATE INDEX edges_of_target ON edges (project_id, target);
CREATE INDEX edges_of_target_alone ON edges (target);
CREATE INDEX edges_of_source_alone ON edges (source);
CREATE INDEX edges_of_message ON edges (message_id);
-- An entity of which nothing is said any more.
CREATE TRIGGER edges_removed AFTER DELETE ON edges BEGIN
    DELETE FROM entities WHERE id IN (old.source, old.target)
        AND NOT EXISTS (SELECT 1 FROM edges WHERE source = entities.id OR target = entities.id);
END;

-- Points in a store of vectors outside. Rows outlive their messages: `gone` ones are still to be deleted there.
CREATE TABLE embeddings (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    backend_id INTEGER NOT NULL,
    owner_kind TEXT NOT NULL,
    owner_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    dims INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('stored', 'gone')),
    PRIMARY KEY (project_id, backend_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX embeddings_of_owner ON embeddings (owner_id);
CREATE TRIGGER messages_left AFTER DELETE ON messages BEGIN
    UPDATE embeddings SET state = 'gone' WHERE owner_kind = 'message' AND owner_id = old.id;
END;
CREATE TRIGGER messages_evicted AFTER UPDATE OF evicted_at ON messages WHEN new.evicted_at IS NOT NULL BEGIN
    DELETE FROM vectors WHERE message_id = new.id;
    UPDATE embeddings SET state = 'gone' WHERE owner_kind = 'message' AND owner_id = new.id;
END;

-- When a background pass ran last. Kept here, because a process forgets it.
CREATE TABLE passes (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;
