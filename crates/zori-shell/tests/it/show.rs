//! An analysis as text: one line per command.

use zori_shell::{Analysis, Command, CommandEffect, ShellContext, Target, TargetPath, Via, Word, analyse};

/// The world of the corpus.
pub fn context() -> ShellContext {
    ShellContext { cwd: "/ws".into(), home: "/home/u".into(), shell: zori_shell::Shell::Sh }
}

/// Analyses `text` and returns what was found.
pub fn show(text: &str) -> String {
    let analysis = analyse(text, &context());
    let mut lines: Vec<String> = Vec::new();
    for (index, command) in analysis.commands.iter().enumerate() {
        let line = line(command);
        let indent = "  ".repeat(depth(&analysis, index));
        let line = format!("{indent}{line}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.extend(analysis.unresolved.iter().map(|unresolved| format!("? {}", unresolved.why)));
    lines.extend(analysis.dangers.iter().map(|danger| format!("! {}", danger.id)));
    lines.join("\n")
}

fn depth(analysis: &Analysis, index: usize) -> usize {
    let mut at = index;
    let mut depth = 0;
    while let Some(parent) = analysis.commands[at].parent {
        at = parent;
        depth += 1;
    }
    depth
}

fn line(command: &Command) -> String {
    let words: Vec<String> = command
        .argv
        .iter()
        .map(|word| match word {
            Word::Literal(text) => text.clone(),
            Word::Opaque { shown } => format!("<{shown}>"),
        })
        .collect();
    let mut line = String::new();
    line.push_str(match command.via {
        None => "",
        Some(Via::Wrapper { privileged: true }) => "as root: ",
        Some(Via::Wrapper { privileged: false }) => "runs: ",
        Some(Via::Substitution) => "$: ",
        Some(Via::ExecOption) => "option: ",
        Some(Via::ShellText) => "text: ",
        Some(Via::PipeIntoShell) => "piped: ",
    });
    line.push_str(&format!("[{}] ", words.join("|")));
    line.push_str(match &command.effect {
        CommandEffect::ReadOnly => "XR",
        CommandEffect::FileOperation => "XF",
        CommandEffect::Other => "X",
        CommandEffect::Unresolved(_) => "XU",
    });
    if let CommandEffect::Unresolved(unresolved) = &command.effect {
        line.push_str(&format!(" ({})", unresolved.why));
    }
    for (sign, targets) in [("<", &command.reads), (">", &command.writes)] {
        for target in targets {
            line.push_str(&format!(" {sign}{}", place(target)));
        }
    }
    for host in &command.net {
        line.push_str(&format!(" @{host}"));
    }
    for why in &command.no_auto_approval {
        line.push_str(&format!(" !({why})"));
    }
    line
}

fn place(target: &Target) -> String {
    match &target.path {
        TargetPath::Known(path) => path.display().to_string(),
        TargetPath::Glob { folder, pattern } => format!("{}/{pattern}", folder.display()),
        TargetPath::Tree(tree) => format!("{}/**", tree.folder.display()),
        TargetPath::Unknown => "?".to_owned(),
    }
}
