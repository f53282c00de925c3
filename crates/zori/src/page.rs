//! A session as one HTML page that needs nothing else: no script, no font, no picture from anywhere. Every text of the
//! session is escaped, so that nothing in it can be more than text.

use std::fmt::Write as _;

use zori_core::message::{Role, ToolInput};
use zori_core::text;
use zori_core::usage::Usage;
use zori_store::{Record, RecordKind, prompt_title};

const STYLE: &str = include_str!("page/style.css");

/// Returns the page up to the first record.
pub fn head(id: &str, facts: &Facts) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n{facts}</header>\n",
        title = escape(id),
        facts = facts.list(),
    )
}

/// What follows the last record.
pub const TAIL: &str = "</main>\n</body>\n</html>\n";

/// The session's facts: folder, time, model, tokens.
#[derive(Default)]
pub struct Facts {
    rows: Vec<(&'static str, String)>,
    begun: Option<String>,
    last: String,
    models: Vec<String>,
    used: Usage,
}

impl Facts {
    /// Takes the facts of one record, in the order of the file.
    pub fn add(&mut self, record: &Record) {
        if let RecordKind::Meta(meta) = &record.kind {
            self.rows.extend(meta.root.as_ref().map(|root| ("folder", root.display().to_string())));
            self.rows.extend(meta.parent.clone().map(|parent| ("forked from", parent)));
        }
        self.begun.get_or_insert_with(|| record.ts.clone());
        self.last.clone_from(&record.ts);
        if let Some(end) = &record.reply_end {
            let new = end.model.clone().filter(|model| !self.models.contains(model));
            self.models.extend(new);
            self.used += end.usage;
        }
    }

    fn list(&self) -> String {
        let mut rows = self.rows.clone();
        let stamps = [("begun", self.begun.clone().unwrap_or_default()), ("last change", self.last.clone())];
        rows.extend(stamps.into_iter().filter(|(_, ts)| !ts.is_empty()));
        if !self.models.is_empty() {
            rows.push(("model", self.models.join(", ")));
            rows.push(("tokens", format!("{} read, {} written", self.used.input, self.used.output)));
        }
        let rows: String =
            rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value))).collect();
        format!("<dl>\n{rows}</dl>\n")
    }
}

/// Returns the part of the page for one record.
pub fn article(record: &Record) -> String {
    match &record.kind {
        RecordKind::Meta(_) => String::new(),
        RecordKind::Message { role: Role::User, text, images, scheduled, .. } => {
            let shown: String = images.iter().map(|image| format!("{image}\n")).collect();
            message("user", &escape(&prompt_title(scheduled.as_deref())), &record.ts, &(shown + text))
        }
        RecordKind::Message { role: Role::Assistant, text, .. } => {
            message("assistant", "Assistant", &record.ts, text)
        }
        RecordKind::Reasoning(thinking) if thinking.text.is_empty() => String::new(),
        RecordKind::Reasoning(thinking) => details_block("reasoning", "Reasoning", "", &thinking.text),
        RecordKind::ToolUse(call) => {
            let input = match &call.input {
                ToolInput::Json(raw) => pretty(raw.get()),
                ToolInput::Malformed(text) => text.clone(),
            };
            details_block(
                "call",
                &call.name,
                &summary(main_argument(&input).as_deref().unwrap_or(&input)),
                &input,
            )
        }
        RecordKind::ToolResult { output, ok, .. } => {
            let (class, title) = if *ok { ("result", "Result") } else { ("result failed", "Failed") };
            let output = output_text(output.get()).unwrap_or_else(|| pretty(output.get()));
            details_block(class, title, &summary(&output), &output)
        }
        RecordKind::Interrupted => note("Interrupted"),
        RecordKind::Approval { decision, by, reason, .. } => note(&format!("{decision} by {by}: {reason}")),
        RecordKind::Compacted { how, before, after, .. } => {
            note(&format!("Context {how}: about {before} to {after} tokens"))
        }
        RecordKind::Changed { .. } => String::new(),
        RecordKind::Rewound { to_turn, what, restored, .. } => {
            note(&format!("Rewound to before turn {to_turn} ({what}): {restored} paths put back"))
        }
        RecordKind::Notice { text, .. } => note(text),
    }
}

fn message(class: &str, who: &str, ts: &str, text: &str) -> String {
    let when = if ts.is_empty() { String::new() } else { format!(" <time>{}</time>", escape(ts)) };
    let mut out = format!("<article class=\"{class}\">\n<h2>{who}{when}</h2>\n");
    // Fenced code keeps its look; everything else is paragraphs as they were written.
    let mut code: Option<String> = None;
    let mut prose = String::new();
    for line in text.lines() {
        match (line.trim_start().starts_with("```"), &mut code) {
            (true, None) => {
                push_paragraphs(&mut out, &mut prose);
                code = Some(String::new());
            }
            (true, Some(block)) => {
                let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(block));
                code = None;
            }
            (false, Some(block)) => {
                block.push_str(line);
                block.push('\n');
            }
            (false, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    push_paragraphs(&mut out, &mut prose);
    if let Some(block) = code {
        let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(&block));
    }
    out.push_str("</article>\n");
    out
}

fn push_paragraphs(out: &mut String, prose: &mut String) {
    for paragraph in prose.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let _ = writeln!(out, "<p>{}</p>", inline(paragraph));
    }
    prose.clear();
}

fn details_block(class: &str, title: &str, summary: &str, body: &str) -> String {
    let summary =
        if summary.is_empty() { String::new() } else { format!(" <code>{}</code>", escape(summary)) };
    format!(
        "<details class=\"{class}\">\n<summary><b>{}</b>{summary}</summary>\n<pre><code>{}</code></pre>\n</details>\n",
        escape(title),
        escape(body)
    )
}

fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escape(text))
}

/// Returns JSON with line breaks, or the text as it is.
fn pretty(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.to_owned())
}

/// Returns the argument that tells best what a call does.
fn main_argument(input: &str) -> Option<String> {
    let input: serde_json::Value = serde_json::from_str(input).ok()?;
    ["command", "path", "file_path", "pattern", "url", "description"]
        .iter()
        .find_map(|name| Some(input.get(name)?.as_str()?.to_owned()))
}

/// Returns what a tool printed or read, as it was printed, if its result is such a text and nothing else that matters.
fn output_text(output: &str) -> Option<String> {
    let output: serde_json::Value = serde_json::from_str(output).ok()?;
    let data = output.get("data")?;
    let text = |name: &str| data.get(name)?.as_str().filter(|text| !text.is_empty());
    let message = match text("stdout").or(text("stderr")) {
        Some(_) => [text("stdout"), text("stderr")].into_iter().flatten().collect::<Vec<_>>().join("\n"),
        None => text("content")?.to_owned(),
    };
    let code = data.get("exit_code").and_then(serde_json::Value::as_i64).filter(|code| *code != 0);
    Some(code.map_or(message.clone(), |code| format!("exit code {code}\n{message}")))
}

/// Returns prose with its code and its emphasis marked; both end where the paragraph does.
fn inline(text: &str) -> String {
    let between = |text: &str, mark: &str, tag: &str, other: &dyn Fn(&str) -> String| -> String {
        let parts: Vec<_> = text.split(mark).collect();
        let last = parts.len() - 1;
        let part = |(n, part): (usize, &&str)| match n % 2 {
            0 => other(part),
            // One that is never closed is a character like any other.
            _ if n == last => format!("{mark}{}", other(part)),
            _ => format!("<{tag}>{}</{tag}>", escape(part)),
        };
        parts.iter().enumerate().map(part).collect()
    };
    between(text, "`", "code", &|prose| between(prose, "**", "strong", &escape))
}

/// Returns one line of a value, for a summary.
fn summary(json: &str) -> String {
    let line = json.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(90) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Escapes a text for HTML, inside and outside of attributes; control characters are made visible.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text::neutral(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("<a href='x'>&\"\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\\x1b");
        assert_eq!(
            message("user", "You", "", "Look:\n```html\n<b>\n```\n\nand <i>"),
            "<article class=\"user\">\n<h2>You</h2>\n<p>Look:</p>\n<pre><code>&lt;b&gt;\n</code></pre>\n<p>and &lt;i&gt;</p>\n</article>\n"
        );
    }

    #[test]
    fn code_and_emphasis_within_a_line() {
        for (text, html) in [
            ("run `a<b` **now**", "run <code>a&lt;b</code> <strong>now</strong>"),
            ("`**` is no emphasis", "<code>**</code> is no emphasis"),
            ("an open ` and **one", "an open ` and **one"),
            ("2 ** 3 ** 4", "2 <strong> 3 </strong> 4"),
        ] {
            assert_eq!(inline(text), html);
        }
    }

    #[test]
    fn results_read_as_they_were_printed() {
        let failed = r#"{"ok":false,"data":{"exit_code":3,"stdout":"a\nb\n","stderr":"bad"}}"#;
        assert_eq!(output_text(failed).as_deref(), Some("exit code 3\na\nb\n\nbad"));
        assert_eq!(output_text(r#"{"ok":true,"data":{"content":"x"}}"#).as_deref(), Some("x"));
        assert_eq!(output_text(r#"{"ok":true,"data":{"paths":[]}}"#), None);
        assert_eq!(main_argument(r#"{"command":"ls -l","timeout":3}"#).as_deref(), Some("ls -l"));
    }

    #[test]
    fn a_fence_that_is_never_closed() {
        assert!(
            message("user", "You", "", "```\nrest").ends_with("<pre><code>rest\n</code></pre>\n</article>\n")
        );
    }
}
