//! Documents: exports, printed as they are, and nothing in them more than text. Handoffs are in `handoff.rs`.

use super::{envelope, with_session};

/// HO-9: keys of this process, and whatever looks like a secret.
#[test]
fn secrets_do_not_leave() {
    let mut world = with_session();
    let key = "sk-ant-api03-0123456789abcdefghij";
    world.set_var("ANTHROPIC_API_KEY", key);
    crate::sessions::put_session(
        &world,
        "k",
        &format!("{{\"type\":\"message\",\"role\":\"user\",\"text\":\"my key is {key}\"}}\n"),
    );
    for args in [
        &["handoff", "--goal", "x", "--from-session", "k"][..],
        &["sessions", "export", "k"],
        &["sessions", "export", "k", "--to", "html"],
        &["sessions", "export", "k", "--to", "json"],
    ] {
        let text = world.run(args).success().stdout();
        assert!(!text.contains(key) && text.contains("[REDACTED]"), "{args:?}: {text}");
    }
}

/// The page parses, refers to nothing outside, and every text in it is escaped.
#[test]
fn a_page_that_needs_nothing_else() {
    let world = with_session();
    let page = world.run(&["sessions", "export", "s", "--to", "html"]).success().stdout();
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{page}");
    assert!(page.contains("Fix &lt;b&gt;the parser&lt;/b&gt; &amp; tell me"), "{page}");
    for outside in
        ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "<img"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(balance(&page), Vec::<String>::new());
}

/// Returns the tags that are not closed, or closed without having been opened.
fn balance(page: &str) -> Vec<String> {
    let (mut open, mut wrong) = (Vec::new(), Vec::new());
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(closed) if open.last() == Some(&closed) => drop(open.pop()),
            Some(closed) => wrong.push(format!("/{closed}")),
            None if matches!(name, "!DOCTYPE" | "meta") => {}
            None => open.push(name),
        }
    }
    wrong.extend(open.iter().map(|name| (*name).to_owned()));
    wrong
}

#[test]
fn an_export_to_read() {
    let world = with_session();
    let text = world.run(&["sessions", "export"]).success().stdout();
    assert!(
        text.starts_with("# Session s\n\n### Session (schema v1)\n\n### You\nFix <b>the parser</b>"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&world.run(&["sessions", "export", "s", "--to", "json"]).success().stdout())
            .unwrap();
    assert_eq!((&json["id"], json["events"].as_array().unwrap().len()), (&serde_json::json!("s"), 8));
}

/// The newest first, any case of letters, and only what was said.
#[test]
fn a_search() {
    let world = with_session();
    let found = envelope(&world.run(&["sessions", "search", "PARSER"]).success());
    let hits: Vec<_> = found["data"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
    assert_eq!(hits, ["s:2", "s:4"]);
    assert_eq!(found["data"][0]["_trusted"], false);
    let none = world.run(&["sessions", "search", "nothing of the kind", "-o", "plain"]).success();
    assert_eq!(none.stdout(), "Nobody said `nothing of the kind`.\n");
}
