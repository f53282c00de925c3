//! Build tools and package managers. They run what the project says, so none is a reader; listed are the options that
//! make them run something else.

use super::EffectKind;
use super::options::OptionGrammar;
use super::table::{Operands, OptionEffect, Program};

const fn tool(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    option_effects: &'static [(&'static str, OptionEffect)],
) -> Program {
    let grammar = OptionGrammar { short, long, stops_at_operand: false };
    Program { names, grammar, option_effects, operands: Operands::Text, kind: EffectKind::Other }
}

const CONFIG: OptionEffect = OptionEffect::Reconfigures("sets the tool's configuration");
const ELSEWHERE: OptionEffect = OptionEffect::Reconfigures("works on another project");
const PROGRAM: OptionEffect = OptionEffect::Reconfigures("names a program the tool runs");

pub const BUILDERS: &[Program] = &[
    tool(
        &["make", "gmake", "bmake"],
        "f:C:I:E:o:W:j::l::bBdehikLnpqrRsStvwm",
        "file= makefile= directory= include-dir= eval= environment-overrides old-file= what-if= jobs=? dry-run \
         always-make silent keep-going version help",
        &[
            ("f", ELSEWHERE),
            ("file", ELSEWHERE),
            ("makefile", ELSEWHERE),
            ("C", ELSEWHERE),
            ("directory", ELSEWHERE),
            ("I", ELSEWHERE),
            ("include-dir", ELSEWHERE),
            ("E", CONFIG),
            ("eval", CONFIG),
            ("e", CONFIG),
            ("environment-overrides", CONFIG),
        ],
    ),
    tool(&["ninja"], "C:f:j:k:l:nvd:t:w:h", "version verbose quiet", &[("C", ELSEWHERE), ("f", ELSEWHERE)]),
    tool(
        &["cargo"],
        "p:j:C:Z:F:vqhVr",
        "config= manifest-path= target-dir= package= features= all-features no-default-features release \
         profile= workspace exclude= all-targets lib bin= bins example= examples test= tests bench= benches \
         doc no-run no-fail-fast jobs= target= message-format= color= frozen locked offline quiet verbose \
         keep-going ignore-rust-version future-incompat-report timings=? lockfile-path= artifact-dir= out-dir= \
         root= path= git= help version list check all fix allow-dirty allow-staged open no-deps depth= edges= \
         invert=",
        &[
            ("config", CONFIG),
            ("Z", CONFIG),
            ("C", ELSEWHERE),
            ("manifest-path", ELSEWHERE),
            ("lockfile-path", ELSEWHERE),
            ("path", ELSEWHERE),
            ("target-dir", OptionEffect::Writes),
            ("artifact-dir", OptionEffect::Writes),
            ("out-dir", OptionEffect::Writes),
            ("root", OptionEffect::Writes),
        ],
    ),
    tool(
        &["npm", "pnpm", "yarn", "npx", "bun", "bunx"],
        "C:gw:Ddsqhvcp:",
        "prefix= script-shell= shell= userconfig= globalconfig= registry= dir= cwd= node-options= workspace= \
         workspaces if-present ignore-scripts silent save-dev global cache= git= viewer= editor= browser= \
         init-module= use-yarnrc= modules-folder= rc-file= config=",
        &[
            ("C", ELSEWHERE),
            ("prefix", ELSEWHERE),
            ("dir", ELSEWHERE),
            ("cwd", ELSEWHERE),
            ("script-shell", PROGRAM),
            ("shell", PROGRAM),
            ("git", PROGRAM),
            ("viewer", PROGRAM),
            ("editor", PROGRAM),
            ("browser", PROGRAM),
            ("node-options", CONFIG),
            ("userconfig", CONFIG),
            ("globalconfig", CONFIG),
            ("registry", CONFIG),
            ("cache", OptionEffect::Writes),
            ("init-module", PROGRAM),
            ("use-yarnrc", CONFIG),
            ("rc-file", CONFIG),
            ("config", CONFIG),
            ("modules-folder", OptionEffect::Writes),
        ],
    ),
    tool(
        &["pip", "pip3", "uv", "pipx"],
        "r:c:e:t:i:f:qvhUI",
        "requirement= constraint= editable= target= prefix= root= index-url= extra-index-url= find-links= \
         config-settings= global-option= build-option= python= log= cache-dir= src= proxy= cert= upgrade user \
         quiet no-deps",
        &[
            ("i", CONFIG),
            ("index-url", CONFIG),
            ("extra-index-url", CONFIG),
            ("f", CONFIG),
            ("find-links", CONFIG),
            ("config-settings", CONFIG),
            ("global-option", CONFIG),
            ("build-option", CONFIG),
            ("proxy", CONFIG),
            ("cert", CONFIG),
            ("python", PROGRAM),
            ("t", OptionEffect::Writes),
            ("target", OptionEffect::Writes),
            ("prefix", OptionEffect::Writes),
            ("root", OptionEffect::Writes),
            ("log", OptionEffect::Writes),
            ("cache-dir", OptionEffect::Writes),
            ("src", OptionEffect::Writes),
        ],
    ),
    tool(
        &["gradle", "gradlew", "mvn"],
        "p:b:c:I:g:f:s:D:P:qh",
        "project-dir= build-file= settings-file= init-script= gradle-user-home= file= settings= \
         global-settings= toolchains=",
        &[
            ("p", ELSEWHERE),
            ("project-dir", ELSEWHERE),
            ("b", ELSEWHERE),
            ("build-file", ELSEWHERE),
            ("f", ELSEWHERE),
            ("file", ELSEWHERE),
            ("c", CONFIG),
            ("settings-file", CONFIG),
            ("I", CONFIG),
            ("init-script", CONFIG),
            ("g", CONFIG),
            ("gradle-user-home", CONFIG),
            ("s", CONFIG),
            ("settings", CONFIG),
            ("global-settings", CONFIG),
            ("toolchains", CONFIG),
        ],
    ),
];
