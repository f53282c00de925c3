//! The languages, as a table: what a word is in each. The order is that of the contract (MD-4).

#[derive(Debug)]
pub struct Language {
    /// Its names after a fence, and the extensions of its files.
    pub names: &'static [&'static str],
    pub layout: Layout,
    pub line_comments: &'static [&'static str],
    pub block_comment: Option<(&'static str, &'static str)>,
    /// Whether comments nest.
    pub nests: bool,
    pub quotes: &'static [Quote],
    /// Words, separated by blanks: one text is one pointer, and the loader writes each pointer of each table at every start.
    pub keywords: &'static str,
    pub types: &'static str,
    /// What may be in a name beside letters, digits and `_`.
    pub word_marks: &'static str,
    /// Whether `Word` is a type.
    pub upper_types: bool,
    /// Whether `name!(` is a call.
    pub bang_calls: bool,
    /// Whether `'a` is a lifetime.
    pub lifetimes: bool,
    pub folds_case: bool,
}

/// How a language's lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Code,
    /// Names before a separator, values after it.
    Keys {
        separator: char,
    },
    Markup,
    Diff,
    Markdown,
}

/// A way to quote text.
#[derive(Debug, PartialEq, Eq)]
pub struct Quote {
    pub open: &'static str,
    pub close: &'static str,
    pub escapes: bool,
    /// Whether it may go over several lines.
    pub lines: bool,
}

const fn quote(mark: &'static str) -> Quote {
    Quote { open: mark, close: mark, escapes: true, lines: false }
}

const fn long(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, escapes: true, lines: true }
}

const fn raw(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, escapes: false, lines: true }
}

const C_QUOTES: &[Quote] = &[quote("\""), quote("'")];

const PLAIN: Language = Language {
    names: &[],
    layout: Layout::Code,
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    nests: false,
    quotes: C_QUOTES,
    keywords: "",
    types: "",
    word_marks: "",
    upper_types: true,
    bang_calls: false,
    lifetimes: false,
    folds_case: false,
};

const JS_KEYWORDS: &str = "abstract as async await break case catch class const continue debugger declare default delete do else enum \
    export extends false finally for from function get if implements import in instanceof interface is keyof \
    let namespace new null of override private protected public readonly return satisfies set static super \
    switch this throw true try type typeof undefined var void while with yield";
const JS_TYPES: &str = "any bigint boolean never number object string symbol unknown";
const JS_QUOTES: &[Quote] = &[quote("\""), quote("'"), long("`", "`")];

const C_KEYWORDS: &str = "alignas alignof and auto bool break case catch class co_await co_return co_yield concept const consteval \
    constexpr constinit continue decltype default delete do else enum explicit export extern false final for \
    friend goto if inline mutable namespace new noexcept not nullptr operator or override private protected \
    public register requires restrict return sizeof static static_assert struct switch template this throw \
    true try typedef typeid typename union using virtual volatile while NULL";
const C_TYPES: &str = "char double float int int16_t int32_t int64_t int8_t long short signed size_t ssize_t string uint16_t \
    uint32_t uint64_t uint8_t unsigned void wchar_t";

/// Finds a language by a name or an extension, in any case. What follows the name after a fence (`rust,ignore`, `js {1,3}`) does not count.
pub fn find(name: &str) -> Option<&'static Language> {
    let name = name.split([',', ' ', '{', ':']).next()?.trim_start_matches('.');
    LANGUAGES.iter().find(|language| language.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

#[rustfmt::skip]
pub const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"], nests: true, bang_calls: true, lifetimes: true,
        quotes: &[raw("r##\"", "\"##"), raw("r#\"", "\"#"), raw("r\"", "\""), long("b\"", "\""), long("\"", "\""), quote("'")],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while yield",
        types: "bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize",
        ..PLAIN
    },
    Language {
        names: &["python", "py", "python3", "pyi"], line_comments: &["#"], block_comment: None, word_marks: "@",
        quotes: &[long("\"\"\"", "\"\"\""), long("'''", "'''"), quote("\""), quote("'")],
        keywords: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield",
        types: "bool bytes dict float frozenset int list object set str tuple",
        ..PLAIN
    },
    Language { names: &["js", "javascript", "mjs", "cjs", "node"], quotes: JS_QUOTES, keywords: JS_KEYWORDS, word_marks: "$", ..PLAIN },
    Language { names: &["ts", "typescript", "mts", "cts"], quotes: JS_QUOTES, keywords: JS_KEYWORDS, types: JS_TYPES, word_marks: "$", ..PLAIN },
    Language { names: &["jsx", "tsx"], quotes: JS_QUOTES, keywords: JS_KEYWORDS, types: JS_TYPES, word_marks: "$", ..PLAIN },
    Language {
        names: &["go", "golang"], quotes: &[quote("\""), quote("'"), raw("`", "`")],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var",
        types: "any bool byte complex128 error float32 float64 int int16 int32 int64 int8 rune string uint uint16 uint32 uint64 uint8 uintptr",
        ..PLAIN
    },
    Language { names: &["c", "h"], keywords: C_KEYWORDS, types: C_TYPES, word_marks: "#", ..PLAIN },
    Language { names: &["c++", "cpp", "cc", "cxx", "hpp", "hh"], keywords: C_KEYWORDS, types: C_TYPES, word_marks: "#", ..PLAIN },
    Language {
        names: &["java"], quotes: &[long("\"\"\"", "\"\"\""), quote("\""), quote("'")], word_marks: "@",
        keywords: "abstract assert break case catch class continue default do else enum extends false final finally for if implements import instanceof interface native new null package permits private protected public record return sealed static super switch synchronized this throw throws transient true try var volatile while yield",
        types: "boolean byte char double float int long short void",
        ..PLAIN
    },
    Language {
        names: &["kotlin", "kt", "kts"], nests: true, quotes: &[raw("\"\"\"", "\"\"\""), quote("\""), quote("'")], word_marks: "@",
        keywords: "as break by catch class companion constructor continue data do else enum false finally for fun if import in init inline interface internal is lateinit null object open operator override package private protected public return sealed super suspend this throw true try typealias val var when where while",
        ..PLAIN
    },
    Language {
        names: &["swift"], nests: true, quotes: &[long("\"\"\"", "\"\"\""), quote("\"")], word_marks: "@#",
        keywords: "actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open override private protocol public repeat return self Self static struct subscript super switch throw throws true try typealias var weak where while",
        ..PLAIN
    },
    Language {
        names: &["ruby", "rb", "gemfile", "rakefile"], line_comments: &["#"], block_comment: Some(("=begin", "=end")), word_marks: "@$?!",
        keywords: "alias and attr_accessor attr_reader begin break case class def defined? do else elsif end ensure false for if in include module next nil not or private raise redo require require_relative rescue retry return self super then true undef unless until when while yield",
        ..PLAIN
    },
    Language {
        names: &["php"], line_comments: &["//", "#"], word_marks: "$",
        keywords: "abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements instanceof interface match namespace new null or private protected public readonly require require_once return static switch throw trait true try use while yield",
        types: "bool float int iterable mixed object string void",
        ..PLAIN
    },
    Language {
        names: &["shell", "sh", "bash", "zsh", "fish", "console"], line_comments: &["#"], block_comment: None, word_marks: "$-", upper_types: false,
        quotes: &[long("\"", "\""), raw("'", "'")],
        keywords: "break case cd continue declare do done echo elif else esac eval exec exit export fi for function if in local read readonly return select set shift source then trap unset until while",
        ..PLAIN
    },
    Language {
        names: &["sql", "postgres", "postgresql", "mysql", "sqlite"], line_comments: &["--"], folds_case: true, upper_types: false,
        keywords: "add all alter analyze and as asc begin between by case check column commit conflict constraint create cross database default delete desc distinct do drop else end except exists explain foreign from full group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition primary references returning right rollback select set table then to transaction union unique update using values view when where with",
        types: "bigint blob boolean char date decimal float int integer json jsonb numeric real serial text timestamp timestamptz uuid varchar",
        ..PLAIN
    },
    Language { names: &["json", "jsonc", "json5", "jsonl", "ndjson"], layout: Layout::Keys { separator: ':' }, quotes: &[quote("\"")], keywords: "true false null", upper_types: false, ..PLAIN },
    Language { names: &["yaml", "yml"], layout: Layout::Keys { separator: ':' }, line_comments: &["#"], block_comment: None, keywords: "true false null yes no on off", upper_types: false, word_marks: "-", ..PLAIN },
    Language { names: &["toml", "ini", "cfg", "conf", "properties", "lock"], layout: Layout::Keys { separator: '=' }, line_comments: &["#", ";"], block_comment: None, quotes: &[long("\"\"\"", "\"\"\""), raw("'''", "'''"), quote("\""), quote("'")], keywords: "true false", upper_types: false, ..PLAIN },
    Language { names: &["html", "htm", "xml", "svg", "vue", "svelte", "xhtml"], layout: Layout::Markup, line_comments: &[], block_comment: Some(("<!--", "-->")), quotes: &[long("\"", "\""), long("'", "'")], ..PLAIN },
    Language { names: &["css", "scss", "less", "sass"], layout: Layout::Keys { separator: ':' }, word_marks: "-@#.", upper_types: false, keywords: "@media @import @font-face @keyframes @supports @use @include @mixin important inherit initial unset none auto", ..PLAIN },
    Language { names: &["diff", "patch"], layout: Layout::Diff, ..PLAIN },
    Language {
        names: &["docker", "dockerfile", "containerfile"], line_comments: &["#"], block_comment: None, word_marks: "$", upper_types: false,
        keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR",
        ..PLAIN
    },
    Language {
        names: &["make", "makefile", "mk"], layout: Layout::Keys { separator: ':' }, line_comments: &["#"], block_comment: None, word_marks: "$.-", upper_types: false,
        keywords: "define else endef endif export ifdef ifeq ifndef ifneq include .PHONY",
        ..PLAIN
    },
    Language { names: &["markdown", "md"], layout: Layout::Markdown, ..PLAIN },
];
