use std::fmt::Write;

use super::*;
use crate::dialect::{A0, CLAUDE, Source, ZORI};
use crate::testing::{Scratch, ask};

fn tools(scratch: &Scratch, dialect: &'static Dialect) -> ToolSet {
    // What a command needs for itself is not in the folder that is listed.
    ToolSet::new(Arc::new(ToolEnv { temp_parent: std::env::temp_dir(), ..scratch.env() }), dialect)
}

/// The specs as a provider would send them, one tool a paragraph.
fn specs(dialect: &'static Dialect) -> String {
    let set = tools(&Scratch::new(), dialect);
    let mut out = String::new();
    for spec in set.specs().iter() {
        writeln!(out, "{}: {}\n{}\n", spec.name, spec.description, spec.schema).unwrap();
    }
    out
}

/// What the model reads after a call.
fn read(scratch: &Scratch, set: &ToolSet, name: &str, args: &str) -> String {
    let output = ask(set, name, args);
    let text = output.text.as_deref().unwrap_or_else(|| output.envelope.get());
    scratch.hide(text)
}

#[test]
fn every_field_of_every_dialect_is_known() {
    for dialect in dialect::ALL {
        for entry in dialect.tools {
            let def = def(entry.kind);
            for field in entry.fields {
                if let Source::Canonical(name) = field.source {
                    assert!(
                        def.params.iter().any(|p| p.name == name),
                        "{} {} {name}",
                        dialect.name,
                        entry.name
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_request_stays_small() {
    let size: usize = tools(&Scratch::new(), &ZORI)
        .specs()
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.schema.get().len())
        .sum();
    assert!(size < 5500, "the tools take {size} bytes of every request");
}

#[test]
fn other_dialects_names_are_understood() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\n");
    let set = tools(&scratch, &ZORI);
    let whole = r#"{"ok":true,"data":{"path":"$ROOT/f","content":"one\ntwo\n","truncated":false,"bytes":8}}"#;
    for (name, args) in [
        ("read", r#"{"file_path":"f"}"#),
        ("Read", r#"{"file_path":"f"}"#),
        ("read", r#"{"path":"f","x":1}"#),
    ] {
        assert_eq!(read(&scratch, &set, name, args), whole, "{name} {args}");
    }
    assert_eq!(
        read(&scratch, &set, "read_file", r#"{"target":"f","start_line":"2","end_line":2}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","content":"two\n","truncated":false,"bytes":8,"start_line":2,"end_line":2,"total_lines":2}}"#
    );
}

#[test]
fn calls_that_cannot_be_run() {
    let scratch = Scratch::new();
    let zori = tools(&scratch, &ZORI);
    let claude = tools(&scratch, &CLAUDE);
    let names =
        "read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, todo_write, task";
    let cases = [
        (&zori, "rm", "{}", format!("unknown_tool: `rm` is not a tool; the tools are {names}")),
        (&zori, "Skill", "{}", format!("unknown_tool: `Skill` is not available here; the tools are {names}")),
        (
            &zori,
            "read",
            "{}",
            "invalid_input: missing field `path`. Fields of `read`: `path` (a string, required), `offset` (an integer), `limit` (an integer)".into(),
        ),
        (
            &zori,
            "read",
            r#"{"path":["f","g"]}"#,
            "invalid_input: field `path` must be a string, not a list. Fields of `read`: `path` (a string, required), `offset` (an integer), `limit` (an integer)".into(),
        ),
        (
            &claude,
            "Write",
            r#"{"path":"f"}"#,
            "invalid_input: missing field `content`. Fields of `Write`: `file_path` (a string, required), `content` (a string, required)".into(),
        ),
        (
            &claude,
            "Task",
            r#"{"description":"x","prompt":"x","run_in_background":true}"#,
            "invalid_input: `run_in_background` is not supported here; leave it out. Fields of `Task`: `description` (a string, required), `prompt` (a string, required), `subagent_type` (a string), `model` (a string)".into(),
        ),
        (
            &claude,
            "TaskOutput",
            r#"{"task_id":"job_1","timeout":600001}"#,
            "invalid_input: field `timeout` must be 0 to 600000 milliseconds, not 600001. Fields of `TaskOutput`: `task_id` (a string, required), `block` (a boolean), `timeout` (an integer)".into(),
        ),
        (
            &claude,
            "MultiEdit",
            r#"{"file_path":"f","edits":[{"old_string":"a"}]}"#,
            "invalid_input: missing field `edits[0].new_string`. Fields of `MultiEdit`: `file_path` (a string, required), `edits` (a list of objects with old_string, new_string, required)".into(),
        ),
        (
            &claude,
            "Bash",
            r#"{"command":"x","timeout":600001}"#,
            "invalid_input: field `timeout` must be 1 to 600000 milliseconds, not 600001. Fields of `Bash`: `command` (a string, required), `timeout` (an integer), `description` (a string), `run_in_background` (a boolean)".into(),
        ),
        (
            &claude,
            "apply_patch",
            r#"{"patch":"x"}"#,
            "unknown_tool: `apply_patch` is not a tool; the tools are Read, Write, Edit, Bash, MultiEdit, NotebookEdit, Glob, Grep, LS, WebFetch, TodoWrite, Task, TaskOutput, KillShell".into(),
        ),
    ];
    for (set, name, args, message) in cases {
        let raw = RawValue::from_string(args.to_owned()).unwrap();
        let Err(bad) = set.resolve(name, &raw) else { panic!("{name} {args}") };
        assert_eq!(format!("{}: {}", bad.code.as_str(), bad.message), message);
        // Clients that read plain text get the reason as such.
        let plain = !std::ptr::eq(set, &zori);
        assert_eq!(bad.text.as_deref(), plain.then_some(&*bad.message), "{name}");
    }
    let deep = format!(r#"{{"path":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let Err(bad) = zori.resolve("read", &RawValue::from_string(deep).unwrap()) else { panic!("too deep") };
    assert_eq!(bad.code, ToolCode::InvalidInput);
}

#[test]
fn the_claude_protocol_reads_plain_text() {
    let scratch = Scratch::new();
    scratch.put("src/a.rs", "fn a() {}\nfn b() {}\n");
    let set = tools(&scratch, &CLAUDE);
    let calls = [
        ("Read", r#"{"file_path":"src/a.rs"}"#),
        ("Read", r#"{"file_path":"src/a.rs","offset":2,"limit":1}"#),
        ("Read", r#"{"file_path":"src/a.rs","limit":1}"#),
        ("Read", r#"{"file_path":"none"}"#),
        ("Write", r#"{"file_path":"new.txt","content":""}"#),
        ("Read", r#"{"file_path":"new.txt"}"#),
        ("Write", r#"{"file_path":"new.txt","content":"abc"}"#),
        ("Edit", r#"{"file_path":"src/a.rs","old_string":"fn","new_string":"pub fn"}"#),
        ("Edit", r#"{"file_path":"src/a.rs","old_string":"fn","new_string":"pub fn","replace_all":true}"#),
        (
            "MultiEdit",
            r#"{"file_path":"new.txt","edits":[{"old_string":"a","new_string":"b","replace_all":true}]}"#,
        ),
        ("Bash", r#"{"command":"true","description":"Do nothing","timeout":500,"run_in_background":false}"#),
        ("Bash", r#"{"command":"echo out; echo err >&2; exit 2"}"#),
        ("Bash", r#"{"command":"kill $$"}"#),
        ("Glob", r#"{"pattern":"**/*.rs"}"#),
        ("Glob", r#"{"pattern":"**/*.py"}"#),
        ("Grep", r#"{"pattern":"pub"}"#),
        ("Grep", r#"{"pattern":"A\\(","-i":true,"output_mode":"content","-C":1,"head_limit":0}"#),
        ("Grep", r#"{"pattern":"pub","output_mode":"count"}"#),
        ("Grep", r#"{"pattern":"nothing"}"#),
        ("LS", r#"{"path":"."}"#),
        ("TodoWrite", r#"{"todos":[{"content":"x","status":"completed","activeForm":"Doing x"}]}"#),
    ];
    let mut out = String::new();
    for (name, args) in calls {
        writeln!(out, "> {name} {args}\n{}", read(&scratch, &set, name, args)).unwrap();
    }
    set.shutdown();
    insta::assert_snapshot!(out, @r##"
    > Read {"file_path":"src/a.rs"}
    1	fn a() {}
    2	fn b() {}
    > Read {"file_path":"src/a.rs","offset":2,"limit":1}
    2	fn b() {}
    > Read {"file_path":"src/a.rs","limit":1}
    1	fn a() {}
    [cut here: the file has 20 bytes; go on with offset 2]
    > Read {"file_path":"none"}
    File not found: $ROOT/none (ENOENT); check the path
    > Write {"file_path":"new.txt","content":""}
    Created $ROOT/new.txt (0 bytes)
    > Read {"file_path":"new.txt"}
    (the file is empty)
    > Write {"file_path":"new.txt","content":"abc"}
    Wrote $ROOT/new.txt (3 bytes)
    > Edit {"file_path":"src/a.rs","old_string":"fn","new_string":"pub fn"}
    expected 1 and found 2 occurrences of `old` in $ROOT/src/a.rs, at lines 1, 2; add surrounding lines to make it unique, or ask for all 2
    > Edit {"file_path":"src/a.rs","old_string":"fn","new_string":"pub fn","replace_all":true}
    Replaced 2 occurrences in $ROOT/src/a.rs
    > MultiEdit {"file_path":"new.txt","edits":[{"old_string":"a","new_string":"b","replace_all":true}]}
    Replaced 1 occurrence in $ROOT/new.txt
    > Bash {"command":"true","description":"Do nothing","timeout":500,"run_in_background":false}
    (Bash completed with no output)
    > Bash {"command":"echo out; echo err >&2; exit 2"}
    out
    err
    Exit code 2
    > Bash {"command":"kill $$"}
    (killed by a signal)
    > Glob {"pattern":"**/*.rs"}
    src/a.rs
    > Glob {"pattern":"**/*.py"}
    No files found
    > Grep {"pattern":"pub"}
    src/a.rs
    > Grep {"pattern":"A\\(","-i":true,"output_mode":"content","-C":1,"head_limit":0}
    src/a.rs:1:pub fn a() {}
    src/a.rs-2-pub fn b() {}
    > Grep {"pattern":"pub","output_mode":"count"}
    src/a.rs:2
    > Grep {"pattern":"nothing"}
    No matches found
    > LS {"path":"."}
    new.txt
    src/
    > TodoWrite {"todos":[{"content":"x","status":"completed","activeForm":"Doing x"}]}
    The task list has 1 tasks, 1 of them completed
    "##);
}

/// Chapter 6 of its contract: a search looks into 2000 files of at most 200000 bytes, unless the call says otherwise, and says what it left out.
#[test]
fn agent_zero_searches_within_bounds() {
    let scratch = Scratch::new();
    for number in 0..2_001 {
        scratch.put(&format!("f{number:04}"), "nothing\n");
    }
    scratch.put("f2000", "hit\n");
    scratch.put("long", format!("hit\n{}", "x".repeat(199_997)));
    let set = tools(&scratch, &A0);
    let first = "(only the first 2000 files were searched; narrow `path` or raise `max_files`)";
    let long = "(1 longer files were not searched; `max_file_bytes` says how long they may be)";
    for (args, found) in [
        (r#"{"query":"hit"}"#, format!("(no matches)\n{first}\n{long}")),
        (r#"{"query":"hit","max_files":2001}"#, format!("f2000:1: hit\n{long}")),
        (
            r#"{"query":"hit","max_files":"9999","max_file_bytes":200001}"#,
            "f2000:1: hit\nlong:1: hit".to_owned(),
        ),
        (r#"{"query":"hit","max_files":0}"#, first.replace("2000", "1").to_string()),
    ] {
        let read = read(&scratch, &set, "search_text", args);
        let wanted =
            if found.starts_with("(only") { format!("(no matches)\n{found}\n{long}") } else { found };
        assert_eq!(read, wanted, "{args}");
    }
    set.shutdown();
}

#[test]
fn agent_zero_reads_plain_text() {
    let scratch = Scratch::new();
    scratch.put("src/a.txt", "one\ntwo\nThree two\n");
    let set = tools(&scratch, &A0);
    let calls = [
        ("read_file", r#"{"file":"src/a.txt"}"#),
        ("read_file", r#"{"path":"src/a.txt","start_line":2,"end_line":2}"#),
        ("read", r#"{"path":"src/a.txt","max_bytes":5}"#),
        ("list_files", "{}"),
        ("tree", r#"{"dir":"src","include_sizes":"false"}"#),
        ("search_text", r#"{"query":"TWO"}"#),
        ("rg", r#"{"text":"TWO","case_sensitive":true}"#),
        ("search_text", r#"{"query":"t.o"}"#),
        ("write_file", r#"{"path":"b.json","text":{"a":1}}"#),
        ("replace_text", r#"{"path":"src/a.txt","find":"two","replace":"zwei"}"#),
        ("replace_text", r#"{"path":"src/a.txt","old":"e","new":"E","count":0}"#),
        ("replace_text", r#"{"path":"src/a.txt","old":"absent","new":"x"}"#),
        ("apply_patch", r#"{"diff":"--- a/b.json\n+++ b/b.json\n@@ -1 +1 @@\n-{\"a\":1}\n+{}\n"}"#),
        ("terminal", r#"{"command":"cat src/a.txt"}"#),
        ("shell", r#"{"command":"exit 1"}"#),
    ];
    let mut out = String::new();
    for (name, args) in calls {
        writeln!(out, "> {name} {args}\n{}", read(&scratch, &set, name, args)).unwrap();
    }
    // Text that does not occur is a success there.
    let nothing = ask(&set, "replace_text", r#"{"path":"src/a.txt","old":"absent","new":"x"}"#);
    assert_eq!(
        nothing.envelope.get(),
        r#"{"ok":true,"data":{"changed":false,"path":"src/a.txt","replacements":0}}"#
    );
    set.shutdown();
    insta::assert_snapshot!(out, @r##"
    > read_file {"file":"src/a.txt"}
    one
    two
    Three two

    > read_file {"path":"src/a.txt","start_line":2,"end_line":2}
    two

    > read {"path":"src/a.txt","max_bytes":5}
    one
    t... [truncated]
    > list_files {}
    src/a.txt (18B)
    > tree {"dir":"src","include_sizes":"false"}
    src/a.txt
    > search_text {"query":"TWO"}
    src/a.txt:2: two
    src/a.txt:3: Three two
    > rg {"text":"TWO","case_sensitive":true}
    (no matches)
    > search_text {"query":"t.o"}
    (no matches)
    > write_file {"path":"b.json","text":{"a":1}}
    Created $ROOT/b.json (7 bytes)
    > replace_text {"path":"src/a.txt","find":"two","replace":"zwei"}
    Replaced 1 occurrence in $ROOT/src/a.txt
    > replace_text {"path":"src/a.txt","old":"e","new":"E","count":0}
    Replaced 4 occurrences in $ROOT/src/a.txt
    > replace_text {"path":"src/a.txt","old":"absent","new":"x"}
    Nothing was replaced: `old` was not found in $ROOT/src/a.txt, and no line is like it; read the file again
    > apply_patch {"diff":"--- a/b.json\n+++ b/b.json\n@@ -1 +1 @@\n-{\"a\":1}\n+{}\n"}
    updated $ROOT/b.json
    > terminal {"command":"cat src/a.txt"}
    onE
    zwEi
    ThrEE two
    > shell {"command":"exit 1"}
    Exit code 1
    "##);
}

#[test]
fn the_zori_dialect() {
    insta::assert_snapshot!(specs(&ZORI), @r#"
    read: Read a text file, an image or a PDF. Returns at most 51200 bytes of text; page through larger files with offset and limit.
    {"type":"object","properties":{"path":{"type":"string","description":"absolute, or relative to the root"},"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer","description":"number of lines"}},"required":["path"]}

    write: Create or overwrite a file. Missing parent directories are created. To change part of a file, edit it.
    {"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}

    edit: Replace exact text in a file. `old` must occur exactly expected_replacements times (default 1); all are replaced. Read the file first. Several changes in a file: multi_edit. In several files: apply_patch.
    {"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"expected_replacements":{"type":"integer"}},"required":["path","old","new"]}

    bash: Run a command with `sh -c` in the root directory, without stdin. Returns stdout, stderr and exit_code; long output is cut in the middle and kept in a file. Each call starts afresh: no folder or variable carries over. It is ended after 20 s, or timeout_secs.
    {"type":"object","properties":{"command":{"type":"string"},"timeout_secs":{"type":"integer","description":"1 to 600"},"background":{"type":"boolean","description":"run as a job: returns its id at once"},"stay":{"type":"boolean","description":"a job that outlives this session"}},"required":["command"]}

    multi_edit: Several edits of one file, in order, all or none.
    {"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"expected_replacements":{"type":"integer"}},"required":["old","new"]}}},"required":["path","edits"]}

    glob: Find files by glob pattern, newest first. Skips ignored files and, unless the pattern names them, hidden ones.
    {"type":"object","properties":{"pattern":{"type":"string","description":"relative to path, e.g. `src/**/*.rs`"},"path":{"type":"string","description":"directory, default `.`"}},"required":["pattern"]}

    grep: Search file contents by regular expression. Skips ignored, hidden and binary files.
    {"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"file or directory, default `.`"},"glob":{"type":"string","description":"only these files, e.g. `*.rs`; `!` first excludes"},"mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"default content"},"ignore_case":{"type":"boolean"},"context":{"type":"integer","description":"lines around each match"},"limit":{"type":"integer","description":"default 200, max 2000"},"offset":{"type":"integer","description":"matches to skip"}},"required":["pattern"]}

    ls: List a directory with file sizes. Ignored files are left out.
    {"type":"object","properties":{"path":{"type":"string","description":"default `.`"},"depth":{"type":"integer","description":"levels to list, default 1, max 10"}}}

    apply_patch: Apply a patch to one or more files, all or nothing: a unified diff, or `*** Begin Patch`, then per file `*** Add File: P`, `*** Delete File: P` or `*** Update File: P` (optional `*** Move to: P`) with lines prefixed by blank, - or + under `@@` headers, then `*** End Patch`.
    {"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"]}

    web_fetch: Fetch a web page; HTML becomes text.
    {"type":"object","properties":{"url":{"type":"string","description":"http or https"},"raw":{"type":"boolean","description":"return HTML source"}},"required":["url"]}

    todo_write: Replace the task list. Use it for work of several steps and keep it current.
    {"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}

    task: Hand a task to a sub-agent with the same tools and a conversation of its own; its last message is the result. Good for searches and side work. Several calls in one reply run side by side.
    {"type":"object","properties":{"description":{"type":"string","description":"3 to 5 words"},"prompt":{"type":"string","description":"all it has to know, and what to report"},"subagent_type":{"type":"string","description":"default general-purpose"},"model":{"type":"string","description":"default: yours"}},"required":["description","prompt"]}
    "#);
}

#[test]
fn the_claude_dialect() {
    insta::assert_snapshot!(specs(&CLAUDE), @r#"
    Read: Read a text file, an image or a PDF. Returns at most 51200 bytes of text; page through larger files with offset and limit.
    {"type":"object","properties":{"file_path":{"type":"string","description":"absolute, or relative to the root"},"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer","description":"number of lines"}},"required":["file_path"]}

    Write: Create or overwrite a file. Missing parent directories are created.
    {"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"]}

    Edit: Replace exact text in a file. old_string must occur exactly once unless replace_all is set.
    {"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean","description":"replace every occurrence"}},"required":["file_path","old_string","new_string"]}

    Bash: Run a shell command in the working directory, without stdin.
    {"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer","description":"milliseconds, at most 600000"},"description":{"type":"string","description":"what it does, in 5 to 10 words"},"run_in_background":{"type":"boolean","description":"run as a job: returns its id at once"}},"required":["command"]}

    MultiEdit: Several edits of one file, in order, all or none.
    {"type":"object","properties":{"file_path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean","description":"replace every occurrence"}},"required":["old_string","new_string"]}}},"required":["file_path","edits"]}

    NotebookEdit: Replace, insert or delete a cell of a Jupyter notebook (.ipynb).
    {"type":"object","properties":{"notebook_path":{"type":"string"},"cell_id":{"type":"string","description":"id, or number from 0; insert puts the new cell after it, else first"},"new_source":{"type":"string","description":"the whole new text of the cell"},"cell_type":{"type":"string","enum":["code","markdown","raw"]},"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"default replace"}},"required":["notebook_path"]}

    Glob: Find files by glob pattern, newest first. Skips ignored files and, unless the pattern names them, hidden ones.
    {"type":"object","properties":{"pattern":{"type":"string","description":"relative to path, e.g. `src/**/*.rs`"},"path":{"type":"string","description":"directory, default `.`"}},"required":["pattern"]}

    Grep: Search file contents by regular expression. Skips ignored, hidden and binary files.
    {"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"file or directory, default `.`"},"glob":{"type":"string","description":"only these files, e.g. `*.rs`; `!` first excludes"},"type":{"type":"string","description":"file type, e.g. `rust`"},"output_mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"default files_with_matches"},"-A":{"type":"integer","description":"lines after each match"},"-B":{"type":"integer","description":"lines before each match"},"-C":{"type":"integer","description":"lines around each match"},"-i":{"type":"boolean"},"multiline":{"type":"boolean","description":"let `.` match line ends"},"head_limit":{"type":"integer","description":"default 200, at most 2000"},"offset":{"type":"integer","description":"matches to skip"}},"required":["pattern"]}

    LS: List a directory with file sizes. Ignored files are left out.
    {"type":"object","properties":{"path":{"type":"string","description":"default `.`"},"ignore":{"type":"array","items":{"type":"string"},"description":"globs to leave out"}}}

    WebFetch: Fetch a web page; HTML becomes text.
    {"type":"object","properties":{"url":{"type":"string","description":"http or https"}},"required":["url"]}

    TodoWrite: Replace the task list. Use it for work of several steps and keep it current.
    {"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}

    Task: Hand a task to a sub-agent with the same tools and a conversation of its own; its last message is the result. Good for searches and side work. Several calls in one reply run side by side.
    {"type":"object","properties":{"description":{"type":"string","description":"3 to 5 words"},"prompt":{"type":"string","description":"all it has to know, and what to report"},"subagent_type":{"type":"string","description":"default general-purpose"},"model":{"type":"string","description":"default: yours"}},"required":["description","prompt"]}

    TaskOutput: Return what a background job has printed since the last call, and its status.
    {"type":"object","properties":{"task_id":{"type":"string"},"block":{"type":"boolean","description":"wait for its end; default true"},"timeout":{"type":"integer","description":"milliseconds to wait, default 30000, at most 600000"}},"required":["task_id"]}

    KillShell: End a background job, and return the rest of its output.
    {"type":"object","properties":{"shell_id":{"type":"string"}},"required":["shell_id"]}
    "#);
}

#[test]
fn the_a0_dialect() {
    insta::assert_snapshot!(specs(&A0), @r##"
    read_file: Read a text file, or some of its lines.
    {"type":"object","properties":{"path":{"type":"string","description":"absolute, or relative to the root"},"start_line":{"type":"integer","description":"from 1"},"end_line":{"type":"integer","description":"inclusive"},"max_bytes":{"type":"integer","description":"at most this many bytes"}},"required":["path"]}

    list_files: List the files below a directory.
    {"type":"object","properties":{"path":{"type":"string","description":"default `.`"},"max_depth":{"type":"integer"},"max_files":{"type":"integer"},"include_sizes":{"type":"boolean","description":"default true"}}}

    search_text: Find lines that contain a text.
    {"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string","description":"file or directory, default `.`"},"max_matches":{"type":"integer","description":"default 50"},"max_files":{"type":"integer","description":"default 2000"},"max_file_bytes":{"type":"integer","description":"default 200000; longer files are left out"},"case_sensitive":{"type":"boolean","description":"default false"}},"required":["query"]}

    write_file: Create or overwrite a file. Missing parent directories are created.
    {"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}

    replace_text: Replace text in a file: the first `count` occurrences (default 1), or all if it is 0.
    {"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"count":{"type":"integer"}},"required":["path","old","new"]}

    apply_patch: Apply a patch to one or more files, all or nothing: a unified diff, or `*** Begin Patch`, then per file `*** Add File: P`, `*** Delete File: P` or `*** Update File: P` (optional `*** Move to: P`) with lines prefixed by blank, - or + under `@@` headers, then `*** End Patch`.
    {"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"]}

    shell: Run a command with `sh -c` in the root directory, without stdin. Returns stdout, stderr and exit_code; long output is cut in the middle and kept in a file.
    {"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}
    "##);
}

/// Whatever a client of another platform writes, the call is judged by the file it reaches.
#[test]
fn paths_in_any_spelling() {
    let scratch = Scratch::new();
    scratch.put("src/app.tsx", "one\n");
    let set = tools(&scratch, &CLAUDE).any_spelling(Platform::Unix);
    for path in ["src\\\\app.tsx", ".\\\\src/app.tsx", "src\\\\..\\\\src\\\\app.tsx"] {
        let args = format!(r#"{{"file_path":"{path}"}}"#);
        assert_eq!(read(&scratch, &set, "Read", &args), "1\tone", "{path}");
    }
    let found = read(&scratch, &set, "Glob", r#"{"pattern":"src\\**\\*.tsx"}"#);
    assert!(found.contains("app.tsx"), "{found}");
    let outside = RawValue::from_string(r#"{"file_path":"C:\\x","content":""}"#.to_owned()).unwrap();
    let call = set.resolve("Write", &outside).unwrap();
    assert_eq!(call.effects, [Effect::Write("/c/x".into())]);
    assert_eq!(call.args.get(), r#"{"path":"/c/x","content":""}"#);
    let plain = tools(&scratch, &CLAUDE);
    let written = r#"{"file_path":"src\\app.tsx"}"#;
    let said = "1\tone\nNote: there is no `src\\app.tsx`; `src/app.tsx` was used";
    assert_eq!(read(&scratch, &plain, "Read", written), said);
    scratch.put("src\\app.tsx", "a name on Unix\n");
    assert_eq!(read(&scratch, &plain, "Read", written), "1\ta name on Unix");
}

/// A job from its start to its end, as two dialects tell it. The tools for jobs are listed with the first one.
#[test]
fn a_background_job() {
    let scratch = Scratch::new();
    let names = |set: &ToolSet| -> Vec<String> {
        set.specs().iter().map(|spec| spec.name.clone()).filter(|name| name.starts_with("job")).collect()
    };
    let set = tools(&scratch, &ZORI);
    let failed = |name: &str, args: &str| ask(&set, name, args).failure.map(|failure| failure.message);
    assert_eq!(
        failed("job_output", r#"{"job_id":"job_1"}"#).as_deref(),
        Some("there is no job `job_1`; no job was started")
    );
    assert_eq!(
        failed("bash", r#"{"command":"x","background":true,"timeout_secs":5}"#).as_deref(),
        Some("a background job has no time limit: leave `timeout_secs` out")
    );
    assert_eq!(names(&set), [""; 0]);
    let args = r#"{"command":"echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3","background":true}"#;
    let note = "it goes on in the background: read its output with job_output, end it with job_kill";
    let started = read(&scratch, &set, "bash", args);
    let expected = |stdout: &str| {
        format!(
            r#"{{"ok":true,"data":{{"job_id":"job_1","status":"running","stdout":"{stdout}","stderr":"","note":"{note}"}}}}"#
        )
    };
    assert!([expected(""), expected("one\\n")].contains(&started), "{started}");
    assert_eq!(names(&set), ["job_output", "job_kill"]);
    scratch.put("go", "");
    let ended = read(&scratch, &set, "job_output", r#"{"job_id":"job_1","wait_secs":60}"#);
    let expected = |stdout: &str| {
        format!(
            r#"{{"ok":true,"data":{{"job_id":"job_1","status":"exited","exit_code":3,"stdout":"{stdout}","stderr":""}}}}"#
        )
    };
    assert!([expected("one\\ntwo\\n"), expected("two\\n")].contains(&ended), "{ended}");
    // What was read is not told again.
    assert_eq!(read(&scratch, &set, "job_output", r#"{"job_id":"job_1"}"#), expected(""));

    let claude = tools(&scratch, &CLAUDE);
    let started = read(&scratch, &claude, "Bash", r#"{"command":"sleep 300","run_in_background":true}"#);
    assert_eq!(
        started,
        "Command running in background with ID: job_1. Read its output with TaskOutput, end it with KillShell."
    );
    let polled = r#"{"task_id":"job_1","block":false}"#;
    assert_eq!(read(&scratch, &claude, "TaskOutput", polled), "(job_1: running)");
    let killed = "(job_1: killed by signal 15)";
    assert_eq!(read(&scratch, &claude, "KillShell", r#"{"shell_id":"job_1"}"#), killed);
    assert_eq!(read(&scratch, &claude, "BashOutput", r#"{"bash_id":"job_1"}"#), killed);
    set.shutdown();
    claude.shutdown();
}

#[test]
fn no_more_than_sixteen_jobs() {
    let scratch = Scratch::new();
    let set = tools(&scratch, &ZORI);
    for _ in 0..16 {
        let output = ask(&set, "bash", r#"{"command":"sleep 300","background":true}"#);
        assert!(output.ok(), "{}", output.envelope);
    }
    let refused = read(&scratch, &set, "bash", r#"{"command":"sleep 300","background":true}"#);
    assert_eq!(
        refused,
        r#"{"ok":false,"error":{"code":"exec_error","message":"16 background jobs run already, which is as many as there may be; end one first"}}"#
    );
    assert!(ask(&set, "job_kill", r#"{"job_id":"job_7"}"#).ok());
    assert!(ask(&set, "bash", r#"{"command":"sleep 300","background":true}"#).ok());
    set.shutdown();
}
