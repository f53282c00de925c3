//! Options that stand between a program and its command: `docker --context x run`. A rule is about the command (RULE-3),
//! so it is matched without them, too.

use super::Call;
use super::git::tables::GLOBAL as GIT;
use super::options::OptionGrammar;

const fn options(short: &'static str, long: &'static str) -> OptionGrammar {
    OptionGrammar { short, long, stops_at_operand: true }
}

/// The options that take a value, by program. What is not listed is taken for a flag.
const PROGRAMS: &[(&[&str], OptionGrammar)] = &[
    (&["git"], GIT),
    (&["cargo"], options("qvC:Z:", "color= config= manifest-path= frozen locked offline")),
    (
        &["npm", "pnpm", "yarn", "bun"],
        options("C:sdgw:F:", "prefix= cwd= dir= filter= workspace= loglevel= userconfig="),
    ),
    (
        &["docker", "podman"],
        options("c:DH:l:v", "config= context= host= log-level= tlscacert= tlscert= tlskey="),
    ),
    (
        &["kubectl", "helm", "oc"],
        options("n:s:v:", "namespace= context= cluster= kubeconfig= server= user= token="),
    ),
    (&["gh", "glab"], options("R:", "repo= hostname=")),
    (&["systemctl", "journalctl"], options("H:M:t:p:q", "host= machine= type= property= root=")),
    (&["apt", "apt-get", "dnf", "yum"], options("c:o:t:qy", "config-file= option= target-release=")),
    (&["pip", "pip3", "uv", "poetry"], options("C:qv", "proxy= log= cache-dir= directory= project=")),
    (&["terraform", "tofu"], options("", "chdir=?")),
    (&["go"], options("C:", "")),
    (&["aws"], options("", "profile= region= endpoint-url= output=")),
    (&["gcloud"], options("", "project= account= configuration=")),
    (&["brew", "rustup", "make", "gmake", "svn", "hg"], options("C:f:R:", "directory= file= repository=")),
];

/// Returns how many arguments stand in front of the program's command; 0 if none do, or nothing follows.
pub fn count(call: &Call<'_>) -> usize {
    let Some((_, grammar)) = PROGRAMS.iter().find(|(names, _)| names.contains(&call.name)) else { return 0 };
    let toolchain =
        |at: usize| call.name == "cargo" && call.args.get(at).is_some_and(|arg| arg.text.starts_with('+'));
    let skip = usize::from(toolchain(0));
    let at = grammar.parse(&call.args[skip..]).rest.unwrap_or(0) + skip;
    if at < call.args.len() { at } else { 0 }
}
