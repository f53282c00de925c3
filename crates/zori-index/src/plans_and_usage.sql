-- Plans of `/plan`, the choices of a chat, what requests cost, and which process runs a project's jobs.
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    -- The session in which it was made, by its name.
    session TEXT NOT NULL,
    goal TEXT NOT NULL,
    status TEXT NOT NULL,
    -- A list of {"text", "status"}.
    steps TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX plans_of_project ON plans (project_id, id);

CREATE TABLE channel_preferences (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, channel, key)
) STRICT, WITHOUT ROWID;

-- The cost ledger. It outlives its project (D-31): what was spent was spent.
CREATE TABLE usage (
    id INTEGER PRIMARY KEY,
    project_id INTEGER REFERENCES projects (id) ON DELETE SET NULL,
    session TEXT,
    used_at INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    -- In millionths of a dollar; NULL: the price of the model is not known.
    cost INTEGER
) STRICT;
CREATE INDEX usage_by_time ON usage (used_at);
CREATE INDEX usage_of_project ON usage (project_id);

-- The one process that does something for a project, until it stops saying so.
CREATE TABLE leases (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;
