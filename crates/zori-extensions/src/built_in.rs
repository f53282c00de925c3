//! The skills that come with the program (SK-9). A person calls them by a slash; no request has a byte of them until then.

/// A skill that is part of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct BuiltInSkill {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What it says.
    pub body: &'static str,
}

/// All of them, by name.
pub const BUILT_IN: &[BuiltInSkill] = &[
    BuiltInSkill {
        name: "skill-creator",
        about: "Write a skill, or mend one",
        body: include_str!("built_in/skill-creator.md"),
    },
    BuiltInSkill {
        name: "zori-setup",
        about: "Set zori up for this folder: instructions, rules, servers, what other agents left",
        body: include_str!("built_in/zori-setup.md"),
    },
];

/// Returns one by its name.
pub fn find(name: &str) -> Option<&'static BuiltInSkill> {
    BUILT_IN.iter().find(|skill| skill.name == name)
}

impl BuiltInSkill {
    /// Returns what goes along with a prompt that calls it.
    pub fn text(&self) -> String {
        format!("[skill {}]\n{}", self.name, self.body.trim_end())
    }
}
