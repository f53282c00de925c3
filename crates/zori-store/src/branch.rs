//! The branch a folder's repository is on, by what git keeps in its files.

use std::fs;
use std::path::Path;

/// Returns the branch of the repository that a folder is in, or the beginning of the commit where there is none.
pub fn branch(root: &Path) -> Option<String> {
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match fs::read_to_string(&git) {
        // A worktree's is a file that names the folder.
        Ok(text) => git.parent()?.join(text.trim().strip_prefix("gitdir: ")?),
        Err(_) => git,
    };
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches() {
        let dir = tempfile::tempdir().unwrap();
        let (repo, tree) = (dir.path().join("repo"), dir.path().join("tree"));
        for folder in ["repo/.git/worktrees/t", "repo/src", "tree"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        assert_eq!(branch(&repo), None, "a repository without a HEAD");
        fs::write(repo.join(".git/HEAD"), "ref: refs/heads/topic/one\n").unwrap();
        assert_eq!(branch(&repo.join("src")).as_deref(), Some("topic/one"));
        fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/t\n").unwrap();
        fs::write(repo.join(".git/worktrees/t/HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(branch(&tree).as_deref(), Some("01234567"));
    }
}
