//! `curl` and `wget`: what they send, where to, and which files they read and write on the way.

use super::options::{OptionGrammar, ParsedOptions};
use super::{Call, EffectKind, ProgramEffects};
use crate::arg::{Arg, Rest};

/// curl 8.14.
const CURL: OptionGrammar = OptionGrammar {
    short: "#0123469aA:b:Bc:C:d:D:e:E:fF:gGh::H:iIjJkK:lLm:MnNo:OpP:qQ:r:RsSt:T:u:U:vVw:x:X:y:Y:z:Z:",
    long: "output= output-dir= config= dump-header= cookie-jar= cookie= upload-file= data= data-ascii= \
        data-binary= data-raw= data-urlencode= json= url-query= form= form-string= form-escape trace= \
        trace-ascii= trace-config= trace-time trace-ids stderr= silent location location-trusted fail \
        fail-with-body fail-early show-error show-headers request= request-target= header= proxy-header= user= \
        user-agent= referer= proxy= proxy-user= preproxy= noproxy= socks4= socks4a= socks5= socks5-hostname= \
        connect-to= resolve= doh-url= dns-servers= interface= unix-socket= abstract-unix-socket= next url= \
        insecure head get include remote-name remote-name-all remote-header-name remote-time netrc netrc-file= \
        netrc-optional key= key-type= cert= cert-type= cacert= capath= crlfile= pass= pinnedpubkey= proxy-key= \
        proxy-cert= proxy-cacert= etag-save= etag-compare= hsts= alt-svc= libcurl= write-out= max-time= \
        connect-timeout= retry= retry-delay= retry-max-time= retry-connrefused retry-all-errors compressed \
        verbose progress-bar no-progress-meter no-buffer http1.0 http1.1 http2 http2-prior-knowledge http3 \
        ipv4 ipv6 tlsv1.2 tlsv1.3 tls-max= ssl-reqd basic digest oauth2-bearer= aws-sigv4= range= continue-at= \
        limit-rate= max-filesize= max-redirs= time-cond= speed-limit= speed-time= create-dirs \
        create-file-mode= parallel parallel-max= path-as-is globoff quote= mail-from= mail-rcpt= \
        telnet-option= proto= proto-default= proto-redir= variable= expand-url= expand-data= engine= egd-file= \
        random-file= pubkey= hostpubsha256= krb= delegation= ftp-port= skip-existing rate= help=? manual \
        version disable",
    stops_at_operand: false,
};

/// wget 1.25.
const WGET: OptionGrammar = OptionGrammar {
    short: "Vhb4D:6e:o:a:dqvi:F:B:t:O:cNST:w:Q:P:E:U:r:l:kKmpA:R:H:I:X:n:x",
    long: "output-document= output-file= append-output= directory-prefix= input-file= execute= post-file= \
        body-file= post-data= body-data= method= use-askpass= save-cookies= quiet no-check-certificate header= \
        config= warc-file= load-cookies= certificate= private-key= ca-certificate= hsts-file= rejected-log= \
        recursive no-verbose continue spider timestamping no-clobber page-requisites convert-links no-parent \
        mirror tries= timeout= user-agent= show-progress",
    stops_at_operand: false,
};

/// Options whose value is a file that is written.
const CURL_WRITES: &[&str] = &[
    "o",
    "output",
    "output-dir",
    "D",
    "dump-header",
    "c",
    "cookie-jar",
    "trace",
    "trace-ascii",
    "stderr",
    "etag-save",
    "hsts",
    "alt-svc",
    "libcurl",
];

/// Options whose value is a file that is read.
const CURL_READS: &[&str] = &[
    "T",
    "upload-file",
    "K",
    "config",
    "netrc-file",
    "key",
    "cert",
    "E",
    "cacert",
    "capath",
    "crlfile",
    "proxy-key",
    "proxy-cert",
    "proxy-cacert",
    "etag-compare",
    "pubkey",
    "egd-file",
    "random-file",
];

/// Options whose value is a file behind an at sign, perhaps after a name.
const CURL_AT: &[&str] = &[
    "d",
    "data",
    "data-ascii",
    "data-binary",
    "data-urlencode",
    "json",
    "url-query",
    "F",
    "form",
    "H",
    "header",
    "proxy-header",
    "variable",
    "w",
    "write-out",
];

/// Options that send the request another way, or to another place than its address says.
const CURL_ELSEWHERE: &[&str] = &[
    "x",
    "proxy",
    "preproxy",
    "socks4",
    "socks4a",
    "socks5",
    "socks5-hostname",
    "connect-to",
    "resolve",
    "doh-url",
    "dns-servers",
    "unix-socket",
    "abstract-unix-socket",
    "next",
    "url",
    "expand-url",
    "expand-data",
    "K",
    "config",
    "engine",
    "Q",
    "quote",
    "t",
    "telnet-option",
    "netrc",
    "n",
    "netrc-optional",
];

/// Returns what one of them does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    if call.name == "curl" { curl(call) } else { wget(call) }
}

fn curl(call: &Call<'_>) -> ProgramEffects {
    let parsed = CURL.parse(call.args);
    let mut effects = transfer(&parsed, CURL_WRITES, CURL_READS);
    // A rule with a wildcard is about what is fetched, not about what is sent (RULE-4).
    let sends = |values: &[&str]| parsed.values(values).any(|value| value.text != "-");
    if sends(&["T", "upload-file", "netrc-file"]) {
        effects.no_auto_approval.push(SENDS);
    }
    for value in parsed.values(CURL_AT) {
        if let Some(at) = value.text.find(['@', '<']) {
            let file = value.tail(at + 1);
            if file.literal() != Some("-") {
                effects.no_auto_approval.push(SENDS);
            }
            effects.reads.push(file);
        } else if value.literal().is_none() {
            effects.no_auto_approval.push("sends what is not known");
        }
    }
    // `%output{FILE}` in what is printed about the transfer.
    if parsed.values(&["w", "write-out"]).any(|value| value.text.contains("%output")) {
        effects.writes.push(Arg::unknown("(named by --write-out)"));
    }
    // A cookie without `=` is a file of cookies.
    effects.reads.extend(parsed.values(&["b", "cookie"]).filter(|value| !value.text.contains('=')).cloned());
    if parsed.has(&["O", "remote-name", "remote-name-all", "J", "remote-header-name"]) {
        effects.writes.push(any_name_here());
    }
    if parsed.has(CURL_ELSEWHERE) {
        effects.no_auto_approval.push("an option that names another place or configuration");
    }
    if parsed.has_unknown_option {
        effects.no_auto_approval.push("an option that is not known");
    }
    if parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become an option");
    }
    addresses(&parsed, &mut effects);
    effects
}

/// Why a transfer that is allowed by a rule with a wildcard is asked about.
const SENDS: &str = "sends a file";

fn wget(call: &Call<'_>) -> ProgramEffects {
    let parsed = WGET.parse(call.args);
    let writes = [
        "O",
        "output-document",
        "o",
        "output-file",
        "a",
        "append-output",
        "P",
        "directory-prefix",
        "save-cookies",
        "warc-file",
        "hsts-file",
        "rejected-log",
    ];
    let reads = [
        "i",
        "input-file",
        "post-file",
        "body-file",
        "config",
        "load-cookies",
        "certificate",
        "private-key",
        "ca-certificate",
    ];
    let mut effects = transfer(&parsed, &writes, &reads);
    if parsed.has(&["post-file", "body-file"]) {
        effects.no_auto_approval.push(SENDS);
    }
    if !parsed.has(&["O", "output-document", "spider"]) {
        effects.writes.push(any_name_here());
    }
    if parsed.has(&["e", "execute", "use-askpass", "config", "i", "input-file"]) {
        effects.no_auto_approval.push("reads another configuration");
    }
    if parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become an option");
    }
    addresses(&parsed, &mut effects);
    effects
}

fn transfer(parsed: &ParsedOptions, writes: &[&str], reads: &[&str]) -> ProgramEffects {
    ProgramEffects {
        kind: EffectKind::Other,
        writes: parsed.values(writes).filter(|arg| arg.text != "-").cloned().collect(),
        reads: parsed.values(reads).filter(|arg| arg.text != "-" && arg.text != ".").cloned().collect(),
        net: parsed.operands.iter().map(|arg| arg.shown.clone()).collect(),
        ..ProgramEffects::default()
    }
}

/// A rule with a wildcard is about one address.
fn addresses(parsed: &ParsedOptions, effects: &mut ProgramEffects) {
    if parsed.operands.len() > 1 {
        effects.no_auto_approval.push("more than one address");
    }
    for operand in &parsed.operands {
        let scheme = operand.text.get(..7).unwrap_or_default();
        if scheme.eq_ignore_ascii_case("file://") {
            let path = operand.tail(7);
            let host = path.text.find('/').unwrap_or(0);
            effects.reads.push(path.tail(host));
        }
    }
}

/// A file in the current directory whose name the other side chooses.
fn any_name_here() -> Arg {
    Arg { rest: Rest::Glob, pattern: "*".to_owned(), ..Arg::known("./") }
}
