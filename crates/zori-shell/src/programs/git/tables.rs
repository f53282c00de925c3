//! git's options, as far as they matter.

use crate::programs::options::OptionGrammar;

/// Options in front of a subcommand.
pub(in crate::programs) const GLOBAL: OptionGrammar = OptionGrammar {
    short: "c:C:pPhv",
    long: "config-env= exec-path=? git-dir= work-tree= namespace= super-prefix= attr-source= paginate no-pager \
        no-replace-objects no-lazy-fetch no-optional-locks no-advice bare literal-pathspecs glob-pathspecs \
        noglob-pathspecs icase-pathspecs html-path man-path info-path list-cmds= help version",
    stops_at_operand: true,
};

/// Global options that change what runs or where.
pub(super) const GLOBAL_CHANGES: &[&str] = &[
    "c",
    "C",
    "p",
    "config-env",
    "exec-path",
    "git-dir",
    "work-tree",
    "paginate",
    "bare",
    "namespace",
    "super-prefix",
];

/// Subcommands that only show things, with the letters that were vetted for them.
pub(in crate::programs) const SHOWING: &[(&str, &str)] = &[
    ("status", "sbvu::zM::"),
    ("diff", "pusU::zabwM::C::D::RX::l:S:G:O:WB::tcn:"),
    ("log", "pusU::zabwM::C::D::RX::l:S:G:O:WB::n:iEFPgm0123456789qctL:"),
    ("show", "pusU::zabwM::C::D::RX::l:S:G:O:WB::n:qctm"),
    ("blame", "bfglnpstwecL:C::M::S:"),
    ("ls-files", "cdomisutkvfrzx:X:"),
    ("rev-parse", "q"),
    ("describe", ""),
    ("shortlog", "nsecw::"),
    ("branch", "larvi"),
    ("tag", "ln::i"),
    ("remote", "v"),
    ("grep", "viwaIrEGFPnhHlLzocC:B:A:pWf:e:qm:0123456789"),
    ("stash", "pusU::zabwM::n:"),
    ("reflog", "n:iEFPq0123456789"),
    ("worktree", "vz"),
    ("merge-base", "a"),
    ("cat-file", "ptse"),
    ("rev-list", "n:iEFP0123456789"),
    ("ls-tree", "drtzl"),
    ("show-ref", "dsq"),
    ("for-each-ref", ""),
];

/// Options of the showing subcommands that were vetted.
pub(in crate::programs) const SHOWING_LONG: &str = // grep
    // stash, worktree, merge-base, rev-list, ls-tree, show-ref, for-each-ref
    "short branch show-stash porcelain=? long verbose \
    untracked-files=? ignored=? column=? no-column ahead-behind no-ahead-behind renames no-renames \
    find-renames=? patch no-patch unified=? raw patch-with-raw minimal patience histogram anchored= \
    diff-algorithm= stat=? compact-summary numstat shortstat dirstat=? cumulative summary patch-with-stat \
    name-only name-status submodule=? color=? no-color color-moved=? word-diff=? word-diff-regex= \
    color-words=? check full-index binary abbrev=? no-abbrev diff-filter= pickaxe-all pickaxe-regex relative=? \
    text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines \
    inter-hunk-context= function-context exit-code quiet cached staged merge-base base ours theirs follow \
    decorate=? no-decorate source all branches=? tags=? remotes=? glob= exclude= max-count= skip= since= \
    after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp \
    fixed-strings perl-regexp merges no-merges first-parent not oneline format= pretty=? abbrev-commit \
    no-abbrev-commit graph reverse topo-order date-order author-date-order date= relative-date parents \
    children left-right cherry cherry-pick cherry-mark walk-reflogs boundary simplify-by-decoration \
    full-history ancestry-path=? no-ext-diff no-textconv no-prefix src-prefix= dst-prefix= root porcelain \
    line-porcelain incremental show-name show-number show-email deleted modified others ignored stage \
    directory killed unmerged exclude-standard full-name error-unmatch deduplicate eol recurse-submodules \
    show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree \
    is-inside-git-dir is-bare-repository is-shallow-repository symbolic-full-name abbrev-ref=? verify short=? \
    exact-match always dirty=? candidates= match= contains=? no-contains=? merged=? no-merged=? points-at= \
    sort= list show-current numbered email group= tags no-walk=? ignore-submodules=? no-index output= ext-diff \
    textconv contents= ignore-rev= ignore-revs-file= exclude-from= untracked invert-match ignore-case \
    basic-regexp line-number files-with-matches files-without-match null only-matching count=? break heading \
    context= before-context= after-context= threads= show-function and or max-depth= recursive \
    open-files-in-pager=? include-untracked only-untracked is-ancestor fork-point octopus independent objects \
    min-parents= max-parents= object-only full-tree head heads hash=? dereference exists omit-empty \
    include-root-refs help";

/// Options any subcommand may have that start or write something, or change what git does.
pub(super) const RISKY: OptionGrammar = OptionGrammar {
    short: "",
    // From `upstream` on they are neighbours, so that an abbreviation of theirs is not taken for one of the others.
    long: "upload-pack= receive-pack= exec= ext-diff textconv output= open-files-in-pager=? no-index contents= \
        template= config= output-directory= tool= extcmd= separate-git-dir= smtp-server= sendmail-cmd= to-cmd= \
        cc-cmd= gpg-sign=? edit run-command= upload-archive= filters show-signature upstream filter= \
        output-indicator-new= output-indicator-old= output-indicator-context=",
    stops_at_operand: false,
};
