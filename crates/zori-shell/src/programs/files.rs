//! Programs that write files named on their command line. Plain ones are file operations; those that change who may do
//! what, or remove, are more.

use super::EffectKind;
use super::options::OptionGrammar;
use super::table::{Operands, OptionEffect, Program};

const fn program(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    kind: EffectKind,
    option_effects: &'static [(&'static str, OptionEffect)],
) -> Program {
    Program {
        names,
        grammar: OptionGrammar { short, long, stops_at_operand: false },
        option_effects,
        operands,
        kind,
    }
}

const ARCHIVE_RUNS: &str = "starts a program its options do not name";

pub const FILES: &[Program] = &[
    program(
        &["mkdir"],
        "m:pvZ",
        "mode= parents verbose context=? help version",
        Operands::Write,
        EffectKind::FileOperation,
        &[],
    ),
    program(
        &["touch"],
        "acd:fhmr:t:",
        "no-create date= no-dereference reference= time= help version",
        Operands::Write,
        EffectKind::FileOperation,
        &[("r", OptionEffect::Reads), ("reference", OptionEffect::Reads)],
    ),
    program(
        &["cp"],
        "abdfHilLnprRsS:t:TuvxZP",
        "archive attributes-only backup=? copy-contents debug force interactive link dereference no-clobber \
         no-dereference preserve=? no-preserve= parents recursive reflink=? remove-destination sparse= \
         strip-trailing-slashes symbolic-link suffix= target-directory= no-target-directory update=? verbose \
         one-file-system context=? help version",
        Operands::ReadThenWrite,
        EffectKind::FileOperation,
        &[("t", OptionEffect::Writes), ("target-directory", OptionEffect::Writes)],
    ),
    program(
        &["mv"],
        "bfinS:t:TuvZ",
        "backup=? debug exchange force interactive no-clobber no-copy strip-trailing-slashes suffix= \
         target-directory= no-target-directory update=? verbose context help version",
        Operands::Move,
        EffectKind::FileOperation,
        &[("t", OptionEffect::Writes), ("target-directory", OptionEffect::Writes)],
    ),
    program(
        &["ln", "install", "link"],
        "bcCdDfFg:iLm:no:pPrsS:t:TvZ",
        "backup=? compare directory force group= interactive logical mode= no-dereference owner= physical \
         preserve-timestamps relative strip strip-program= suffix= symbolic target-directory= \
         no-target-directory verbose preserve-context context=? help version",
        Operands::ReadThenWrite,
        EffectKind::Other,
        &[
            ("t", OptionEffect::Writes),
            ("target-directory", OptionEffect::Writes),
            ("strip-program", OptionEffect::Runs),
        ],
    ),
    program(
        &["rmdir", "unlink"],
        "pv",
        "ignore-fail-on-non-empty parents verbose help version",
        Operands::Write,
        EffectKind::FileOperation,
        &[],
    ),
    program(
        &["rm"],
        "dfiIrRv",
        "dir force interactive=? no-preserve-root one-file-system preserve-root=? recursive verbose help \
         version",
        Operands::Write,
        EffectKind::FileOperation,
        &[
            ("r", OptionEffect::Changes),
            ("R", OptionEffect::Changes),
            ("recursive", OptionEffect::Changes),
            ("no-preserve-root", OptionEffect::Changes),
        ],
    ),
    program(
        &["shred"],
        "fn:s:uvxz",
        "force verbose iterations= random-source= size= remove=? exact zero help version",
        Operands::Write,
        EffectKind::Other,
        &[("random-source", OptionEffect::Reads)],
    ),
    program(
        &["chmod", "chown", "chgrp"],
        "cfvRHLPh",
        "changes silent quiet verbose dereference no-dereference from= no-preserve-root preserve-root \
         reference= recursive help version",
        Operands::TextThenWrite,
        EffectKind::Other,
        &[("reference", OptionEffect::Reads)],
    ),
    program(
        &["tee"],
        "aip",
        "append ignore-interrupts output-error=? help version",
        Operands::Write,
        EffectKind::FileOperation,
        &[],
    ),
    program(
        &["truncate"],
        "cor:s:",
        "no-create io-blocks reference= size= help version",
        Operands::Write,
        EffectKind::Other,
        &[("r", OptionEffect::Reads), ("reference", OptionEffect::Reads)],
    ),
    program(
        &["split", "csplit"],
        "a:b:C:d::en:l:t:u:x::f:ksqz",
        "suffix-length= additional-suffix= bytes= line-bytes= numeric-suffixes=? elide-empty-files filter= \
         hex-suffixes=? lines= number= separator= unbuffered verbose help version",
        Operands::ReadThenMaybeWrite,
        EffectKind::Other,
        &[("filter", OptionEffect::Runs)],
    ),
    program(
        &["zip"],
        "rqujmdf0123456789eP:x:i:T@b:",
        "unzip-command= recurse-paths quiet exclude= include= test out= output-file=",
        Operands::WriteThenRead,
        EffectKind::Other,
        &[
            ("unzip-command", OptionEffect::Runs),
            ("TT", OptionEffect::Runs),
            ("T", OptionEffect::Reconfigures(ARCHIVE_RUNS)),
            ("out", OptionEffect::Writes),
            ("output-file", OptionEffect::Writes),
        ],
    ),
    program(
        &["unzip"],
        "lvtpcfuonqjd:x:P:aLCXKVZ",
        "",
        Operands::Read,
        EffectKind::Other,
        &[("d", OptionEffect::Writes)],
    ),
    program(
        &["cpio"],
        "0aAbBcC:dDE:fF:H:I:iklLmM:nO:opR:rsStuvV",
        "rsh-command= file= extract create pass-through to-stdout directory= pattern-file= quiet \
         make-directories",
        Operands::Text,
        EffectKind::Other,
        &[
            ("rsh-command", OptionEffect::Runs),
            ("F", OptionEffect::Writes),
            ("O", OptionEffect::Writes),
            ("file", OptionEffect::Writes),
            ("I", OptionEffect::Reads),
            ("E", OptionEffect::Reads),
        ],
    ),
    program(
        &["rsync"],
        "vqcarRbudlLkKHpEAXogDtUNOJxnWB:e:f:F0T:yzChP46sSM:iI@:m",
        "rsh= rsync-path= archive recursive delete exclude= include= exclude-from= include-from= files-from= \
         temp-dir= backup-dir= log-file= write-batch= read-batch= verbose progress dry-run compress daemon \
         config= partial-dir= remote-option= early-input= password-file=",
        Operands::ReadThenWrite,
        EffectKind::Other,
        &[
            ("e", OptionEffect::Runs),
            ("rsh", OptionEffect::Runs),
            ("rsync-path", OptionEffect::Runs),
            ("daemon", OptionEffect::Reconfigures("serves files")),
            ("config", OptionEffect::Reconfigures("reads another configuration")),
            ("T", OptionEffect::Writes),
            ("temp-dir", OptionEffect::Writes),
            ("backup-dir", OptionEffect::Writes),
            ("log-file", OptionEffect::Writes),
            ("write-batch", OptionEffect::Writes),
            ("partial-dir", OptionEffect::Writes),
            ("exclude-from", OptionEffect::Reads),
            ("include-from", OptionEffect::Reads),
            ("files-from", OptionEffect::Lists),
            ("M", OptionEffect::Reconfigures("sets options of the other side")),
            ("remote-option", OptionEffect::Reconfigures("sets options of the other side")),
        ],
    ),
];
