//! `scripts/install.sh` installs an archive only if its checksum is right and it was built for this
//! machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// An archive as made by `scripts/release`, with a program that only prints its version, and the
/// checksum next to it.
fn archive(folder: &Path, target: &str) -> String {
    let name = format!("monobloc-9.8.7-{target}");
    let inside = folder.join(&name);
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("monobloc"), "#!/bin/sh\necho monobloc 9.8.7\n").unwrap();
    fs::set_permissions(inside.join("monobloc"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(inside.join("monobloc.bash"), "complete monobloc\n").unwrap();
    fs::write(inside.join("README.md"), "# monobloc\n").unwrap();
    let made = format!("tar -cJf {name}.tar.xz {name} && sha256sum {name}.tar.xz >{name}.tar.xz.sha256");
    let status = Command::new("sh").args(["-c", &made]).current_dir(folder).status().unwrap();
    assert!(status.success(), "tar, xz and sha256sum are needed");
    format!("{}/{name}.tar.xz", folder.display())
}

fn install(archive: &str, prefix: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/install.sh");
    Command::new("sh").arg(script).args([archive, "--prefix"]).arg(prefix).output().unwrap()
}

fn here() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

#[test]
fn an_archive_is_installed_from_a_url_and_over_an_earlier_version() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("a place");
    let url = format!("file://{}", archive(dir.path(), &here()));
    for _ in 0..2 {
        let output = install(&url, &prefix);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.starts_with("monobloc 9.8.7 is installed as "), "{output:?}");
    }
    let program = Command::new(prefix.join("bin/monobloc")).output().unwrap();
    assert_eq!(program.stdout, b"monobloc 9.8.7\n");
    for file in ["share/bash-completion/completions/monobloc", "share/doc/monobloc/README.md"] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let left = fs::read_dir(prefix.join("bin")).unwrap().count();
    assert_eq!(left, 1, "only the program stays in bin");
}

#[test]
fn a_damaged_or_foreign_archive_installs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("place");
    let refused = |archive: &str, why: &str| {
        let output = install(archive, &prefix);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(why), "{archive}: {output:?}");
        assert!(!prefix.exists(), "{archive}");
    };
    let good = archive(dir.path(), &here());
    let bytes = fs::read(&good).unwrap();
    fs::write(&good, [&bytes[..], b"x"].concat()).unwrap();
    refused(&good, "nothing was installed");
    fs::write(&good, &bytes).unwrap();
    fs::remove_file(format!("{good}.sha256")).unwrap();
    refused(&good, ".sha256 cannot be read");
    refused(&archive(dir.path(), "riscv64gc-unknown-linux-gnu"), "is not for this machine");
    refused("other.zip", "is not an archive of monobloc");
}
