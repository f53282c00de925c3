//! The tools through the binary: what each returns, and what a child process may see. Failures are in
//! `tools/codes.rs`.

mod codes;

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::with_model;

/// Returns the replies of a model that makes these calls one after another, and then ends.
fn script(calls: &[(&str, Value)]) -> Vec<Message> {
    let call = |(n, (name, input)): (usize, &(&str, Value))| {
        anthropic::tool_use(&format!("toolu_{n}"), name, input.clone())
    };
    calls.iter().enumerate().map(call).chain([anthropic::text("Done.")]).collect()
}

/// Returns the results of the n-th request's last message as the model reads them, one line each.
#[track_caller]
fn results(world: &TestEnv, server: &ModelServer, n: usize) -> String {
    let messages = server.request(n).messages();
    let last =
        messages.last().expect("a request has messages")["content"].as_array().expect("blocks").clone();
    let lines: Vec<_> =
        last.iter().map(|block| block["content"].as_str().expect("a text").to_owned()).collect();
    world.rewrite().apply(&lines.join("\n"))
}

/// Runs the calls in a furnished world and returns each one's result, and the world.
#[track_caller]
fn run_in(prepare: impl FnOnce(&mut TestEnv), calls: &[(&str, Value)], flags: &[&str]) -> (String, TestEnv) {
    let (mut world, server) = with_model(script(calls));
    prepare(&mut world);
    let output = world.run(&[&["exec", "-p", "go"], flags].concat()).success();
    assert_eq!(output.stdout(), "Done.\n");
    let all: Vec<_> = (1..=calls.len()).map(|n| results(&world, &server, n)).collect();
    (all.join("\n"), world)
}

/// Runs one call in a world with a file `a.txt`.
#[track_caller]
fn run(name: &str, input: Value) -> String {
    run_in(furnish, &[(name, input)], &[]).0
}

fn furnish(world: &mut TestEnv) {
    world.write("a.txt", "one\ntwo\ntwo\n");
}

/// TOOL-6, TOOL-7: a field too many does no harm, and no input is an empty one.
#[test]
fn input_that_is_taken_for_what_it_means() {
    insta::assert_snapshot!(run("read", json!({"path": "a.txt", "reason": "curious"})), @r"
    $WORK/a.txt (3 lines)
    one
    two
    two
    ");
    let empty = anthropic::tool_use("toolu_0", "ls", json!(""))
        .sse()
        .replace("\"partial_json\":\"\\\"\"", "\"partial_json\":\"\"");
    let (mut world, server) = with_model([Reply::sse(empty), anthropic::text("Done.").into()]);
    furnish(&mut world);
    world.run(&["exec", "-p", "go"]).success();
    insta::assert_snapshot!(results(&world, &server, 1), @"a.txt	12");
}

/// EDIT-5.
#[test]
fn an_edit_replaces_all_it_was_told_to_expect() {
    let edit = json!({"path": "a.txt", "old": "two", "new": "2", "expected_replacements": 2});
    let (result, world) = run_in(furnish, &[("edit", edit)], &[]);
    insta::assert_snapshot!(result, @"replaced 2 places in $WORK/a.txt");
    assert_eq!(world.read("a.txt"), "one\n2\n2\n");
}

/// BASH-3: what was printed until then is kept.
#[test]
fn timeout_of_a_command() {
    let prepare = |world: &mut TestEnv| {
        world.write(world.base().join("config.toml"), "tool_timeout_secs = 1\n");
    };
    let command = "echo before; echo trouble >&2; sleep 60";
    let calls = [("bash", json!({"command": command}))];
    insta::assert_snapshot!(run_in(prepare, &calls, &[]).0, @r"
    timed out
    before
    stderr:
    trouble
    Command timed out after 1 seconds
    ");
}

/// DECISIONS 36: the call's own limit counts, and 0 in the config is no limit.
#[test]
fn timeout_of_one_call() {
    let prepare = |world: &mut TestEnv| {
        world.write(world.base().join("config.toml"), "tool_timeout_secs = 0\n");
    };
    let calls = [("bash", json!({"command": "sleep 60", "timeout_secs": "1"}))];
    insta::assert_snapshot!(run_in(prepare, &calls, &[]).0, @r"
    timed out
    stderr:
    Command timed out after 1 seconds
    ");
}

/// PATH-4, PATH-5, BASH-1.
#[test]
fn the_root_is_where_everything_happens() {
    let prepare = |world: &mut TestEnv| {
        world.write("sub/a.txt", "below\n");
        world.write("a.txt", "above\n");
        symlink("sub", world.work().join("link")).unwrap();
    };
    let calls = [
        ("bash", json!({"command": "pwd; cat a.txt"})),
        ("read", json!({"path": "a.txt"})),
        ("write", json!({"path": "./x/../b.txt", "content": "new\n"})),
        ("ls", json!({})),
        // It is no boundary.
        ("read", json!({"path": "../a.txt"})),
    ];
    let (result, world) = run_in(prepare, &calls, &["--root", "link"]);
    insta::assert_snapshot!(result, @r"
    $WORK/sub
    below
    $WORK/sub/a.txt (1 line)
    below

    created $WORK/sub/b.txt (4 bytes)
    a.txt	6
    b.txt	4
    $WORK/a.txt (1 line)
    above
    ");
    assert_eq!(world.read("sub/b.txt"), "new\n");
}

/// READ-2, READ-3.
#[test]
fn a_long_file_is_cut_between_characters() {
    let cut = |content: String| {
        let prepare = |world: &mut TestEnv| {
            world.write("long.txt", &content);
        };
        let (result, _world) = run_in(prepare, &[("read", json!({"path": "long.txt"}))], &[]);
        let (head, content) = result.split_once('\n').unwrap();
        (head.to_owned(), content.len())
    };
    let whole = "$WORK/long.txt (1 line, no newline at the end)".to_owned();
    let part = "$WORK/long.txt (1 line of 51201 bytes; more from offset 1)".to_owned();
    assert_eq!(cut("x".repeat(51_200)), (whole, 51_200));
    assert_eq!(cut("x".repeat(51_201)), (part.clone(), 51_200));
    assert_eq!(cut(format!("{}é", "x".repeat(51_199))), (part, 51_199));
}

/// WRITE-2, WRITE-5: the mode stays, and a link is written through.
#[test]
fn writing_over_a_file() {
    let prepare = |world: &mut TestEnv| {
        let file = world.write("real.sh", "old");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o750)).unwrap();
        symlink("real.sh", world.work().join("link.sh")).unwrap();
    };
    let calls = [
        ("write", json!({"path": "link.sh", "content": "né\n"})),
        ("write", json!({"path": "deep/er/new.txt", "content": ""})),
    ];
    let (result, world) = run_in(prepare, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    wrote $WORK/link.sh (4 bytes)
    note: it was never read: 1 line before, 1 line after
    created $WORK/deep/er/new.txt (0 bytes)
    ");
    assert_eq!((world.read("real.sh").as_str(), world.read("deep/er/new.txt").as_str()), ("né\n", ""));
    assert!(world.work().join("link.sh").is_symlink());
    assert_eq!(world.work().join("real.sh").metadata().unwrap().permissions().mode() & 0o7777, 0o750);
}

#[test]
fn a_file_that_vanishes_between_read_and_edit() {
    let calls = [
        ("read", json!({"path": "a.txt"})),
        ("bash", json!({"command": "rm a.txt"})),
        ("edit", json!({"path": "a.txt", "old": "one", "new": "1"})),
    ];
    let (result, world) = run_in(furnish, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    $WORK/a.txt (3 lines)
    one
    two
    two

    (no output)
    error path_error: File not found: $WORK/a.txt (ENOENT); check the path
    ");
    assert!(!world.work().join("a.txt").exists());
}

/// FS-7: what somebody else wrote meanwhile is not lost silently.
#[test]
fn a_file_that_changes_between_read_and_write() {
    let calls = [
        ("read", json!({"path": "a.txt"})),
        ("bash", json!({"command": "echo three >> a.txt"})),
        ("write", json!({"path": "a.txt", "content": "mine\n"})),
        ("edit", json!({"path": "a.txt", "old": "one", "new": "1"})),
    ];
    let (result, world) = run_in(furnish, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    $WORK/a.txt (3 lines)
    one
    two
    two

    (no output)
    error write_error: cannot write $WORK/a.txt: it changed on disk since it was read; read it again, then write
    replaced 1 place in $WORK/a.txt
    note: the file changed on disk since it was last read
    ");
    assert_eq!(world.read("a.txt"), "1\ntwo\ntwo\nthree\n");
}

/// BASH-2, BASH-5, BASH-7.
#[test]
fn commands() {
    let shell = |command: &str| run("bash", json!({"command": command}));
    insta::assert_snapshot!(shell("cat; echo out; echo err >&2; exit 7"), @r"
    exit 7
    out
    stderr:
    err
    ");
    insta::assert_snapshot!(shell("kill -9 $$"), @r"
    killed by a signal
    (no output)
    ");
    insta::assert_snapshot!(shell("printf 'caf\\351\\000\\n'"), @"caf�");
    insta::assert_snapshot!(shell("no-such-program-here 2>/dev/null"), @r"
    exit 127
    (no output)
    ");
}

/// DECISIONS 14: head and tail, and where the rest is.
#[test]
fn a_command_that_says_too_much() {
    let prepare = |world: &mut TestEnv| {
        world.write(world.base().join("config.toml"), "bash_max_output_bytes = 40\n");
    };
    let calls = [
        ("bash", json!({"command": "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done"})),
        ("bash", json!({"command": "wc -l < \"$(find \"$TMPDIR\" -name '*.txt')\""})),
    ];
    let (result, world) = run_in(prepare, &calls, &[]);
    let lines: Vec<&str> = result.lines().collect();
    let [first, .., last, count] = lines[..] else { panic!("{result}") };
    assert_eq!((first, last, count), ("line 0", "line 99", "100"));
    let cut = lines.iter().find(|line| line.starts_with("[... ")).expect("a line says so");
    assert!(cut.contains(" of 790 bytes cut here; all of it is in $TMP/"), "{cut}");
    assert_eq!(std::fs::read_dir(world.tmp()).unwrap().count(), 0, "the spill file goes with the run");
}

/// DECISIONS 37: keys and our own settings are no business of a child; everything else is inherited.
#[test]
fn what_a_child_process_may_see() {
    let prepare = |world: &mut TestEnv| {
        for name in
            ["OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "ZORI_OUTPUT", "ZORI_X", "MINE"]
        {
            world.set_var(name, "plain");
        }
    };
    let (result, _world) = run_in(prepare, &[("bash", json!({"command": "env"}))], &[]);
    assert!(!result.contains(TEST_KEY), "{result}");
    let names = result.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    // The shell adds some of its own.
    let mut names: Vec<_> = names.filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name)).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "ANTHROPIC_BASE_URL",
            "EDITOR",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "HOME",
            "HOMEBREW_NO_AUTO_UPDATE",
            "LANG",
            "LESS",
            "MANPAGER",
            "MINE",
            "MORE",
            "NO_COLOR",
            "NO_UPDATE_NOTIFIER",
            "PAGER",
            "PATH",
            "PIP_DISABLE_PIP_VERSION_CHECK",
            "TERM",
            "TMPDIR",
            "VISUAL",
        ]
    );
}

/// DECISIONS 13, L-15: names and fields of other tables are understood, and answered in this one.
#[test]
fn other_dialects() {
    let calls = [
        ("Read", json!({"file_path": "a.txt"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"})),
        ("Write", json!({"file_path": "b.txt", "content": "b"})),
        ("Bash", json!({"command": "cat a.txt b.txt", "description": "look"})),
        ("read_file", json!({"path": "b.txt"})),
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": "two", "new_string": "2", "expected_replacements": "2"}),
        ),
    ];
    let (result, world) = run_in(furnish, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    $WORK/a.txt (3 lines)
    one
    two
    two

    replaced 1 place in $WORK/a.txt
    created $WORK/b.txt (1 bytes)
    1
    two
    two
    b
    $WORK/b.txt (1 line, no newline at the end)
    b
    replaced 2 places in $WORK/a.txt
    ");
    assert_eq!(world.read("a.txt"), "1\n2\n2\n");
}

/// The tools beyond the first four.
#[test]
fn the_others() {
    let prepare = |world: &mut TestEnv| {
        furnish(world);
        world.write("src/b.rs", "fn two() {}\n");
        world.write(".gitignore", "ignored.txt\n");
        world.write("ignored.txt", "two\n");
    };
    let edits = json!([{"old": "one", "new": "1"}, {"old": "two", "new": "2", "expected_replacements": 2}]);
    let patch = "*** Begin Patch\n*** Update File: src/b.rs\n@@\n-fn two() {}\n+fn three() {}\n*** Add File: c.txt\n+c\n*** End Patch";
    let calls = [
        ("glob", json!({"pattern": "**/*.rs"})),
        ("grep", json!({"pattern": "tw."})),
        ("ls", json!({"path": "src"})),
        ("multi_edit", json!({"path": "a.txt", "edits": edits})),
        ("apply_patch", json!({"patch": patch})),
        ("todo_write", json!({"todos": [{"content": "rest", "status": "pending"}]})),
    ];
    let (result, world) = run_in(prepare, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    src/b.rs
    a.txt:2:two
    a.txt:3:two
    src/b.rs:1:fn two() {}
    b.rs	12
    replaced 3 places in $WORK/a.txt
    updated $WORK/src/b.rs
    added $WORK/c.txt
    the task list has 1 tasks, 0 of them completed
    ");
    assert_eq!(
        [world.read("a.txt"), world.read("src/b.rs"), world.read("c.txt")],
        ["1\n2\n2\n", "fn three() {}\n", "c\n"]
    );
}

#[test]
fn a_web_page() {
    let site = ModelServer::start([
        Reply::bytes(200, "text/html", "<html><body><h1>Title</h1><p>Some <b>text</b>.</p></body></html>"),
        Reply::bytes(404, "text/plain", "nothing here"),
    ]);
    let calls = [("web_fetch", json!({"url": site.url()})), ("web_fetch", json!({"url": site.url()}))];
    insta::assert_snapshot!(run_in(|_| {}, &calls, &[]).0, @r"
    http://127.0.0.1:$PORT/ (200, text/html)
    # Title

    Some **text**.

    error fetch_error: HTTP 404 from http://127.0.0.1:$PORT/: nothing here
    ");
    assert_eq!(site.request(0).header("x-api-key"), None);
}

/// NB-1 to NB-3: a cell through the binary, and the tool is listed once a notebook was touched.
#[test]
fn a_cell_of_a_notebook() {
    let notebook = r#"{"cells":[{"cell_type":"code","execution_count":1,"id":"a","metadata":{},"outputs":[],"source":["1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let (world, server) = with_model(script(&[
        ("read", json!({"path": "n.ipynb"})),
        ("notebook_edit", json!({"path": "n.ipynb", "cell": 0, "source": "2"})),
        (
            "NotebookEdit",
            json!({"notebook_path": "n.ipynb", "edit_mode": "insert", "cell_id": "a", "cell_type": "markdown", "new_source": "# Two"}),
        ),
    ]));
    world.write("n.ipynb", notebook);
    world.run(&["exec", "-p", "go"]).success();
    let file: Value = serde_json::from_str(&world.read("n.ipynb")).unwrap();
    let cells: Vec<_> =
        file["cells"].as_array().unwrap().iter().map(|cell| (&cell["cell_type"], &cell["source"])).collect();
    assert_eq!(cells, [(&json!("code"), &json!(["2"])), (&json!("markdown"), &json!(["# Two"]))]);
    assert_eq!(
        results(&world, &server, 2),
        "replaced cell 0 (id a, code) in $WORK/n.ipynb, which has 1 cell now"
    );
    let listed = |n: usize| {
        let tools = server.request(n).json()["tools"].as_array().unwrap().clone();
        tools.iter().any(|tool| tool["name"] == "notebook_edit")
    };
    assert_eq!([listed(0), listed(1)], [false, true]);
}

/// READ-6: a PDF goes to the model as the document it is.
#[test]
fn a_document() {
    let pdf = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
    let (world, server) = with_model(script(&[("read", json!({"path": "a.pdf"}))]));
    world.write("a.pdf", pdf);
    world.run(&["exec", "-p", "go", "--image", "a.pdf"]).success();
    let asked = server.request(0).messages();
    assert_eq!(
        (&asked[0]["content"][0]["type"], &asked[0]["content"][0]["source"]["media_type"]),
        (&json!("document"), &json!("application/pdf"))
    );
    let result = server.request(1).messages().pop().unwrap()["content"][0]["content"].clone();
    assert_eq!(
        result[0]["text"],
        world_text(&world, &format!("$WORK/a.pdf: a pdf document of {} bytes", pdf.len()))
    );
    assert_eq!((&result[1]["type"], &result[1]["source"]["type"]), (&json!("document"), &json!("base64")));
}

fn world_text(world: &TestEnv, text: &str) -> String {
    text.replace("$WORK", world.work().to_str().expect("the folder's name is text"))
}
