use std::fmt::Write as _;
use std::path::Path;

use crate::{Language, Reader};

/// The one place that knows the reader's API: one line per symbol.
fn symbols(file: &str, text: &str) -> String {
    let language = Language::of(Path::new(file)).unwrap();
    let outline = Reader::new().read(text, language, &mut || false).unwrap();
    let mut lines = String::new();
    for symbol in &outline.symbols {
        let mut depth = 0;
        let mut above = symbol.parent;
        while let Some(parent) = above {
            depth += 1;
            above = outline.symbols[parent].parent;
        }
        let _ = writeln!(
            lines,
            "{}{} {} {}-{} | {}",
            "  ".repeat(depth),
            symbol.kind,
            symbol.name,
            symbol.start,
            symbol.end,
            symbol.signature
        );
    }
    lines
}

#[test]
fn rust() {
    insta::assert_snapshot!(symbols("a.rs", "//! Doc.\nuse std::fmt;\n\npub struct Point {\n    x: u32,\n}\n\nimpl Point {\n    /// New.\n    pub fn new(\n        x: u32,\n    ) -> Self {\n        fn hidden() {}\n        Self { x }\n    }\n}\n\nmod inner {\n    pub const MOST: usize = 3;\n    pub trait Shape { fn area(&self) -> f64; }\n}\n\nmacro_rules! make { () => {} }\n"), @"
    struct Point 4-6 | pub struct Point
    impl Point 8-16 | impl Point
      function new 10-15 | pub fn new( x: u32, ) -> Self
    module inner 18-21 | mod inner
      constant MOST 19-19 | pub const MOST: usize = 3;
      trait Shape 20-20 | pub trait Shape
        function area 20-20 | fn area(&self) -> f64;
    macro make 23-23 | macro_rules! make { () => {} }
    ");
}

#[test]
fn python() {
    insta::assert_snapshot!(symbols("a.py", "import os\n\nclass Dog(Animal):\n    @property\n    def name(self) -> str:\n        return 'x'\n\nasync def main(args):\n    pass\n"), @"
    class Dog 3-6 | class Dog(Animal):
      function name 5-6 | def name(self) -> str:
    function main 8-9 | async def main(args):
    ");
}

#[test]
fn javascript_and_typescript() {
    insta::assert_snapshot!(symbols("a.js", "export function one(a, b) {}\nconst two = async (x) => x;\nlet three = 3;\nclass Four { five() {} }\n"), @"
    function one 1-1 | function one(a, b)
    function two 2-2 | two = async (x) => x
    class Four 4-4 | class Four
      method five 4-4 | five()
    ");
    insta::assert_snapshot!(symbols("a.ts", "export interface Shape { area(): number }\ntype Id = string;\nenum Colour { Red }\nnamespace N { export function f<T>(x: T): T { return x } }\nexport default class K { private m(): void {} }\n"), @"
    interface Shape 1-1 | interface Shape
      method area 1-1 | area(): number
    type Id 2-2 | type Id = string;
    enum Colour 3-3 | enum Colour
    module N 4-4 | namespace N
      function f 4-4 | function f<T>(x: T): T
    class K 5-5 | class K
      method m 5-5 | private m(): void
    ");
    insta::assert_snapshot!(symbols("a.tsx", "export const View = (p: Props) => <div>{p.x}</div>;\n"), @"
    function View 1-1 | View = (p: Props) => <div>{p.x}</div>
    ");
}

#[test]
fn go_java_bash() {
    insta::assert_snapshot!(symbols("a.go", "package a\n\ntype Server struct{}\n\nfunc (s *Server) Run(ctx context.Context) error { return nil }\n\nfunc main() {}\nconst Most = 3\n"), @"
    type Server 3-3 | Server struct{}
    method Run 5-5 | func (s *Server) Run(ctx context.Context) error
    function main 7-7 | func main()
    constant Most 8-8 | Most = 3
    ");
    insta::assert_snapshot!(symbols("A.java", "package a;\npublic class A extends B {\n  A() {}\n  public int size() { return 0; }\n  enum E { X }\n}\n"), @"
    class A 2-6 | public class A extends B
      constructor A 3-3 | A()
      method size 4-4 | public int size()
      enum E 5-5 | enum E
    ");
    insta::assert_snapshot!(symbols("a.sh", "greet() {\n  echo hi\n}\nfunction bye { :; }\n"), @"
    function greet 1-3 | greet()
    function bye 4-4 | function bye
    ");
}

#[test]
fn c_and_cpp() {
    insta::assert_snapshot!(symbols("a.c", "#define MOST 3\nstruct point { int x; };\ntypedef struct { int y; } other;\nstatic int *find(struct point *p, int n)\n{\n  return 0;\n}\nint declared(void);\n"), @"
    macro MOST 1-1 | #define MOST 3
    struct point 2-2 | struct point
    type other 3-3 | typedef struct { int y; } other;
    function find 4-7 | static int *find(struct point *p, int n)
    ");
    insta::assert_snapshot!(symbols("a.cpp", "namespace n {\ntemplate <class T> class Box : Base {\n public:\n  void put(T t) { x = t; }\n};\nint Box_count() { return 0; }\n}\n"), @"
    namespace n 1-7 | namespace n
      class Box 2-5 | class Box : Base
        function put 4-4 | void put(T t)
      function Box_count 6-6 | int Box_count()
    ");
}

#[test]
fn data_and_text() {
    insta::assert_snapshot!(symbols("a.json", "{\"name\": \"x\", \"scripts\": {\"build\": \"y\", \"deep\": {\"er\": {\"est\": 1}}}}"), @r#"
    key name 1-1 | "name": "x"
    key scripts 1-1 | "scripts": {"build": "y", "deep": {"er": {"est": 1}}}
      key build 1-1 | "build": "y"
      key deep 1-1 | "deep": {"er": {"est": 1}}
    "#);
    insta::assert_snapshot!(symbols("a.toml", "title = 1\n[package]\nname = \"x\"\n[[bin]]\npath = \"y\"\n"), @r#"
    key title 1-1 | title = 1
    table package 2-3 | [package]
      key name 3-3 | name = "x"
    table bin 4-5 | [[bin]]
      key path 5-5 | path = "y"
    "#);
    insta::assert_snapshot!(symbols("a.md", "# One\n\ntext\n\n## Two `x`\n\nThree\n====="), @"
    heading One 1-1 | # One
    heading Two `x` 5-5 | ## Two `x`
    heading Three 7-8 | Three
    ");
    assert_eq!(symbols("a.yaml", "a: 1\n"), "");
}

/// What is broken is read as far as it makes sense, and nothing hangs or overflows.
#[test]
fn hostile_texts() {
    assert!(symbols("a.rs", "fn good() {}\nfn broken( {{{ \nstruct Also;\n").contains("function good"));
    for (file, open) in [
        ("a.json", "["),
        ("a.rs", "fn f() { ("),
        ("a.py", "("),
        ("a.js", "[{a:"),
        ("a.c", "{"),
        ("a.md", "> "),
    ] {
        symbols(file, &open.repeat(20_000));
    }
    let mut asked = 0;
    let long = "fn f() { let x = (1 + 2) * 3; }\n".repeat(20_000);
    let given_up = Reader::new().read(&long, Language::Rust, &mut || {
        asked += 1;
        asked > 2
    });
    assert_eq!(given_up.err(), Some(crate::unfit::Unfit::TooSlow));
}

#[test]
fn chunks_end_where_functions_do() {
    let function =
        |n: usize| format!("/// About {n}.\n#[test]\nfn f{n}() {{\n{}}}\n\n", "    call();\n".repeat(16));
    let text: String = (0..6).map(function).collect();
    let outline = Reader::new().read(&text, Language::Rust, &mut || false).unwrap();
    let firsts: Vec<&str> = outline.chunks.iter().map(|chunk| chunk.text.lines().next().unwrap()).collect();
    assert_eq!(firsts, ["/// About 0.", "/// About 2.", "/// About 4."]);
}
