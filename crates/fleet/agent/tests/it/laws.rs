//! What holds of any bytes as entries of a directory in their text form, and as a request at the control socket.

use std::path::{Component, Path};

use shortflow_agent::{Ask, Bundle, Fleet, ldap};

/// The laws of entries: nothing brings the readers down, a mistake is told with its place, and what was read is read again
/// as it is written.
pub(crate) fn entries(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let reported = |mistakes: shortflow_text::Diagnostics| {
        assert!(mistakes.to_string().contains("error"), "{mistakes}");
    };
    if let Ok(read) = ldap::parse("a", text) {
        let again = ldap::parse("b", &ldap::write(&read)).expect("what is written is read");
        assert_eq!(again.len(), read.len());
        for (again, read) in again.iter().zip(&read) {
            assert_eq!((&again.dn, &again.attributes), (&read.dn, &read.attributes));
        }
    }
    match ldap::read("a", text.to_owned()) {
        Err(mistakes) => reported(mistakes),
        Ok(bundle) => of_bundle(&bundle),
    }
}

/// Whatever a repository says, its texts stay in their folder, and it goes through a directory as it is.
fn of_bundle(bundle: &Bundle) {
    for (path, _) in bundle.files() {
        let mut parts = Path::new(path).components();
        assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{path}");
    }
    let text = ldap::write(&ldap::entries(bundle, "ou=shortflow"));
    let again = ldap::read("b", text).expect("what is exported is imported");
    assert_eq!(&again, bundle);
    if let Err(mistakes) = Fleet::check(bundle) {
        assert!(!mistakes.to_string().is_empty());
    }
}

/// The laws of requests: one is refused in words, or is the one that its line says.
pub(crate) fn request(bytes: &[u8]) {
    match Ask::parse(&String::from_utf8_lossy(bytes)) {
        // What is not UTF-8 is told as three bytes for each.
        Err(error) => {
            let why = error.to_string();
            assert!(!why.is_empty() && why.len() <= 3 * bytes.len() + 200, "{why}");
        }
        Ok(ask) => assert_eq!(Ask::parse(ask.line().trim_end()).unwrap(), ask),
    }
}
