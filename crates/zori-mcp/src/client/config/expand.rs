//! `${VAR}` and `${VAR:-default}` in what others wrote, and `vault:` references (MCP-13). Once, and from the environment alone.

use std::borrow::Cow;

use super::{Source, Way};

/// Where values come from.
pub trait Variables {
    /// Returns a variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns whether a project's description may not have it: the program's own settings, and keys of providers.
    fn withheld(&self, name: &str) -> bool;

    /// Resolves a reference to the vault. An error says why it cannot be.
    fn vault(&self, name: &str) -> Result<String, String>;
}

/// Puts the values in. An error says why the server cannot be used.
pub(super) fn expand(way: &mut Way, source: Source, variables: &dyn Variables) -> Result<(), String> {
    let foreign = matches!(source, Source::Project | Source::Flag);
    let one = |text: &mut String| -> Result<(), String> {
        if foreign && let Cow::Owned(expanded) = expanded(text, source, variables)? {
            *text = expanded;
        }
        Ok(())
    };
    let value = |text: &mut String| -> Result<(), String> {
        if let Some(name) = text.strip_prefix("vault:") {
            if source == Source::Project {
                return Err(format!("a project cannot name `vault:{name}`"));
            }
            *text = variables.vault(name)?;
            return Ok(());
        }
        one(text)
    };
    match way {
        Way::Stdio { command, args, env, .. } => {
            one(command)?;
            args.iter_mut().try_for_each(one)?;
            env.values_mut().try_for_each(value)
        }
        Way::Http { url, headers, .. } => {
            one(url)?;
            headers.values_mut().try_for_each(value)
        }
    }
}

fn expanded<'t>(text: &'t str, source: Source, variables: &dyn Variables) -> Result<Cow<'t, str>, String> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            return Err(format!("`{text}` has a `${{` without its `}}`"));
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if source == Source::Project && variables.withheld(name) {
            return Err(format!("a project cannot have the variable `{name}`"));
        }
        match (variables.variable(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the variable `{name}` is not set")),
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}
