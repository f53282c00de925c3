//! The page of settings: the keys of `config.toml`.

use zori::config::{KEYS, Kind};

use super::cell;

/// Returns the page.
pub fn page() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         `zori config path` says where `config.toml` is; `zori config init` writes one in which every key is a comment.\n\
         A flag wins over an environment variable, that over the file, that over the default.\n\
         API keys are never read from the file: `ANTHROPIC_API_KEY` holds it.\n\n\
         | key | type | default or example | meaning |\n|---|---|---|---|\n",
    );
    for key in KEYS {
        let kind = match key.kind {
            Kind::Text => "string".to_owned(),
            Kind::Choice(choices) => choices.iter().map(|c| format!("`\"{c}\"`")).collect::<Vec<_>>().join(", "),
            Kind::Count(min, max) => format!("{min} to {max}"),
            Kind::Number => "number".to_owned(),
            Kind::Flag => "`true`, `false`".to_owned(),
        };
        page.push_str(&format!("| `{}` | {kind} | `{}` | {} |\n", key.name, cell(key.example), cell(key.about)));
    }
    page.push_str(
        "\n## Environment\n\n\
         | variable | meaning |\n|---|---|\n\
         | `ZORI_HOME` | the base directory; else `$XDG_CONFIG_HOME/zori`, else `~/.config/zori` |\n\
         | `ANTHROPIC_API_KEY` | the key |\n\
         | `ANTHROPIC_BASE_URL` | another address for the provider |\n\
         | `ZORI_OUTPUT` | what commands print: `plain` |\n\
         | `ZORI_AGENT` | `1`: nobody is there to ask, as with `CI` |\n\
         | `NO_COLOR` | no colour |\n\
         | `SSL_CERT_FILE` | further certificate authorities, as PEM |\n\
         | `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY` | proxies |\n",
    );
    page
}
