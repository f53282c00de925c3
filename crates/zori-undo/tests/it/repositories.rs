//! Repositories whose files are not what their blobs are, or whose index is not the plain one: everything comes back byte for
//! byte (case 4 of the contract).

use crate::project::Project;

/// Makes a repository, and ruins its files.
struct Odd {
    name: &'static str,
    make: &'static str,
    ruin: &'static str,
}

/// Files that are older than the index, so that it can be believed.
const SETTLE: &str = "find . -name .git -prune -o -type f -exec touch -d '1 minute ago' {} +; git update-index -q --refresh || true";

const ODD: &[Odd] = &[
    Odd {
        name: "line ends by configuration",
        make: "git init -q; git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' > a.txt; git add -A; git commit -qm 1",
        ruin: "printf 'a\\n' > a.txt",
    },
    Odd {
        name: "line ends by attribute",
        make: "git init -q; echo '*.txt eol=crlf' > .gitattributes; printf 'a\\r\\n' > a.txt; git add -A; git commit -qm 1",
        ruin: "sed -i s/a/b/ a.txt",
    },
    Odd {
        name: "line ends that git leaves out of its blobs",
        make: "git init -q; echo '* text=auto' > .gitattributes; printf 'a\\r\\nb\\r\\n' > a.txt; echo b > b.txt; git add -A 2>/dev/null; git commit -qm 1",
        ruin: "sed -i s/a/X/ a.txt; rm b.txt",
    },
    Odd {
        name: "a filter, as large files have one",
        make: "git init -q; git config filter.big.clean 'sed s/^/POINTER/'; git config filter.big.smudge 'sed s/^POINTER//';
               echo '*.bin filter=big' > .gitattributes; echo large > a.bin; git add -A; git commit -qm 1",
        ruin: "rm a.bin",
    },
    Odd {
        name: "ident",
        make: "git init -q; echo '*.c ident' > .gitattributes; echo '// $Id$' > a.c; git add -A; git commit -qm 1; rm a.c; git checkout -q a.c",
        ruin: "echo gone > a.c",
    },
    Odd {
        name: "attributes in a folder of their own",
        make: "git init -q; mkdir sub; echo '*.c ident' > sub/.gitattributes; echo '// $Id$' > sub/a.c; echo x > x; git add -A; git commit -qm 1;
               rm sub/a.c; git checkout -q sub/a.c",
        ruin: "rm -r sub; echo y > x",
    },
    Odd {
        name: "a submodule",
        make: "git init -q ../inner; echo i > ../inner/i; git -C ../inner add -A; git -C ../inner commit -qm 1; git init -q;
               git -c protocol.file.allow=always submodule --quiet add ../inner inner; echo x > x; git add -A; git commit -qm 1",
        ruin: "echo changed > inner/i; rm x; echo n > inner/new",
    },
    Odd {
        name: "a nested repository",
        make: "git init -q; git init -q nested; echo n > nested/n; git -C nested add -A; git -C nested commit -qm 1; echo x > x; git add x; git commit -qm 1",
        ruin: "rm -r nested/n; echo y > x",
    },
    Odd {
        name: "sparse",
        make: "git init -q; mkdir in out; echo i > in/i; echo o > out/o; git add -A; git commit -qm 1; git sparse-checkout set in 2>/dev/null",
        ruin: "rm in/i; mkdir -p out; echo mine > out/o",
    },
    Odd {
        name: "a split index",
        make: "git init -q; for i in 1 2 3; do echo $i > $i; done; git add -A; git commit -qm 1; git update-index --split-index; echo 4 > 4; git add 4",
        ruin: "rm 1 4; echo x > 2",
    },
    Odd {
        name: "the index of version 4",
        make: "git init -q; mkdir -p a/b; echo 1 > a/b/one; echo 2 > a/b/only; git add -A; git commit -qm 1; git update-index --index-version 4",
        ruin: "rm -r a",
    },
    Odd {
        name: "SHA-256",
        make: "git init -q --object-format=sha256; echo 1 > one; mkdir d; echo 2 > d/two; git add -A; git commit -qm 1",
        ruin: "rm -rf one d .git",
    },
    Odd {
        name: "objects in a pack, and no repository after it",
        make: "git init -q; for i in 1 2 3; do echo $i > $i; done; git add -A; git commit -qm 1; git gc -q",
        ruin: "rm -rf 1 2 3 .git",
    },
    Odd {
        name: "assumed unchanged, skipped, and only announced",
        make: "git init -q; for i in 1 2 3; do echo $i > $i; done; git add 1 2; git commit -qm 1; git add -N 3;
               git update-index --assume-unchanged 1; git update-index --skip-worktree 2; echo one > 1; echo two > 2",
        ruin: "rm 1 2 3",
    },
    Odd {
        name: "a conflict",
        make: "git init -q; echo a > a; git add -A; git commit -qm 1; git checkout -qb other; echo b > a; git commit -qam 2;
               git checkout -q -; echo c > a; git commit -qam 3; git merge -q other >/dev/null 2>&1 || true",
        ruin: "git merge --abort",
    },
];

fn check(odd: &Odd, watch: bool) {
    let project = Project::with(watch);
    project.shell(odd.make);
    project.shell(SETTLE);
    // Git's own folder is not captured.
    let files = || project.files().replace(".git/ 755\n", "");
    let before = files();
    project.turn(odd.ruin);
    assert_ne!(files(), before, "{}", odd.name);
    let undone = project.undo();
    assert_eq!(files(), before, "{} watch={watch}\n{undone}", odd.name);
}

#[test]
fn odd_repositories() {
    for odd in ODD {
        check(odd, true);
        check(odd, false);
    }
}

/// A working tree whose repository is elsewhere.
#[test]
fn a_worktree() {
    let project = Project::with(true);
    project.shell(
        "git init -q ../main; cd ../main; echo a > a; mkdir d; echo b > d/b; git add -A; git commit -qm 1",
    );
    project.shell("cd ../main; rmdir ../repo; git worktree add -q ../repo 2>/dev/null");
    let before = project.files();
    project.turn("rm -r d; echo x > a; git commit -qam two");
    let undone = project.undo();
    assert_eq!(project.files(), before, "{undone}");
}
