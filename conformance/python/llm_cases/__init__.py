"""The plugin `llm-claude-code` for the `llm` command line: people type `llm -m claude-code`."""
