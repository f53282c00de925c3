//! The files as a Python wheel, which `pip`, `pipx` and `uv` install: a zip archive with a list of what is in it.

use std::io::Write;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest, Sha256};

use super::{Package, PackagedFile, Release};

/// Packs the program as a script, the rest below the environment's prefix.
pub fn pack(release: &Release, files: &[PackagedFile]) -> Result<Package> {
    let name = format!("zori-{}", release.version);
    let tag = format!("py3-none-manylinux_{}_{}", release.libc.replace('.', "_"), release.arch);
    let mut zip = Zip::default();
    let mut record = String::new();
    let mut add = |path: String, bytes: &[u8], mode: u32| {
        let sum = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        record.push_str(&format!("{path},sha256={sum},{}\n", bytes.len()));
        zip.add(&path, bytes, mode)
    };
    for file in files {
        let path = match file.path.strip_prefix("bin/") {
            Some(program) => format!("{name}.data/scripts/{program}"),
            None => format!("{name}.data/data/{}", file.path),
        };
        add(path, &file.bytes, file.mode())?;
    }
    let metadata = format!(
        "Metadata-Version: 2.1\nName: zori\nVersion: {}\nSummary: {}\nLicense: MIT OR Apache-2.0\n",
        release.version, release.about
    );
    add(format!("{name}.dist-info/METADATA"), metadata.as_bytes(), 0o644)?;
    let wheel = format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    add(format!("{name}.dist-info/WHEEL"), wheel.as_bytes(), 0o644)?;
    // The list names itself without a sum.
    let path = format!("{name}.dist-info/RECORD");
    record.push_str(&format!("{path},,\n"));
    zip.add(&path, record.as_bytes(), 0o644)?;
    Ok(Package { name: format!("{name}-{tag}.whl"), bytes: zip.finish() })
}

/// A zip archive with permissions and without times. Sizes and places have 32 bits, which is enough for a program.
#[derive(Default)]
struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// 1 January 1980, the first day the format knows.
const NO_TIME: [u8; 4] = [0, 0, 0x21, 0];
const DEFLATED: u16 = 8;

impl Zip {
    fn add(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
        deflate.write_all(bytes)?;
        let packed = deflate.finish()?;
        let mut crc = Crc::new();
        crc.update(bytes);
        let at = u32::try_from(self.bytes.len())?;

        // What the header before the file and the entry in the directory have in common.
        let mut common = Vec::new();
        common.extend(20u16.to_le_bytes()); // version 2.0 unpacks it
        common.extend(0u16.to_le_bytes());
        common.extend(DEFLATED.to_le_bytes());
        common.extend(NO_TIME);
        common.extend(crc.sum().to_le_bytes());
        common.extend(u32::try_from(packed.len())?.to_le_bytes());
        common.extend(u32::try_from(bytes.len())?.to_le_bytes());
        common.extend(u16::try_from(path.len())?.to_le_bytes());
        common.extend(0u16.to_le_bytes());

        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(path.bytes());
        self.bytes.extend(packed);

        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(0x0314u16.to_le_bytes()); // made on Unix, so that the permissions count
        self.directory.extend(&common);
        self.directory.extend([0; 6]); // no comment, first disk, no hints
        self.directory.extend(((0o100_000 | mode) << 16).to_le_bytes());
        self.directory.extend(at.to_le_bytes());
        self.directory.extend(path.bytes());
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        let at = self.bytes.len() as u32;
        let len = self.directory.len() as u32;
        self.bytes.extend(self.directory);
        self.bytes.extend(b"PK\x05\x06");
        self.bytes.extend([0; 4]);
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(len.to_le_bytes());
        self.bytes.extend(at.to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes_under_a_name_that_says_where_it_runs() {
        let (release, files) = super::super::sample();
        let package = pack(&release, &files).unwrap();
        assert_eq!(package.name, "zori-1.2.3-py3-none-manylinux_2_34_x86_64.whl");
        assert_eq!(package.bytes, pack(&release, &files).unwrap().bytes);
    }

    /// Another program reads it. `cargo xtask dist --check` has pip install the real one.
    #[test]
    fn python_unpacks_it() {
        let (release, files) = super::super::sample();
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.whl");
        std::fs::write(&path, pack(&release, &files).unwrap().bytes).unwrap();
        let script = "import sys, zipfile\n\
             z = zipfile.ZipFile(sys.argv[1])\n\
             assert z.testzip() is None\n\
             for i in z.infolist(): print(oct(i.external_attr >> 16), i.filename, z.read(i)[:6])";
        let Some(python) = zori_testkit::needs::program("python3") else { return };
        let output = Command::new(python).args(["-c", script]).arg(&path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "0o100755 zori-1.2.3.data/scripts/zori b'binary'\n\
             0o100644 zori-1.2.3.data/data/share/doc/zori/LICENSE-MIT b'MIT'\n\
             0o100644 zori-1.2.3.dist-info/METADATA b'Metada'\n\
             0o100644 zori-1.2.3.dist-info/WHEEL b'Wheel-'\n\
             0o100644 zori-1.2.3.dist-info/RECORD b'zori-1'\n"
        );
    }
}
