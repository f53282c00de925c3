//! `/upload PATH`: a file of the person's goes into the folder `uploads/` of the project (UI-10).

use std::fs;
use std::path::Path;

/// Copies a file; returns what to say about it, or what is wrong.
pub(super) fn upload(root: &Path, path: &str) -> Result<String, String> {
    let path = path.trim().trim_matches(['"', '\'']);
    if path.is_empty() {
        return Err("`/upload PATH` copies a file into uploads/".to_owned());
    }
    let source = root.join(path);
    if !source.is_file() {
        return Err(format!("File not found: {path}"));
    }
    let folder = root.join("uploads");
    let told = |error: std::io::Error| format!("{path} was not copied: {error}");
    fs::create_dir_all(&folder).map_err(told)?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending =
        source.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    for number in 0..1000 {
        let name = match number {
            0 => format!("{stem}{ending}"),
            number => format!("{stem}-{number}{ending}"),
        };
        // Whoever makes it first has the name.
        match fs::File::create_new(folder.join(&name)) {
            Ok(mut copy) => {
                let mut original = fs::File::open(&source).map_err(told)?;
                std::io::copy(&mut original, &mut copy).map_err(told)?;
                return Ok(format!("Copied to uploads/{name}"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(told(error)),
        }
    }
    Err(format!("{path} was not copied: uploads/ has too many files of that name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.txt"), "one").unwrap();
        assert_eq!(upload(root.path(), "a.txt").unwrap(), "Copied to uploads/a.txt");
        fs::write(root.path().join("a.txt"), "two").unwrap();
        assert_eq!(upload(root.path(), "a.txt").unwrap(), "Copied to uploads/a-1.txt");
        assert_eq!(fs::read_to_string(root.path().join("uploads/a.txt")).unwrap(), "one");
        assert_eq!(fs::read_to_string(root.path().join("uploads/a-1.txt")).unwrap(), "two");
        assert_eq!(upload(root.path(), "b.txt").unwrap_err(), "File not found: b.txt");
        assert!(upload(root.path(), " ").is_err());
    }
}
