//! The files as a compressed tar archive: for any Linux, and the two inner archives of a Debian package.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{Package, PackagedFile, Release};

/// Packs everything into one folder, which says version and platform.
pub fn pack(release: &Release, files: &[PackagedFile]) -> Result<Package> {
    let folder = format!("zori-{}-{}-unknown-linux-gnu", release.version, release.arch);
    let bytes = gzipped(files.iter().map(|file| (format!("{folder}/{}", file.path), file)))?;
    Ok(Package { name: format!("{folder}.tar.gz"), bytes })
}

/// Writes files under the paths they are to have, each folder before what is in it, without a time or an owner.
pub fn gzipped<'a>(files: impl Iterator<Item = (String, &'a PackagedFile)>) -> Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = Builder::new(gzip);
    let mut folders = BTreeSet::new();
    for (path, file) in files {
        let parts = path.match_indices('/').map(|(at, _)| &path[..=at]);
        for folder in parts.filter(|part| !matches!(*part, "./")) {
            if folders.insert(folder.to_owned()) {
                append(&mut archive, folder, EntryType::Directory, 0o755, &[])?;
            }
        }
        append(&mut archive, &path, EntryType::Regular, file.mode(), &file.bytes)?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn append(
    archive: &mut Builder<impl Write>,
    path: &str,
    kind: EntryType,
    mode: u32,
    bytes: &[u8],
) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes.len() as u64);
    archive.append_data(&mut header, path, bytes).with_context(|| format!("cannot pack {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_nothing_of_this_machine_goes_in() {
        let (release, files) = super::super::sample();
        let package = pack(&release, &files).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(package.bytes.as_slice()));
        let listed: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                let owner = (header.uid().unwrap(), header.mtime().unwrap());
                format!("{:o} {owner:?} {path}", header.mode().unwrap())
            })
            .collect();
        assert_eq!(package.name, "zori-1.2.3-x86_64-unknown-linux-gnu.tar.gz");
        assert_eq!(
            listed,
            [
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/",
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/bin/",
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/bin/zori",
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/share/",
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/share/doc/",
                "755 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/share/doc/zori/",
                "644 (0, 0) zori-1.2.3-x86_64-unknown-linux-gnu/share/doc/zori/LICENSE-MIT",
            ]
        );
    }
}
