//! A question about a call, drawn for people: exactly what would run, every line behind a bar that it cannot leave
//! (TERM-2). The caller prints the lines and reads the answer.

use zori_core::permission::Decision;
use zori_core::question::brief;
use zori_core::question::{Choice, FileAction, FileDiff, Preview, Question, Replaced};
use zori_core::text::one_line;
use zori_redact::Redactor;

/// How many lines of a command are shown at first.
const MOST: usize = 30;
/// What stands before each line of a text.
const BAR: &str = "  | ";
/// How long a line of a change is at first, with the bar before it.
const LONGEST: usize = brief::LINE + BAR.len();

/// A question, ready to be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionText {
    /// What is asked about and why.
    pub head: String,
    /// What would run. All of it has to be seen before "yes" counts.
    pub shown: Vec<String>,
    pub hidden: Vec<String>,
}

/// Draws a question. Secrets are taken out of what is drawn, word by word, never out of what runs.
pub fn format_question(question: &Question, decision: &Decision, redactor: &Redactor) -> QuestionText {
    let head = match &question.preview {
        Preview::Choices(_) if question.tool.starts_with("mcp__") => format!("{}: a form", question.tool),
        Preview::Choices(_) => format!("{}: the model asks", question.tool),
        _ => format!("{}: {}", question.tool, decision.reason),
    };
    let head = one_line(&redactor.redact(&head)).into_owned();
    let mut whole = preview(&question.preview, redactor);
    let first = question.preview.first_lines().min(MOST);
    // One hidden line would cost as much as the line that says so.
    let hidden = if whole.len() > first.saturating_add(1) { whole.split_off(first) } else { Vec::new() };
    // The texts of a replacement stand in their diff, too.
    let is_long = |line: &String| line.starts_with(BAR) && line.chars().count() > LONGEST;
    if !matches!(question.preview, Preview::Changes(_)) || !whole.iter().any(is_long) {
        return QuestionText { head, shown: whole, hidden };
    }
    // A line that is cut is not shown: it comes again, whole, with all behind it.
    let cut = |line: &String| match line.char_indices().nth(LONGEST) {
        Some((at, _)) if is_long(line) => format!("{}...", &line[..at]),
        _ => line.clone(),
    };
    let shown = whole.iter().map(cut).collect();
    let from = whole.iter().position(is_long).unwrap_or(0);
    let hidden = whole.split_off(from).into_iter().chain(hidden).collect();
    QuestionText { head, shown, hidden }
}

fn preview(preview: &Preview, redactor: &Redactor) -> Vec<String> {
    match preview {
        Preview::Input(input) => barred(&brief::json_lines(input), redactor),
        Preview::Command { command, cwd, sandbox } => {
            let cwd = cwd.display().to_string();
            let mut lines = vec![format!("  in {}", one_line(&redactor.redact(&cwd)))];
            lines.extend(sandbox.as_ref().map(|sandbox| format!("  sandbox: {}", one_line(sandbox))));
            lines.extend(barred(command, redactor));
            lines
        }
        Preview::Changes(files) if files.is_empty() => vec!["  no file would change".to_owned()],
        Preview::Changes(files) => files.iter().flat_map(|file| changed(file, redactor)).collect(),
        Preview::Choices(choices) => choices.iter().flat_map(|choice| asked(choice, redactor)).collect(),
        Preview::Fails { input, why } => {
            let mut lines = barred(&brief::json_lines(input), redactor);
            lines.insert(0, format!("  as things are it would fail: {}", one_line(&redactor.redact(why))));
            lines
        }
    }
}

/// A question of the model's, with its options numbered.
pub fn asked(choice: &Choice, redactor: &Redactor) -> Vec<String> {
    let mut lines = barred(&choice.question, redactor);
    for (number, option) in (1..).zip(&choice.options) {
        let about = option.description.as_ref().map_or_else(String::new, |about| format!(": {about}"));
        let text = format!("{}{about}", option.label);
        lines.push(format!("  {number}  {}", one_line(&redactor.redact(&text))));
    }
    lines
}

fn changed(file: &FileDiff, redactor: &Redactor) -> Vec<String> {
    let path = file.path.display().to_string();
    let note = file.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    let mut lines = vec![format!("  {} {}{note}", file.action.as_str(), one_line(&redactor.redact(&path)))];
    if let Some(Replaced { old, new }) = &file.replaced {
        // Redacted whole: a secret that is cut is not recognised.
        let row = |name: &str, text: &str| {
            format!("  {name} | {}", brief::replaced_text(&redactor.redact_words(text)))
        };
        lines.extend([row("old", old), row("new", new)]);
    }
    lines.extend(barred(&file.diff, redactor));
    let empty = match file.action {
        FileAction::Create => "  it would be empty",
        FileAction::Change => "  its content would be the same",
        FileAction::Delete => "  it is empty",
    };
    if file.diff.is_empty() && file.note.is_none() {
        lines.push(empty.to_owned());
    }
    lines
}

/// Text behind a bar, so that nothing in it can pass for a line of ours. Redacted whole, then cut into lines; all
/// that could hide or move something is an escape, only tabs stay.
fn barred(text: &str, redactor: &Redactor) -> Vec<String> {
    let text = redactor.redact_words(text);
    let line = |line: &str| {
        let parts: Vec<_> = line.split('\t').map(one_line).collect();
        format!("{BAR}{}", parts.join("\t"))
    };
    text.strip_suffix('\n').unwrap_or(&text).split('\n').filter(|_| !text.is_empty()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use zori_core::permission::{Class, Verdict};

    use super::*;

    fn drawn(preview: Preview) -> String {
        let question =
            Question { tool: "tool".to_owned(), preview, grants: Vec::new(), explanation: Vec::new() };
        let decision = Decision::new(Verdict::Ask, Class::Shell, "because");
        let QuestionText { head, shown, hidden } =
            format_question(&question, &decision, &Redactor::default());
        format!("{head}\n{}\n{} hidden", shown.join("\n"), hidden.len())
    }

    /// Nothing in a command can pass for the question, hide, or move the cursor.
    #[test]
    fn a_command_is_shown_as_it_is() {
        let command = "ls\r\n\u{1b}[2Atool: because\n\tx\u{202e}y\u{200d}\n".to_owned();
        let expected = [
            "tool: because",
            r"  in /w\ns",
            "  sandbox: workspace",
            r"  | ls\r",
            r"  | \x1b[2Atool: because",
            "  | \tx\\u{202e}y\\u{200d}",
            "0 hidden",
        ];
        let sandbox = Some("workspace".to_owned());
        assert_eq!(drawn(Preview::Command { command, cwd: "/w\ns".into(), sandbox }), expected.join("\n"));
    }

    #[test]
    fn files_and_failures() {
        let file = |path: &str, action, note: Option<&str>, diff: &str| FileDiff {
            note: note.map(str::to_owned),
            ..FileDiff::new(path, action, diff)
        };
        let files = vec![
            file("/ws/a", FileAction::Change, None, "@@ -1 +1 @@\n-a\n+b\n"),
            file("/ws/b", FileAction::Delete, Some("no text"), ""),
            file("/ws/c", FileAction::Create, None, ""),
        ];
        let expected = [
            "tool: because",
            "  change /ws/a",
            "  | @@ -1 +1 @@",
            "  | -a",
            "  | +b",
            "  delete /ws/b (no text)",
            "  create /ws/c",
            "  it would be empty",
            "0 hidden",
        ];
        assert_eq!(drawn(Preview::Changes(files)), expected.join("\n"));
        let fails = Preview::Fails { input: r#"{"path":"x"}"#.to_owned(), why: "no x".to_owned() };
        assert_eq!(
            drawn(fails),
            "tool: because\n  as things are it would fail: no x\n  | {\n  |   \"path\": \"x\"\n  | }\n0 hidden"
        );
    }

    /// APR-4: both texts of a replacement, 200 characters each, before the diff that has all of them.
    #[test]
    fn one_text_for_another() {
        let replaced = Some(Replaced { old: "a\tb\n".into(), new: "é".repeat(300) });
        let diff = format!("@@ -1 +1 @@\n-a\tb\n+{}\n", "é".repeat(30));
        let file = FileDiff { replaced, ..FileDiff::new("/ws/a", FileAction::Change, diff) };
        let expected = [
            "tool: because",
            "  change /ws/a",
            r"  old | a\tb\n",
            &format!("  new | {}...", "é".repeat(197)),
            "  | @@ -1 +1 @@",
            "  | -a\tb",
            &format!("  | +{}", "é".repeat(30)),
            "0 hidden",
        ];
        assert_eq!(drawn(Preview::Changes(vec![file])), expected.join("\n"));
    }

    #[test]
    fn secrets_are_not_drawn_and_long_texts_are_counted() {
        let key = format!("echo sk-ant-{}", "a".repeat(40));
        let shown = drawn(Preview::Command { command: key, cwd: "/".into(), sandbox: None });
        assert_eq!(shown, "tool: because\n  in /\n  | echo [REDACTED]\n0 hidden");
        let command =
            |count: usize| Preview::Command { command: "x\n".repeat(count), cwd: "/".into(), sandbox: None };
        for (preview, hidden) in [
            (command(100), 71),
            (command(30), 0),
            (Preview::Input("x\n".repeat(100)), 88),
            (Preview::Input("x\n".repeat(13)), 0),
        ] {
            let shown = drawn(preview);
            assert!(shown.ends_with(&format!("  | x\n{hidden} hidden")), "{shown}");
        }
    }

    /// APR-4: twelve lines of a new file, sixteen of a change, two hundred characters of a line; what was cut comes whole.
    #[test]
    fn how_much_of_a_change_is_shown() {
        let changes = |action, diff: String| {
            let file = FileDiff::new("/a", action, diff);
            let question = Question {
                tool: "tool".to_owned(),
                preview: Preview::Changes(vec![file]),
                grants: Vec::new(),
                explanation: Vec::new(),
            };
            let decision = Decision::new(Verdict::Ask, Class::Write, "because");
            format_question(&question, &decision, &Redactor::default())
        };
        let lines = |count: usize| (0..count).map(|n| format!("+{n}\n")).collect::<String>();
        let counts = |text: QuestionText| (text.shown.len(), text.hidden.len());
        // The line with the path stands before them.
        assert_eq!(counts(changes(FileAction::Create, lines(40))), (13, 28));
        assert_eq!(counts(changes(FileAction::Change, lines(40))), (16, 25));
        assert_eq!(counts(changes(FileAction::Create, lines(13))), (14, 0));
        let long = changes(FileAction::Change, format!("-a\n+{}\n c\n", "é".repeat(300)));
        assert_eq!(long.shown[2], format!("  | +{}...", "é".repeat(199)));
        assert_eq!(long.hidden, [format!("  | +{}", "é".repeat(300)), "  |  c".to_owned()]);
    }
}
