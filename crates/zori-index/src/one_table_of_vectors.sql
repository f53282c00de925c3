-- Vectors of messages and of chunks of code in one table, told apart by what they are of. They go with their owners.
CREATE TABLE vectors_by_owner (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('message', 'chunk')),
    owner_id INTEGER NOT NULL,
    -- The model that made it and how long it is; nothing is compared with one of another.
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (project_id, owner_kind, model, owner_id)
) STRICT, WITHOUT ROWID;
INSERT INTO vectors_by_owner SELECT project_id, 'message', message_id, model, vector FROM vectors;
INSERT INTO vectors_by_owner SELECT project_id, 'chunk', chunk_id, model, vector FROM code_vectors;
DROP TRIGGER messages_left;
DROP TRIGGER messages_evicted;
DROP TABLE code_vectors;
DROP TABLE vectors;
ALTER TABLE vectors_by_owner RENAME TO vectors;
CREATE INDEX vectors_of_owner ON vectors (owner_kind, owner_id);
CREATE TRIGGER messages_left AFTER DELETE ON messages BEGIN
    DELETE FROM vectors WHERE owner_kind = 'message' AND owner_id = old.id;
    UPDATE embeddings SET state = 'gone' WHERE owner_kind = 'message' AND owner_id = old.id;
END;
CREATE TRIGGER messages_evicted AFTER UPDATE OF evicted_at ON messages WHEN new.evicted_at IS NOT NULL BEGIN
    DELETE FROM vectors WHERE owner_kind = 'message' AND owner_id = new.id;
    UPDATE embeddings SET state = 'gone' WHERE owner_kind = 'message' AND owner_id = new.id;
END;
CREATE TRIGGER code_chunks_left AFTER DELETE ON code_chunks BEGIN
    DELETE FROM vectors WHERE owner_kind = 'chunk' AND owner_id = old.id;
END;
