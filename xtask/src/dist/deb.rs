//! The files as a Debian package: an `ar` archive of a version line, the control file and the files.

use anyhow::{Result, bail};

use super::{Package, PackagedFile, Release, tarball};

/// Packs everything below `/usr`.
pub fn pack(release: &Release, files: &[PackagedFile]) -> Result<Package> {
    let arch = match release.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("Debian's name for the processor `{other}` is not known here"),
    };
    let control =
        PackagedFile { path: "control".to_owned(), bytes: control(release, files, arch), executable: false };
    let mut bytes = b"!<arch>\n".to_vec();
    member(&mut bytes, "debian-binary", b"2.0\n");
    member(
        &mut bytes,
        "control.tar.gz",
        &tarball::gzipped([("./control".to_owned(), &control)].into_iter())?,
    );
    let placed = files.iter().map(|file| (format!("./usr/{}", file.path), file));
    member(&mut bytes, "data.tar.gz", &tarball::gzipped(placed)?);
    Ok(Package { name: format!("zori_{}_{arch}.deb", release.version), bytes })
}

fn control(release: &Release, files: &[PackagedFile], arch: &str) -> Vec<u8> {
    let kib = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum::<usize>();
    format!(
        "Package: zori\nVersion: {}\nArchitecture: {arch}\nMaintainer: The zori authors <zori@localhost>\n\
         Installed-Size: {kib}\nDepends: libc6 (>= {}), libgcc-s1\nSuggests: bubblewrap\nSection: devel\n\
         Priority: optional\nDescription: {}\n It reads, edits and runs things in your working directory until the model says it is\n \
         done, and keeps the conversation in a plain file.\n",
        release.version, release.libc, release.about
    )
    .into_bytes()
}

/// Appends a member with its header of fixed columns. Members start at even places.
fn member(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    archive
        .extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, bytes.len()).bytes());
    archive.extend(bytes);
    if bytes.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_says_what_it_needs() {
        let (release, files) = super::super::sample();
        let text = String::from_utf8(control(&release, &files, "amd64")).unwrap();
        assert_eq!(
            text,
            "Package: zori\nVersion: 1.2.3\nArchitecture: amd64\nMaintainer: The zori authors <zori@localhost>\n\
             Installed-Size: 2\nDepends: libc6 (>= 2.34), libgcc-s1\nSuggests: bubblewrap\nSection: devel\n\
             Priority: optional\nDescription: About.\n It reads, edits and runs things in your working directory until the model says it is\n \
             done, and keeps the conversation in a plain file.\n"
        );
    }

    #[test]
    fn members_have_their_columns_and_start_at_even_places() {
        let mut archive = Vec::new();
        member(&mut archive, "odd", b"abc");
        assert_eq!(
            String::from_utf8(archive).unwrap(),
            "odd             0           0     0     100644  3         `\nabc\n"
        );
    }

    #[test]
    fn a_processor_nobody_named() {
        let (mut release, files) = super::super::sample();
        release.arch = "m68k";
        let error = pack(&release, &files).map(|package| package.name).unwrap_err();
        assert_eq!(error.to_string(), "Debian's name for the processor `m68k` is not known here");
    }
}
