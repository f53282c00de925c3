//! The APIs as one table: how each is reached, and which streams it is tried with.

use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::fixture;
use zori_testkit::reply::Reply;

/// A provider, and two of its streams.
pub struct Api {
    /// What `--provider` takes.
    pub name: &'static str,
    /// Selects it, and a model where the server would be asked for one.
    pub flags: &'static [&'static str],
    /// What the names of its variables begin with.
    prefix: &'static str,
    /// What follows the server's address in the base URL.
    path: &'static str,
    /// A reply that calls a tool.
    pub call: Stream,
    /// Whether that tool has effects.
    pub effects: bool,
    /// A reply that ends the turn.
    pub last: Stream,
}

/// A fixture, and what is known of its events.
pub struct Stream {
    /// Its file.
    pub fixture: &'static str,
    /// Which event brings which text.
    pieces: &'static [(usize, &'static str)],
    /// How many events there are; without the last one it is not complete.
    pub events: usize,
}

impl Api {
    /// Makes it the provider of all further runs.
    pub fn at(&self, world: &mut TestEnv, url: &str) {
        world.set_var(format!("{}_BASE_URL", self.prefix), format!("{url}{}", self.path));
        world.set_var(format!("{}_API_KEY", self.prefix), TEST_KEY);
    }
}

impl Stream {
    /// Returns the reply that streams it.
    pub fn reply(&self) -> Reply {
        let reply = Reply::sse(self.bytes());
        assert_eq!(reply.events(), self.events, "{}", self.fixture);
        reply
    }

    /// Returns the stream.
    pub fn bytes(&self) -> Vec<u8> {
        fixture::bytes(self.fixture)
    }

    /// Returns what is on stdout after so many events; a line that was begun is ended.
    pub fn shown(&self, events: usize) -> String {
        let text: String = self.pieces.iter().filter(|(at, _)| *at < events).map(|(_, text)| *text).collect();
        if text.is_empty() { text } else { text + "\n" }
    }

    /// Returns all of its text.
    pub fn text(&self) -> String {
        self.shown(self.events)
    }
}

/// Every API, and every server with streams of its own.
pub const APIS: &[Api] = &[
    Api {
        name: "anthropic",
        flags: &["--provider", "anthropic"],
        prefix: "ANTHROPIC",
        path: "",
        call: Stream {
            fixture: "anthropic/text_then_tool.sse",
            pieces: &[(2, "I'll"), (3, " look at"), (4, " the file"), (5, " first.")],
            events: 15,
        },
        effects: true,
        last: Stream {
            fixture: "anthropic/text.sse",
            pieces: &[(2, "Hello"), (3, "! How can"), (4, " I help you"), (5, " today?")],
            events: 9,
        },
    },
    Api {
        name: "openai-chat",
        flags: &["--provider", "openai-chat"],
        prefix: "OPENAI",
        path: "/v1",
        call: CHAT_CALL,
        effects: true,
        last: CHAT_TEXT,
    },
    Api {
        name: "codex",
        flags: &["--provider", "codex"],
        prefix: "OPENAI",
        path: "/v1",
        call: Stream { fixture: "openai_responses/reasoning_then_tool.sse", pieces: &[], events: 19 },
        effects: true,
        last: Stream {
            fixture: "openai_responses/text.sse",
            pieces: &[(4, "Hello"), (5, "! How can"), (6, " I help you"), (7, " today?")],
            events: 12,
        },
    },
    Api {
        name: "gemini",
        flags: &["--provider", "gemini"],
        prefix: "GEMINI",
        path: "/v1beta",
        call: Stream { fixture: "gemini/thoughts_then_tool.sse", pieces: &[(2, "I run them.")], events: 4 },
        effects: true,
        last: Stream {
            fixture: "gemini/text.sse",
            pieces: &[(0, "Hello"), (1, "! How can I"), (2, " help you today?")],
            events: 3,
        },
    },
    Api {
        name: "openrouter",
        flags: &["--provider", "openrouter"],
        prefix: "OPENROUTER",
        path: "/v1",
        call: Stream { fixture: "openrouter/reasoning_details.sse", pieces: &[(4, "I look.")], events: 10 },
        effects: false,
        last: Stream { fixture: "openrouter/encrypted_details.sse", pieces: &[(0, "Done.")], events: 4 },
    },
    Api {
        name: "ollama",
        flags: &["--provider", "ollama", "--model", "qwen3:8b"],
        prefix: "OLLAMA",
        path: "/v1",
        call: Stream { fixture: "compat/ollama_calls.sse", pieces: &[], events: 5 },
        effects: false,
        last: Stream { fixture: "compat/ollama_thinking.sse", pieces: &[(2, "Yes.")], events: 6 },
    },
    Api {
        name: "compat",
        flags: &["--provider", "compat", "--model", "m"],
        prefix: "COMPAT",
        path: "/v1",
        call: CHAT_CALL,
        effects: true,
        last: CHAT_TEXT,
    },
];

const CHAT_CALL: Stream =
    Stream { fixture: "openai_chat/text_then_tool.sse", pieces: &[(1, "Let me look.")], events: 7 };

const CHAT_TEXT: Stream = Stream {
    fixture: "openai_chat/text.sse",
    pieces: &[(1, "Hello"), (2, "! How can"), (3, " I help?")],
    events: 7,
};
