use super::*;
use crate::testing::workspace;

fn class(access: Access, path: &str) -> &'static str {
    let path = Path::new(path);
    workspace().class(access, path, &PathFacts::by_text(path.to_owned())).as_str()
}

#[test]
fn by_components_never_by_letters() {
    assert_eq!(class(Access::Read, "/ws"), "R");
    assert_eq!(class(Access::Read, "/ws/a"), "R");
    assert_eq!(class(Access::Read, "/ws-x/a"), "RX");
    assert_eq!(class(Access::Read, "/w"), "RX");
    assert_eq!(class(Access::Write, "/ws/a"), "W");
    assert_eq!(class(Access::Write, "/wsx"), "WX");
    assert_eq!(class(Access::Write, "/dev/null"), "W");
}

#[test]
fn a_workspace_below_a_protected_folder_is_still_one() {
    let workspace = Workspace::new(WorkspaceParts {
        roots: vec!["/usr/src/app".into()],
        cwd: "/usr/src/app".into(),
        home: None,
        data_dir: None,
        path_dirs: vec!["/usr/src/app/node_modules/.bin".into(), "/usr".into()],
        sensitive: vec![],
    });
    let class = |path: &str| {
        workspace.class(Access::Write, Path::new(path), &PathFacts::by_text(path.into())).as_str()
    };
    assert_eq!(class("/usr/src/app/main.rs"), "W");
    assert_eq!(class("/usr/src/app/.git/config"), "WP");
    assert_eq!(class("/usr/src/other"), "WP");
    assert_eq!(class("/usr/src/app/node_modules/.bin/x"), "WP");
}

#[test]
fn something_below_a_folder() {
    let workspace = workspace();
    let below = |access, path: &str| {
        workspace.class_below(access, Path::new(path), &PathFacts::by_text(path.into())).as_str()
    };
    assert_eq!(below(Access::Read, "/ws/src"), "R");
    assert_eq!(below(Access::Read, "/home/u"), "RS");
    assert_eq!(below(Access::Write, "/home/u"), "WP");
    assert_eq!(below(Access::Write, "/ws"), "W");
    assert_eq!(below(Access::Read, "/srv"), "RX");
}

#[test]
fn reading_a_folder_reads_what_is_in_it() {
    let workspace = workspace();
    let facts = PathFacts { kind: PathKind::Folder, ..PathFacts::by_text("/home/u".into()) };
    assert_eq!(workspace.class(Access::Read, Path::new("/home/u"), &facts).as_str(), "RS");
}
