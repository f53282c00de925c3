-- The code index: files of a project, the symbols and the chunks in them. Made from the files, and made again from them at any time.
CREATE TABLE code_files (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    -- Below the project's root.
    path TEXT NOT NULL,
    -- Size and time of the file when it was read, by which a change is noticed; the hash says whether it is one.
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    hash BLOB NOT NULL,
    lang TEXT NOT NULL,
    -- Why nothing of it is indexed; NULL: something is.
    skipped TEXT,
    indexed_at INTEGER NOT NULL,
    UNIQUE (project_id, path)
) STRICT;

CREATE TABLE code_symbols (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    file_id INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    -- The words of the name that capitals join.
    parts TEXT NOT NULL,
    kind TEXT NOT NULL,
    signature TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    -- The symbol it is in, by its place among those of the file.
    parent INTEGER
) STRICT;
CREATE INDEX code_symbols_of_file ON code_symbols (file_id);
CREATE INDEX code_symbols_by_name ON code_symbols (project_id, name COLLATE NOCASE);

CREATE TABLE code_chunks (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    file_id INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    text TEXT NOT NULL,
    -- The words of its identifiers that capitals join.
    parts TEXT NOT NULL
) STRICT;
CREATE INDEX code_chunks_of_file ON code_chunks (file_id, start_line);

-- How far the last pass over the files came.
CREATE TABLE code_passes (
    project_id INTEGER PRIMARY KEY REFERENCES projects (id),
    found INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE VIRTUAL TABLE code_symbols_fts USING fts5 (
    name, parts, content = 'code_symbols', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO code_symbols_fts (code_symbols_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER code_symbols_added AFTER INSERT ON code_symbols BEGIN
    INSERT INTO code_symbols_fts (rowid, name, parts) VALUES (new.id, new.name, new.parts);
END;
CREATE TRIGGER code_symbols_removed AFTER DELETE ON code_symbols BEGIN
    INSERT INTO code_symbols_fts (code_symbols_fts, rowid, name, parts) VALUES ('delete', old.id, old.name, old.parts);
END;

CREATE VIRTUAL TABLE code_chunks_fts USING fts5 (
    text, parts, content = 'code_chunks', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO code_chunks_fts (code_chunks_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER code_chunks_added AFTER INSERT ON code_chunks BEGIN
    INSERT INTO code_chunks_fts (rowid, text, parts) VALUES (new.id, new.text, new.parts);
END;
CREATE TRIGGER code_chunks_removed AFTER DELETE ON code_chunks BEGIN
    INSERT INTO code_chunks_fts (code_chunks_fts, rowid, text, parts) VALUES ('delete', old.id, old.text, old.parts);
END;
