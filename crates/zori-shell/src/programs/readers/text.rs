//! Readers that search, sort or compare text.

use super::{reader, with};
use crate::programs::table::{Operands, OptionEffect, Program, SearchesCwd};

const GREP_SHORT: &str = "EFGPe:f:iywxvcLlm:oqsbHhnTzZA:B:C:UaID:d:rR0123456789";

const GREP_LONG: &str = "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case \
    no-ignore-case word-regexp line-regexp invert-match count color=? colour=? files-without-match \
    files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename \
    label= line-number initial-tab null after-context= before-context= context= group-separator= \
    no-group-separator text binary-files= devices= directories= exclude= exclude-from= exclude-dir= include= \
    recursive dereference-recursive line-buffered null-data binary help version";

const GREP_EFFECTS: &[(&str, OptionEffect)] =
    &[("f", OptionEffect::Reads), ("file", OptionEffect::Reads), ("exclude-from", OptionEffect::Reads)];

pub const TEXT_READERS: &[Program] = &[
    reader(
        &["uniq"],
        "cdDf:is:uw:z",
        "count repeated all-repeated=? skip-fields= group=? ignore-case skip-chars= unique check-chars= \
         zero-terminated help version",
        Operands::ReadThenMaybeWrite,
    ),
    with(
        &["sort"],
        "bcCdfghik:mMno:rRsS:t:T:uVz",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
         human-numeric-sort numeric-sort random-sort random-source= reverse sort= version-sort batch-size= \
         check=? compress-program= debug files0-from= key= merge output= stable buffer-size= field-separator= \
         temporary-directory= parallel= unique zero-terminated help version",
        Operands::Read,
        &[
            ("o", OptionEffect::Writes),
            ("output", OptionEffect::Writes),
            ("compress-program", OptionEffect::Runs),
            ("files0-from", OptionEffect::Lists),
            ("T", OptionEffect::Writes),
            ("temporary-directory", OptionEffect::Writes),
            ("random-source", OptionEffect::Reads),
        ],
    ),
    with(
        &["grep", "egrep", "fgrep"],
        GREP_SHORT,
        GREP_LONG,
        Operands::PatternThenRead {
            given_by: &["e", "regexp", "f", "file"],
            searches_cwd: SearchesCwd::With(&[
                "r",
                "R",
                "recursive",
                "dereference-recursive",
                "d",
                "directories",
            ]),
        },
        GREP_EFFECTS,
    ),
    with(
        &["rgrep"],
        GREP_SHORT,
        GREP_LONG,
        Operands::PatternThenRead {
            given_by: &["e", "regexp", "f", "file"],
            searches_cwd: SearchesCwd::Always,
        },
        GREP_EFFECTS,
    ),
    with(
        &["rg"],
        "e:f:sivwxFPSUzA:B:C:cHhInNlLoqpg:t:T:ubE:j:m:M:r:d:a0.",
        "regexp= file= case-sensitive ignore-case invert-match word-regexp line-regexp fixed-strings pcre2 \
         smart-case multiline multiline-dotall search-zip after-context= before-context= context= count \
         count-matches with-filename no-filename line-number no-line-number files-with-matches \
         files-without-match only-matching quiet pretty glob= iglob= type= type-not= type-list type-add= \
         unrestricted byte-offset encoding= threads= max-count= max-columns= max-columns-preview replace= \
         max-depth= text null hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global ignore-file= \
         files follow heading no-heading color= colors= column no-column json sort= sortr= stats trim vimgrep \
         passthru crlf max-filesize= no-messages no-config one-file-system path-separator= debug trace \
         context-separator= binary block-buffered line-buffered include-zero null-data pre= pre-glob= \
         hostname-bin= hyperlink-format= engine= help version",
        Operands::PatternThenRead {
            given_by: &["e", "regexp", "f", "file", "files", "type-list"],
            searches_cwd: SearchesCwd::Always,
        },
        &[
            ("pre", OptionEffect::Runs),
            ("hostname-bin", OptionEffect::Runs),
            ("f", OptionEffect::Reads),
            ("file", OptionEffect::Reads),
            ("ignore-file", OptionEffect::Reads),
            // Archives are read by programs of the `PATH`.
            ("z", OptionEffect::Changes),
            ("search-zip", OptionEffect::Changes),
        ],
    ),
    with(
        &["diff"],
        "qscC:uU:enyW:pF:tTalrNx:X:S:iEZbwBI:D:dH0123456789",
        "normal brief report-identical-files context=? unified=? ed rcs side-by-side width= left-column \
         suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
         suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case \
         no-ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file= ignore-case \
         ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
         ignore-matching-lines= text strip-trailing-cr ifdef= minimal horizon-lines= speed-large-files color=? \
         palette= paginate help version",
        Operands::Read,
        &[
            ("l", OptionEffect::Lists),
            ("paginate", OptionEffect::Lists),
            ("X", OptionEffect::Reads),
            ("exclude-from", OptionEffect::Reads),
            ("from-file", OptionEffect::Reads),
            ("to-file", OptionEffect::Reads),
        ],
    ),
    reader(
        &["cmp"],
        "bi:ln:s",
        "print-bytes ignore-initial= verbose bytes= quiet silent help version",
        Operands::Read,
    ),
];
