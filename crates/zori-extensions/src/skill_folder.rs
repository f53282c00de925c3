//! Folders of skills: the user's own, and a project's, which count only as they were approved (SK-2, SK-3).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, DirEntry, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::command::Origin;
use crate::plain_dir::PlainDir;
use crate::skill::{self, FILE, HEAD_BYTES, MAX_BYTES, Skill};

/// The most skills there may be.
pub const MAX_SKILLS: usize = 500;
/// How many files of a skill are looked at when it is approved, and how many bytes.
const MAX_HASHED_FILES: usize = 200;
const MAX_HASHED_BYTES: u64 = 5 << 20;
/// Where a project's skills are; of two of one name the first counts.
const PROJECT: &[&[&str]] = &[&[".zori", "skills"], &[".agents", "skills"], &[".claude", "skills"]];

/// What folders have.
#[derive(Clone, Debug, Default)]
pub struct FoundSkills {
    /// The skills, sorted by name within a folder; the first of a name counts.
    pub skills: Vec<Skill>,
    /// A warning for each that is skipped or odd.
    pub warnings: Vec<String>,
}

impl FoundSkills {
    fn add(&mut self, file: &Path, read: Result<Skill, String>) {
        match read {
            Ok(skill) if self.skills.iter().any(|known| known.name == skill.name) => {}
            Ok(_) if self.skills.len() >= MAX_SKILLS => {}
            Ok(skill) => {
                let remark = |why: &String| format!("{} {why}", file.display());
                self.warnings.extend(skill.remarks.iter().map(remark));
                self.skills.push(skill);
            }
            Err(why) => self.warnings.push(format!("{} {why}; it is no skill", file.display())),
        }
    }

    /// Adds what another folder has, where this one has nothing of the name.
    pub fn extend(&mut self, other: Self) {
        for skill in other.skills {
            let known = self.skills.iter().any(|known| known.name == skill.name);
            if !known && self.skills.len() < MAX_SKILLS {
                self.skills.push(skill);
            }
        }
        self.warnings.extend(other.warnings);
    }
}

/// Reads the user's folder; nothing where there is none. Of each file only the beginning is read, in as few calls as that takes: every session
/// begins with it.
pub fn of_user(folder: &Path) -> FoundSkills {
    let mut found = FoundSkills::default();
    let opened = openat(CWD, folder, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let opened = opened.and_then(|opened| Ok((Dir::read_from(&opened)?, opened)));
    let (entries, opened) = match opened {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR) => return found,
        Err(error) => {
            let error = std::io::Error::from(error);
            found.warnings.push(format!("cannot read {}: {error}", folder.display()));
            return found;
        }
    };
    let named = |entry: &DirEntry| {
        let hidden = entry.file_name().to_bytes().starts_with(b".");
        !hidden && entry.file_type() != FileType::RegularFile
    };
    let entries = entries.flatten().filter(named);
    let mut names: Vec<_> =
        entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()).collect();
    names.sort_unstable();
    for name in names.into_iter().take(MAX_SKILLS * 2) {
        let dir = folder.join(&name);
        let file = dir.join(FILE);
        match read_at(&opened, &Path::new(&name).join(FILE), HEAD_BYTES) {
            Ok(None) => {}
            Ok(Some(bytes)) => found.add(&file, skill::read(&dir, &bytes, Origin::User)),
            Err(why) => found.add(&file, Err(why)),
        }
    }
    found
}

/// Reads a project's folders without trusting them; each skill with what it is approved by.
pub fn of_project(root: &Path, insecure: &mut Option<String>) -> (FoundSkills, Vec<String>) {
    let (mut found, mut digests) = (FoundSkills::default(), Vec::new());
    for place in PROJECT {
        let folder = match PlainDir::open(root, place) {
            Ok(Some(folder)) => folder,
            Ok(None) => continue,
            Err(why) => {
                let path: PathBuf = place.iter().collect();
                found.warnings.push(format!("{} {why}", root.join(path).display()));
                continue;
            }
        };
        for name in folder.names().into_iter().filter(|name| !name.starts_with('.')).take(MAX_SKILLS) {
            let parts: Vec<&str> = place.iter().copied().chain([name.as_str()]).collect();
            let Ok(Some(dir)) = PlainDir::open(root, &parts) else { continue };
            let file = dir.path().join(FILE);
            let read = match dir.read(FILE, insecure) {
                Ok(None) => continue,
                Ok(Some(bytes)) if bytes.len() as u64 > MAX_BYTES => Err(too_large()),
                Ok(Some(bytes)) => skill::read(dir.path(), &bytes, Origin::Project),
                Err(why) => Err(why),
            };
            let read = read.and_then(|skill| digest(root, &parts).map(|digest| (skill, digest)));
            let before = found.skills.len();
            match read {
                Ok((skill, digest)) => {
                    found.add(&file, Ok(skill));
                    if found.skills.len() > before {
                        digests.push(digest);
                    }
                }
                Err(why) => found.add(&file, Err(why)),
            }
        }
    }
    (found, digests)
}

/// Returns what a skill is approved by: every file of its folder, by name and content. Links are not followed and not part of it.
fn digest(root: &Path, parts: &[&str]) -> Result<String, String> {
    let mut files = Vec::new();
    list_plain(root, parts, &mut files)?;
    files.sort();
    let (mut hasher, mut left) = (blake3::Hasher::new(), MAX_HASHED_BYTES);
    for file in files {
        let (folder, name) = file.split_at(file.len() - 1);
        let folder: Vec<&str> = folder.iter().map(String::as_str).collect();
        let Ok(Some(dir)) = PlainDir::open(root, &folder) else { continue };
        let bytes = match dir.read(&name[0], &mut None) {
            Ok(Some(bytes)) => bytes,
            // A link: nobody follows it later, either.
            Ok(None) | Err(_) => continue,
        };
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return Err(format!("has files of more than {MAX_HASHED_BYTES} bytes beside it"));
        };
        left = rest;
        hasher.update(file[parts.len()..].join("/").as_bytes()).update(b"\0");
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(format!("skill:{}", hasher.finalize().to_hex()))
}

fn list_plain(root: &Path, parts: &[&str], files: &mut Vec<Vec<String>>) -> Result<(), String> {
    let Ok(Some(dir)) = PlainDir::open(root, parts) else { return Ok(()) };
    for name in dir.names().into_iter().filter(|name| name != "." && name != "..") {
        let mut path: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        path.push(name);
        let below: Vec<&str> = path.iter().map(String::as_str).collect();
        match PlainDir::open(root, &below) {
            Ok(Some(_)) => list_plain(root, &below, files)?,
            _ => files.push(path),
        }
        if files.len() > MAX_HASHED_FILES {
            return Err(format!("has more than {MAX_HASHED_FILES} files beside it"));
        }
    }
    Ok(())
}

/// Returns the files of a skill's folder, relative to it and sorted; at most `most`.
pub fn files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    list_files(folder, Path::new(""), 0, most, &mut found);
    found.retain(|file| file != Path::new(FILE));
    found.sort_unstable();
    found
}

fn list_files(folder: &Path, below: &Path, depth: usize, most: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder.join(below)) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let relative = below.join(entry.file_name());
        if entry.file_name().to_string_lossy().starts_with('.') || found.len() > most {
            continue;
        }
        if kind.is_dir() && depth < 4 {
            list_files(folder, &relative, depth + 1, most, found);
        } else if kind.is_file() {
            found.push(relative);
        }
    }
}

/// Reads one file inside a skill's folder, up to a bound. Links do not lead out of it. An error is the second half of a sentence.
pub fn read_inside(folder: &Path, relative: &Path, most: u64) -> Result<Vec<u8>, String> {
    let plain = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain || relative.as_os_str().is_empty() {
        return Err("is not a file inside the skill's folder".to_owned());
    }
    let (folder, file) = match (folder.canonicalize(), folder.join(relative).canonicalize()) {
        (Ok(folder), Ok(file)) => (folder, file),
        _ => return Err("does not exist".to_owned()),
    };
    if !file.starts_with(&folder) {
        return Err("leads out of the skill's folder".to_owned());
    }
    match read_head(&file, most + 1)? {
        Some(bytes) if bytes.len() as u64 > most => Err(format!("is larger than {most} bytes")),
        Some(bytes) => Ok(bytes),
        None => Err("does not exist".to_owned()),
    }
}

/// Reads the beginning of a regular file; `None` where there is none.
pub fn read_head(file: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    read_at(CWD, file, most)
}

/// Reads the beginning of a regular file below a folder. A pipe is not waited for.
fn read_at(folder: impl AsFd, file: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match openat(folder, file, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        // A socket.
        Err(Errno::NXIO) => return Err("is not a regular file".to_owned()),
        Err(error) => return Err(failed(error.into())),
    };
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if meta.len() > MAX_BYTES.max(most) {
        return Err(too_large());
    }
    // Its size is known, so that its end need not be looked for.
    let mut bytes = vec![0; meta.len().min(most) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

fn too_large() -> String {
    format!("is larger than {MAX_BYTES} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn skill(name: &str) -> String {
        format!("---\nname: {name}\ndescription: About {name}\n---\n# Body\n")
    }

    #[test]
    fn a_folder_of_skills() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        write(&root.join("b/SKILL.md"), &skill("b"));
        write(&root.join("a/SKILL.md"), &skill("a"));
        write(&root.join("a/scripts/run.sh"), "true");
        write(&root.join("broken/SKILL.md"), "nothing");
        write(&root.join("empty/README.md"), "no skill");
        std::fs::create_dir_all(root.join("dir/SKILL.md")).unwrap();
        let found = of_user(root);
        let names: Vec<_> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
        assert_eq!(files(&root.join("a"), 10), [Path::new("scripts/run.sh")]);
        let inside = |name: &str| read_inside(&root.join("a"), Path::new(name), 64);
        assert_eq!(inside("scripts/run.sh").unwrap(), b"true");
        for bad in ["../b/SKILL.md", "/etc/passwd", "", "missing"] {
            assert!(inside(bad).is_err(), "{bad}");
        }
        std::os::unix::fs::symlink(root.join("b/SKILL.md"), root.join("a/link")).unwrap();
        assert_eq!(inside("link"), Err("leads out of the skill's folder".to_owned()));
    }

    /// SK-3: a change anywhere in the folder is another skill.
    #[test]
    fn a_projects_skills_are_known_by_their_content() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        write(&root.join(".claude/skills/a/SKILL.md"), &skill("a"));
        write(&root.join(".claude/skills/a/scripts/run.sh"), "true");
        write(&root.join(".zori/skills/a/SKILL.md"), &skill("a"));
        let first = of_project(&root, &mut None);
        assert_eq!(first.0.skills.len(), 1);
        assert!(first.0.skills[0].folder.ends_with(".zori/skills/a"));
        std::fs::remove_dir_all(root.join(".zori")).unwrap();
        let second = of_project(&root, &mut None);
        assert_ne!(first.1, second.1);
        assert_eq!(of_project(&root, &mut None).1, second.1);
        write(&root.join(".claude/skills/a/scripts/run.sh"), "rm");
        assert_ne!(of_project(&root, &mut None).1, second.1);
        std::os::unix::fs::symlink("/etc", root.join(".claude/skills/b")).unwrap();
        assert_eq!(of_project(&root, &mut None).0.skills.len(), 1);
    }
}
