-- The messages that can be recalled, without a look at each: a message is long, and what says that it was evicted stands behind its text.
CREATE INDEX messages_recallable ON messages (project_id) WHERE evicted_at IS NULL;
