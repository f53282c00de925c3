-- Schema 1. A change is a new file and a higher user_version, never an edit of this one.
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    root TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    -- The length and time of the session file when it was read, by which a change is noticed.
    file_len INTEGER NOT NULL,
    file_time INTEGER NOT NULL,
    title TEXT NOT NULL,
    turns INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

-- The recallable copy of what the session files say, and what was saved by hand (session_id NULL).
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    said_at TEXT NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_project ON messages (project_id, id);
CREATE INDEX messages_of_session ON messages (session_id);

-- What was forgotten stays so when the copy is made again.
CREATE TABLE forgotten (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    digest BLOB NOT NULL,
    PRIMARY KEY (project_id, digest)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    content, content = 'messages', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO messages_fts (messages_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER messages_added AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER messages_removed AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, content) VALUES ('delete', old.id, old.content);
END;

-- One vector of the built-in embedder for each message.
CREATE TABLE vectors (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (project_id, model, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_of_message ON vectors (message_id);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    cron TEXT,
    run_at INTEGER,
    tz TEXT NOT NULL,
    prompt TEXT NOT NULL,
    created_by TEXT NOT NULL,
    mode TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- NULL: it never runs again.
    next_run INTEGER,
    last_run INTEGER,
    last_status TEXT,
    UNIQUE (project_id, name)
) STRICT;

-- The primary key lets a slot fire once, however many processes look at it.
CREATE TABLE job_runs (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    scheduled_for INTEGER NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER,
    status TEXT,
    PRIMARY KEY (job_id, scheduled_for)
) STRICT, WITHOUT ROWID;
