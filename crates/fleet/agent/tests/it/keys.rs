//! Certificates of an authority that a test makes, by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An authority, and certificates of it for 127.0.0.1 and for agents, in a folder.
pub(crate) fn certificates(folder: &Path) -> Option<PathBuf> {
    let openssl = |arguments: &str| {
        let ended = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .output()
            .ok()?;
        assert!(ended.status.success(), "{arguments}: {}", String::from_utf8_lossy(&ended.stderr));
        Some(())
    };
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(
        folder.join("server"),
        "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n",
    )
    .unwrap();
    std::fs::write(folder.join("agents"), "subjectAltName=DNS:agents\nbasicConstraints=CA:FALSE\n")
        .unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let of = |name: &str| {
        openssl(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"))?;
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem -days 2 -extfile {name}"
        ))
    };
    let done = openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=ca -days 2"))
        .and_then(|()| of("server"))
        .and_then(|()| of("agents"));
    if done.is_none() {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs openssl (Debian: apt-get install openssl)");
    }
    done.map(|()| folder.join("ca.pem"))
}
