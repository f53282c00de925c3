//! `memory graph`: what the background passes made of a project's sessions: facts, what they are about, and what sessions were about.

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::external::External;
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::kind::Kind;
use zori_contract::reply::Reply;
use zori_core::text::one_line;
use zori_index::{Entity, Fact, IndexError, ProjectStore, SessionSummary};

use super::place_of;
use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::memory::unusable;

const ABOUT: Positional =
    Positional::optional("NAME", Kind::Text, "What the facts are about; without it: all");

/// How many of each are shown.
const MOST: usize = 200;
const SUMMARIES: usize = 20;
/// How much of a summary a line shows.
const SHOWN_CHARS: usize = 100;

pub const GRAPH: Command<App> = Command {
    args: const { &[ABOUT] },
    examples: &[
        example("what is known, and of what", "zori memory graph"),
        example("about one thing", "zori memory graph parser"),
    ],
    output_schema: r#"{"type":"object","required":["facts","entities","sessions","_source","_trusted"],"properties":{
        "facts":{"type":"array","items":{"type":"object","required":["source","relation","target","fact","confidence","holds","message"]}},
        "entities":{"type":"array","items":{"type":"object","required":["name","type","facts"]}},
        "sessions":{"type":"array","items":{"type":"object","required":["session","summary"]}}}}"#,
    ..Command::new(
        &["memory", "graph"],
        "Show what is known of things in this project, and what sessions were about",
        graph,
    )
};

/// What is shown.
#[derive(Default)]
struct Known {
    facts: Vec<Fact>,
    entities: Vec<Entity>,
    sessions: Vec<SessionSummary>,
}

impl Known {
    fn of(store: &ProjectStore, about: Option<&str>) -> Result<Self, IndexError> {
        let facts = store.facts(about, MOST)?;
        let entities = store.entities(MOST)?;
        let named = |entity: &Entity| {
            about.is_none() || facts.iter().any(|fact| [&fact.source, &fact.target].contains(&&entity.name))
        };
        Ok(Self {
            entities: entities.into_iter().filter(named).collect(),
            sessions: if about.is_none() { store.summaries(SUMMARIES)? } else { Vec::new() },
            facts,
        })
    }
}

fn graph(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let store = place_of(cx)?.read().map_err(|error| unusable(&error))?;
    let known = store.map(|store| Known::of(&store, args.text(&ABOUT))).transpose();
    let known = known.map_err(|error| unusable(&error))?.unwrap_or_default();
    Ok(Reply::one(External(data(&known))).text(text(&known)))
}

fn data(known: &Known) -> Value {
    let facts: Vec<Value> = known
        .facts
        .iter()
        .map(|fact| {
            json!({"source": fact.source, "relation": fact.relation, "target": fact.target, "fact": fact.fact,
                "confidence": fact.confidence, "holds": fact.valid_to.is_none(), "message": fact.message})
        })
        .collect();
    let entities: Vec<Value> = known
        .entities
        .iter()
        .map(|entity| json!({"name": entity.name, "type": entity.kind, "facts": entity.facts}))
        .collect();
    let sessions: Vec<Value> =
        known.sessions.iter().map(|one| json!({"session": one.session, "summary": one.text})).collect();
    json!({"facts": facts, "entities": entities, "sessions": sessions})
}

fn text(known: &Known) -> String {
    let mut lines = Vec::new();
    for fact in &known.facts {
        let over = if fact.valid_to.is_some() { "  (no longer)" } else { "" };
        let Fact { source, relation, target, fact, message, .. } = fact;
        lines.push(
            one_line(&format!("{source} --{relation}--> {target}  {fact}  [{message}]{over}")).into_owned(),
        );
    }
    for entity in &known.entities {
        let facts = if entity.facts == 1 { "fact" } else { "facts" };
        lines.push(
            one_line(&format!("{} ({}): {} {facts}", entity.name, entity.kind, entity.facts)).into_owned(),
        );
    }
    for one in &known.sessions {
        let summary: String = one_line(&one.text).chars().take(SHOWN_CHARS).collect();
        lines.push(format!("{}  {summary}", one.session));
    }
    match lines.is_empty() {
        true => "Nothing is known yet of things in this project.".to_owned(),
        false => lines.join("\n"),
    }
}
