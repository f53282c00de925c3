//! The skills of a session: loaded by name, by a query, or because a prompt means them (SK-4 to SK-8).

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::message::{Block, Message, Role, SKILL_HEAD};
use zori_core::text::prefix;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};
use zori_extensions::catalogue;
use zori_extensions::matching::Index;
use zori_extensions::skill::{self, MAX_BYTES, Skill};
use zori_extensions::skill_folder;
use zori_tools::toolset::ExternalTool;

/// The longest body that goes along with a prompt by itself.
const MAX_INJECTED: usize = 16 * 1024;
/// The longest file of a skill that the tool reads.
const MAX_FILE: u64 = 64 * 1024;
/// How many files of a skill are named.
const MAX_NAMED: usize = 50;
/// How many skills a query finds.
const MAX_FOUND: usize = 5;

/// How skills are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillSettings {
    /// How many bodies go along with a prompt by themselves; 0: none.
    pub inject: usize,
    /// How many bytes the catalogue may have.
    pub catalogue_bytes: usize,
    /// Whether parts of the program are left out, so that skills that need them fail.
    pub bare: bool,
}

/// The skills of a session.
pub struct Skills {
    skills: Vec<Skill>,
    settings: SkillSettings,
    /// Which secrets are there, by name.
    has_secret: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    index: OnceLock<Index>,
}

impl Skills {
    /// Makes them; `None` if there are none.
    pub fn new(
        skills: Vec<Skill>,
        settings: SkillSettings,
        has_secret: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Option<Arc<Self>> {
        (!skills.is_empty()).then(|| {
            Arc::new(Self { skills, settings, has_secret: Arc::new(has_secret), index: OnceLock::new() })
        })
    }

    /// Returns those of these names; `None` if there are none.
    pub fn only(&self, names: &[String]) -> Option<Arc<Self>> {
        let skills: Vec<Skill> =
            self.skills.iter().filter(|skill| names.contains(&skill.name)).cloned().collect();
        let has_secret = self.has_secret.clone();
        Self::new(skills, self.settings, move |name| has_secret(name))
    }

    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Returns one by its name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Returns what a model reads of all of them.
    pub fn catalogue(&self) -> String {
        catalogue::text(&self.skills.iter().collect::<Vec<_>>(), self.settings.catalogue_bytes)
    }

    /// Returns what a skill says, with the files beside it; an error is a sentence.
    pub fn load(&self, name: &str) -> Result<String, String> {
        let skill = self.get(name).ok_or_else(|| self.unknown(name))?;
        self.check(skill)?;
        let file = skill.file();
        let bytes = skill_folder::read_head(&file, MAX_BYTES)
            .and_then(|bytes| bytes.ok_or_else(|| "does not exist any more".to_owned()));
        let body =
            bytes.and_then(|bytes| skill::body(&bytes)).map_err(|why| format!("{} {why}", file.display()))?;
        let mut text = format!("{SKILL_HEAD}{name}]\n{body}");
        let files = skill_folder::files(&skill.folder, MAX_NAMED);
        if !files.is_empty() {
            let _ = write!(text, "\n\nFiles of this skill, in {}:", skill.folder.display());
            files.iter().take(MAX_NAMED).for_each(|file| {
                let _ = write!(text, "\n- {}", file.display());
            });
        }
        Ok(text)
    }

    /// Returns the bodies of the skills that a prompt means, but for those that the conversation has already.
    pub fn meant_by(&self, prompt: &str, conversation: &[Arc<Message>]) -> Vec<String> {
        if self.settings.inject == 0 {
            return Vec::new();
        }
        let found = self.index().matching(prompt, self.settings.inject);
        let mut texts = Vec::new();
        for skill in found.into_iter().map(|at| &self.skills[at]).filter(|skill| !skill.by_person_only) {
            if !is_in(conversation, &skill.name)
                && let Ok(text) = self.load(&skill.name)
            {
                texts.push(match text.len() > MAX_INJECTED {
                    true => format!("{}\n[cut; the tool `skill` has the rest]", prefix(&text, MAX_INJECTED)),
                    false => text,
                });
            }
        }
        texts
    }

    /// Returns the tool by which a model loads them.
    pub fn tool(self: &Arc<Self>) -> ExternalTool {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string", "description": "The skill"},
            "file": {"type": "string", "description": "One of its files, instead of its instructions"},
            "query": {"type": "string", "description": "Words to search for, instead of a name"},
        }});
        ExternalTool {
            spec: ToolSpec {
                name: "skill".to_owned(),
                description: "Load the instructions of a skill by its name, or one of its files.".to_owned(),
                schema: RawValue::from_string(schema.to_string()).expect("a value is JSON"),
            },
            tool: Arc::new(SkillTool(self.clone())),
        }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(&self.skills))
    }

    /// Says what a skill needs and does not have.
    fn check(&self, skill: &Skill) -> Result<(), String> {
        let missing = skill.requires.iter().find(|part| self.settings.bare || part.as_str() != "code-index");
        if let Some(part) = missing {
            let why = match self.settings.bare {
                true => "which `--bare` leaves out; the user has to run without `--bare`",
                false => "which this version does not have",
            };
            return Err(format!("the skill `{}` requires {part}, {why}", skill.name));
        }
        let secrets: Vec<_> = skill
            .secrets
            .iter()
            .filter(|name| !(self.has_secret)(name))
            .map(|name| format!("`{name}`"))
            .collect();
        match secrets.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "the skill `{}` needs secrets that are missing: {}; the user adds one with `zori vault set NAME`",
                skill.name,
                secrets.join(", ")
            )),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let near = self.index().nearest(name, MAX_FOUND);
        let near: Vec<_> = near.into_iter().map(|at| format!("`{}`", self.skills[at].name)).collect();
        match near.is_empty() {
            true => format!("there is no skill `{name}`"),
            false => format!("there is no skill `{name}`; near are {}", near.join(", ")),
        }
    }

    fn find(&self, query: &str) -> String {
        let found = self.index().nearest(query, MAX_FOUND);
        let line = |at: usize| format!("- {}: {}", self.skills[at].name, self.skills[at].description);
        match found.is_empty() {
            true => "no skill matches".to_owned(),
            false => found.into_iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }

    fn call(&self, args: &RawValue) -> Result<String, (ToolCode, String)> {
        let args: serde_json::Value = serde_json::from_str(args.get()).unwrap_or_default();
        // The names of Claude Code's tool are understood, too.
        let text =
            |keys: &[&str]| keys.iter().find_map(|key| args[*key].as_str()).filter(|text| !text.is_empty());
        let invalid = |why: String| (ToolCode::InvalidInput, why);
        let (name, file, query) = (text(&["name", "skill", "command"]), text(&["file"]), text(&["query"]));
        let Some(name) = name else {
            return match query {
                Some(query) => Ok(self.find(query)),
                None => Err(invalid("give `name` or `query`".to_owned())),
            };
        };
        let Some(file) = file else { return self.load(name).map_err(invalid) };
        let skill = self.get(name).ok_or_else(|| invalid(self.unknown(name)))?;
        self.check(skill).map_err(invalid)?;
        let bytes = skill_folder::read_inside(&skill.folder, Path::new(file), MAX_FILE)
            .map_err(|why| (ToolCode::PathError, format!("`{file}` {why}")))?;
        String::from_utf8(bytes).map_err(|_| (ToolCode::PathError, format!("`{file}` is not text")))
    }
}

/// Returns whether a conversation has the body of a skill beside a prompt.
fn is_in(conversation: &[Arc<Message>], name: &str) -> bool {
    let head = format!("{SKILL_HEAD}{name}]\n");
    let is_body = |block: &Block| matches!(block, Block::Text(text) if text.starts_with(&head));
    conversation.iter().any(|message| message.role == Role::User && message.blocks.iter().any(is_body))
}

/// The tool `skill`.
struct SkillTool(Arc<Skills>);

impl Tool for SkillTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let output = match self.0.call(args) {
            Ok(text) => {
                let data = json!({ "text": text }).to_string();
                ToolOutput { text: Some(text.into()), ..ToolOutput::success(&data) }
            }
            Err((code, why)) => ToolOutput::failure(code, why),
        };
        Box::pin(std::future::ready(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zori_extensions::command::Origin;

    fn skills(dir: &Path, bare: bool) -> Arc<Skills> {
        let write = |name: &str, more: &str, body: &str| {
            std::fs::create_dir_all(dir.join(name)).unwrap();
            let text = format!(
                "---\nname: {name}\ndescription: Fill {name} forms in documents\n{more}---\n{body}\n"
            );
            std::fs::write(dir.join(name).join(skill::FILE), &text).unwrap();
            skill::read(&dir.join(name), text.as_bytes(), Origin::User).unwrap()
        };
        let all = vec![
            write("pdf", "", "Use the script."),
            write("indexed", "x-requires: [code-index]\n", "Search."),
            write("secret", "x-requires-secrets: [TOKEN, OTHER]\n", "Ask."),
        ];
        std::fs::write(dir.join("pdf/run.sh"), "true").unwrap();
        let settings = SkillSettings { inject: 3, catalogue_bytes: 4096, bare };
        Skills::new(all, settings, |name| name == "OTHER").unwrap()
    }

    #[test]
    fn loaded_by_name_once_by_itself_and_from_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let skills = skills(dir.path(), false);
        let call = |args: &str| skills.call(&RawValue::from_string(args.to_owned()).unwrap());
        let body = call(r#"{"name":"pdf"}"#).unwrap();
        assert!(body.starts_with("[skill pdf]\nUse the script.\n\nFiles of this skill"), "{body}");
        assert!(body.ends_with("\n- run.sh"), "{body}");
        assert_eq!(call(r#"{"skill":"pdf","file":"run.sh"}"#), Ok("true".to_owned()));
        assert!(call(r#"{"name":"pdf","file":"../secret/SKILL.md"}"#).is_err());
        assert!(call(r#"{"query":"pdf"}"#).unwrap().starts_with("- pdf: "));
        assert!(call("{}").is_err());
        let meant = skills.meant_by("Fill the pdf forms", &[]);
        assert_eq!(meant.len(), 1);
        let said = [Arc::new(Message::user(&meant[0]))];
        assert_eq!(skills.meant_by("Fill the pdf forms", &said).len(), 0, "once a session");
    }

    /// SK-8.
    #[test]
    fn what_a_skill_cannot_do_without() {
        let dir = tempfile::tempdir().unwrap();
        let bare = skills(dir.path(), true);
        assert_eq!(
            bare.load("indexed"),
            Err("the skill `indexed` requires code-index, which `--bare` leaves out; the user has to run without `--bare`"
                .to_owned())
        );
        let skills = skills(dir.path(), false);
        assert!(skills.load("indexed").is_ok());
        assert_eq!(
            skills.load("secret"),
            Err("the skill `secret` needs secrets that are missing: `TOKEN`; the user adds one with `zori vault set NAME`".to_owned())
        );
        assert!(skills.load("nothing").is_err());
    }
}
