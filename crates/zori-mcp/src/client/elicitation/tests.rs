use super::*;
use crate::client::config::{Source, Way};

fn server(answers: Value) -> ServerConfig {
    let way = Way::Stdio {
        command: "s".to_owned(),
        args: Vec::new(),
        env: Default::default(),
        env_pass: Vec::new(),
        cwd: None,
    };
    let answers = answers.as_object().unwrap().clone().into_iter().collect();
    ServerConfig { answers, ..ServerConfig::new("s".to_owned(), Source::User, way) }
}

fn form(properties: Value, required: Value) -> Value {
    json!({"message": "m", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
}

fn yes(answers: Value, params: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answer = runtime.block_on(answer(&server(answers), &Elicits::Yes, None, params));
    serde_json::to_value(answer).unwrap()
}

/// MCP-70, field by field.
#[test]
fn with_yes_nothing_is_invented() {
    let none = json!({});
    let of = |schema: Value| yes(json!({}), &form(json!({ "f": schema }), json!(["f"])));
    assert_eq!(of(json!({"type": "string", "default": "d"}))["content"], json!({"f": "d"}));
    assert_eq!(of(json!({"type": "boolean"}))["content"], json!({"f": true}));
    assert_eq!(of(json!({"type": "string", "enum": ["only"]}))["content"], json!({"f": "only"}));
    assert_eq!(of(json!({"type": "string", "enum": ["a", "b"]})), json!({"action": "decline"}));
    assert_eq!(of(json!({"type": "string"})), json!({"action": "decline"}));
    let optional = form(json!({"f": {"type": "string"}}), json!([]));
    assert_eq!(yes(none, &optional), json!({"action": "accept", "content": {}}));
    let asked = form(json!({"f": {"type": "integer"}}), json!(["f"]));
    assert_eq!(yes(json!({"f": 7}), &asked)["content"], json!({"f": 7}));
    let secret = form(json!({"api_key": {"type": "string"}}), json!(["api_key"]));
    assert_eq!(
        yes(json!({"api_key": "k"}), &secret),
        json!({"action": "accept", "content": {"api_key": "k"}, "_meta": {"zori/warned": true}})
    );
    let number = form(json!({"f": {"type": "integer"}}), json!(["f"]));
    assert_eq!(yes(json!({"f": "seven"}), &number), json!({"action": "decline"}), "it does not fit");
}

/// A client that shows whole forms.
struct Shows(Value, std::sync::Mutex<String>);

impl Forms for Shows {
    fn fill_in<'a>(&'a self, form: Form<'a>) -> BoxFuture<'a, Result<Value, String>> {
        *self.1.lock().unwrap() = form.message.to_owned();
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// MCP-72, NFR-008: a client gets the form whole, with the warning, and its answer is checked.
#[test]
fn a_client_that_shows_forms() {
    let schema = json!({"name": {"type": "string"}, "api_key": {"type": "string"}, "n": {"type": "integer", "default": 1}});
    let params = form(schema, json!(["name"]));
    let shown = |answer_with: Value| {
        let shows = Arc::new(Shows(answer_with, Default::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let elicits = Elicits::Client(shows.clone());
        let answer = runtime.block_on(answer(&server(json!({})), &elicits, None, &params));
        let message = shows.1.lock().unwrap().clone();
        (message, serde_json::to_value(answer).unwrap())
    };
    let (message, answer) =
        shown(json!({"action": "accept", "content": {"name": "Ada", "api_key": "k", "other": 1}}));
    assert_eq!(message, "WARNING: `api_key` looks like a secret, and goes to the MCP server `s`.\nm");
    assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada", "api_key": "k", "n": 1}}));
    for (given, wanted) in [
        (json!({"action": "accept", "content": {"name": 7}}), "decline"),
        (json!({"action": "accept", "content": {}}), "decline"),
        (json!({"action": "accept"}), "decline"),
        (json!({"action": "decline"}), "decline"),
        (json!({"action": "cancel"}), "cancel"),
        (json!("yes"), "decline"),
    ] {
        assert_eq!(shown(given.clone()).1, json!({ "action": wanted }), "{given}");
    }
}

#[test]
fn what_is_no_form_is_declined() {
    let nested = form(json!({"f": {"type": "object"}}), json!([]));
    assert_eq!(yes(json!({}), &nested), json!({"action": "decline"}));
    let many: Map<String, Value> = (0..200).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    assert_eq!(yes(json!({}), &form(many.into(), json!([]))), json!({"action": "decline"}));
    assert_eq!(yes(json!({}), &json!({"mode": "url", "url": "https://x"})), json!({"action": "decline"}));
}

/// Somebody who gives these answers, one form after another, and hears of warnings.
#[derive(Default)]
struct Typist {
    answers: std::sync::Mutex<Vec<Option<Vec<&'static str>>>>,
    heard: std::sync::Mutex<Vec<String>>,
}

impl AskUser for Typist {
    fn answers(&self) -> bool {
        true
    }

    fn ask(&self, choices: Vec<Choice>) -> BoxFuture<'_, Option<Vec<String>>> {
        let asked = choices.iter().map(|choice| choice.question.clone()).collect::<Vec<_>>().join(" | ");
        self.heard.lock().unwrap().push(asked);
        let answers = self.answers.lock().unwrap().remove(0);
        let said =
            answers.map(|all| choices.iter().zip(all).map(|(choice, text)| choice.answer(text)).collect());
        Box::pin(std::future::ready(said))
    }

    fn warn(&self, text: String) {
        self.heard.lock().unwrap().push(text);
    }
}

/// Returns the answer to a form, and what was shown.
fn typed(params: &Value, answers: &[Option<&[&'static str]>]) -> (Value, Vec<String>) {
    let answers = answers.iter().map(|one| one.map(<[_]>::to_vec)).collect();
    let typist = Arc::new(Typist { answers: std::sync::Mutex::new(answers), ..Typist::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answer =
        runtime.block_on(answer(&server(json!({})), &Elicits::Somebody, Some(typist.clone()), params));
    let heard = typist.heard.lock().unwrap().clone();
    (serde_json::to_value(answer).unwrap(), heard)
}

#[test]
fn what_is_entered_is_checked_and_keeps_its_raw_name() {
    let pets = json!({"anyOf": [{"const": "c", "title": "Cat, tame"}, {"const": "d", "title": "Dog"}]});
    let params = form(
        json!({"na\u{1b}[31mme": {"type": "string"}, "age": {"type": "integer"}, "pets": {"type": "array", "items": pets}}),
        json!(["age"]),
    );
    let (answer, heard) = typed(&params, &[Some(&["x", "7", "2 1", "1"])]);
    assert_eq!(
        heard,
        [
            "The MCP server `s` asks: m\nna\\x1b[31mme (may stay empty) | age | pets (may stay empty) | Send this to `s`?"
        ]
    );
    let content = json!({"na\u{1b}[31mme": "x", "age": 7, "pets": ["d", "c"]});
    assert_eq!(answer, json!({"action": "accept", "content": content}));
    assert_eq!(
        typed(&params, &[Some(&["x", "7", "Dog, Cat, tame", "send"])]).0["content"]["pets"],
        json!(["d", "c"])
    );
    // What does not fit is asked for again, and what was right is kept.
    let (answer, heard) =
        typed(&params, &[Some(&["x", "seven", "", "1"]), Some(&["", "1"]), Some(&["8", "1"])]);
    assert_eq!(answer, json!({"action": "accept", "content": {"na\u{1b}[31mme": "x", "age": 8}}));
    assert_eq!(
        heard[1..],
        [
            "The MCP server `s` asks: `age` takes a whole number\nage | Send this to `s`?",
            "The MCP server `s` asks: `age` has to be filled in\nage | Send this to `s`?",
        ]
    );
    let never = Some(&["x", "seven", "", "1"][..]);
    let (answer, heard) = typed(&params, &[never, Some(&["x", "1"]), Some(&["x", "1"])]);
    assert_eq!(answer, json!({"action": "decline"}));
    assert_eq!(heard[3], "the form of the MCP server `s` is declined: `age` takes a whole number");
}

/// MCP-71: a form ends with send, decline or cancel.
#[test]
fn how_a_form_ends() {
    let params = form(json!({"a": {"type": "string", "default": "d"}}), json!(["a"]));
    for (answers, wanted) in [
        (Some(&["", "1"][..]), json!({"action": "accept", "content": {"a": "d"}})),
        (Some(&["x", "2"]), json!({"action": "decline"})),
        (Some(&["x", "3"]), json!({"action": "cancel"})),
        (Some(&["x", ""]), json!({"action": "cancel"})),
        (Some(&[]), json!({"action": "accept", "content": {"a": "d"}})),
        (None, json!({"action": "decline"})),
    ] {
        assert_eq!(typed(&params, &[answers]).0, wanted, "{answers:?}");
    }
    let empty = form(json!({}), json!([]));
    assert_eq!(typed(&empty, &[Some(&["1"])]).0, json!({"action": "accept", "content": {}}));
    assert_eq!(typed(&empty, &[Some(&["2"])]).0, json!({"action": "decline"}));
}

/// MCP-70: a page is nobody's to open, and its address is shown.
#[test]
fn a_page_is_declined_and_shown() {
    let params = json!({"mode": "url", "url": "https://x.example/\u{1b}[2J", "message": "m"});
    let (answer, heard) = typed(&params, &[]);
    assert_eq!(answer, json!({"action": "decline"}));
    assert_eq!(
        heard,
        ["the MCP server `s` wants a page to be opened, which is declined: https://x.example/\\x1b[2J"]
    );
}

#[test]
fn names_that_tell_a_secret() {
    for name in ["password", "apiKey", "api_key", "GITHUB-TOKEN", "pin"] {
        assert!(is_sensitive(name), "{name}");
    }
    for name in ["monkey", "pinned", "author", "username"] {
        assert!(!is_sensitive(name), "{name}");
    }
}
