-- Vectors of chunks of code, where somebody asks for them. They go with their chunks.
CREATE TABLE code_vectors (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    chunk_id INTEGER NOT NULL REFERENCES code_chunks (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (project_id, model, chunk_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX code_vectors_of_chunk ON code_vectors (chunk_id);
