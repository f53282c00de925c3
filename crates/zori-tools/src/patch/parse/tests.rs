use super::*;

fn check(patch: &str) -> String {
    match parse(patch) {
        Ok(files) => files.iter().map(|file| format!("{}\n", describe(file))).collect(),
        Err(bad) => bad.to_string(),
    }
}

/// One line for a file, its hunks as their lines with signs, separated by `|`.
fn describe(file: &FilePatch) -> String {
    let action = match &file.action {
        Action::Add(content) => format!("add {content:?}"),
        Action::Delete => "delete".to_owned(),
        Action::Update { hunks, move_to } => {
            let hunks: Vec<String> = hunks.iter().map(hunk).collect();
            let to = move_to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
            format!("update{to} {}", hunks.join(" || "))
        }
    };
    format!("{}: {action}", file.path)
}

fn hunk(hunk: &Hunk) -> String {
    let lines: Vec<String> = hunk
        .lines
        .iter()
        .map(|line| match line {
            HunkLine::Keep(text) => format!(" {text}"),
            HunkLine::Remove(text) => format!("-{text}"),
            HunkLine::Add(text) => format!("+{text}"),
        })
        .collect();
    let mut head = String::new();
    if let Some(line) = hunk.line {
        head.push_str(&format!("@{line} "));
    }
    for seek in &hunk.seek {
        head.push_str(&format!("[{seek}] "));
    }
    let end = if hunk.at_end { " $" } else { "" };
    let bare = if hunk.bare_end { " \\" } else { "" };
    format!("{head}{}{end}{bare}", lines.join("|"))
}

#[test]
fn git_diffs() {
    let patch = "\
diff --git a/src/a.rs b/src/a.rs
index 111..222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@ fn x() {
 one
-two
+zwei
 three
@@ -10 +10,2 @@
-ten
+zehn
+elf
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+eins
+zwei
diff --git a/empty b/empty
new file mode 100644
index 000..e69
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/from.txt b/to.txt
similarity index 100%
rename from from.txt
rename to to.txt
diff --git a/x b/y
similarity index 90%
rename from x
rename to y
--- a/x
+++ b/y
@@ -1 +1 @@
-a
+b
";
    insta::assert_snapshot!(check(patch), @r#"
    src/a.rs: update @1  one|-two|+zwei| three || @10 -ten|+zehn|+elf \
    new.txt: add "eins\nzwei\n"
    empty: add ""
    old.txt: delete
    from.txt: update to to.txt 
    x: update to y @1 -a|+b
    "#);
}

#[test]
fn diffs_written_by_hand() {
    // Wrong counts, no prefixes, an empty line without its blank, a removed line that looks like a header, a fence.
    let patch =
        "Here it is:\n```diff\n--- f.txt\t2024-01-01\n+++ f.txt\n@@ -1,9 +1,9 @@\n a\n\n--- x\n+++ y\n```\n";
    insta::assert_snapshot!(check(patch), @"f.txt: update @1  a| |--- x|+++ y");
    let patch = "--- f.txt\t2024-01-01\n+++ f.txt\n@@ -1,3 +1,3 @@\n a\n\n--- x\n+++ y\n--- \"a/g\\303\\266.txt\"\n+++ \"b/g\\303\\266.txt\"\n@@ -1 +1 @@\n-1\n+2\n-- \nmail\n";
    insta::assert_snapshot!(check(patch), @r"
    f.txt: update @1  a| |--- x|+++ y
    gö.txt: update @1 -1|+2|-- 
    ");
}

#[test]
fn the_other_form() {
    let patch = "\
*** Begin Patch
*** Add File: new.txt
+eins

+drei
*** Update File: src/a.rs
*** Move to: src/b.rs
@@ class A
@@ fn x()
 one
-two
+zwei

@@ -7,2 +7,2 @@
-sieben
*** End of File
*** Delete File: old.txt

*** End Patch
";
    insta::assert_snapshot!(check(patch), @r#"
    new.txt: add "eins\n\ndrei\n"
    src/a.rs: update to src/b.rs [class A] [fn x()]  one|-two|+zwei|  || @7 -sieben $
    old.txt: delete
    "#);
}

#[test]
fn no_patches() {
    let cases = [
        ("", PatchError::Neither.to_string()),
        ("hello", PatchError::Neither.to_string()),
        ("*** Begin Patch\n*** End Patch", "the patch changes no file".into()),
        ("*** Begin Patch\n*** Delete File: x", "the last line must be `*** End Patch`".into()),
        (
            "*** Begin Patch\nnonsense\n*** End Patch",
            "line 2 of the patch: expected `*** Add File:`, `*** Delete File:`, `*** Update File:` or `*** End Patch`"
                .into(),
        ),
        (
            "*** Begin Patch\n*** Add File: x\n+a\nb\n*** End Patch",
            "line 4 of the patch: each line of an added file starts with `+`".into(),
        ),
        (
            "*** Begin Patch\n*** Update File: x\n*** End Patch",
            "line 2 of the patch: an update needs at least one changed line".into(),
        ),
        ("@@ -1 +1 @@\n-a\n", "line 1 of the patch: a hunk without `--- FILE` and `+++ FILE` before it".into()),
        (
            "--- a/x\n+++ b/x\n",
            "line 1 of the patch: no hunk (`@@ -LINE,COUNT +LINE,COUNT @@`) follows".into(),
        ),
        ("--- a/x\n+++ b/x\n@@ what @@\n", "line 3 of the patch: a hunk starts with `@@ -LINE,COUNT +LINE,COUNT @@`".into()),
        ("--- /dev/null\n+++ /dev/null\n", "line 1 of the patch: both names are /dev/null".into()),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "line 2 of the patch: binary files cannot be patched".into()),
    ];
    for (patch, message) in cases {
        assert_eq!(check(patch), message, "{patch}");
    }
}
