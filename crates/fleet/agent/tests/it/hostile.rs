//! Texts put together from pieces of entries and of requests, right and wrong: the laws hold.

use proptest::prelude::*;

use crate::laws;

const ENTRIES: [&str; 30] = [
    "version: 1\n",
    "dn: cn=a,ou=b\n",
    "dn:: Y249YQ==\n",
    "dn: cn=rule,cn=a,ou=b\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "# a comment\n",
    "objectClass: shortflowTextEntry\n",
    "objectClass: shortflowPolicy\n",
    "objectClass: shortflowRule\n",
    "cn: a\n",
    "cn: fleet.toml\n",
    "cn: ../a\n",
    "cn: /a\n",
    "shortflowText:: W21hY2hpbmVzLmFdCg==\n",
    "shortflowText: [machines.a]\n",
    "shortflowText:: /w==\n",
    "shortflowText:< file:///etc/passwd\n",
    "shortflowOrder: 1\n",
    "shortflowOrder: x\n",
    "shortflowAction: drop\n",
    "shortflowMeanRate: 5 Mbit/s\n",
    "shortflowBucketDepth: 20 KB\n",
    "shortflowPeakRate: 8 Mbit/s\n",
    "shortflowMaxPacket: 1500 B\n",
    "shortflowSource: \"\"\"'\n",
    "changetype: delete\n",
    ":",
];

const REQUESTS: [&str; 20] = [
    "{\"version\":1,\"do\":\"",
    "{",
    "}",
    "[",
    "]",
    "\"version\":1",
    "\"version\":1e400",
    ",",
    "\"do\":",
    "\"do\":\"status\"",
    "\"do\":\"rollback\"",
    "\"to\":",
    "1",
    "-1",
    "18446744073709551616",
    "null",
    "\"\\ud800\"",
    "\"",
    "watch",
    "reload",
];

/// Pieces in any order, with a few bytes of noise anywhere.
fn text(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::collection::vec(prop::sample::select(pieces), 0..14);
    let noise = prop::collection::vec(any::<u8>(), 0..4);
    (pieces, noise, any::<prop::sample::Index>()).prop_map(|(pieces, noise, at)| {
        let mut bytes = pieces.concat().into_bytes();
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, noise);
        bytes
    })
}

proptest! {
    #[test]
    fn any_text_of_entries_keeps_the_laws(bytes in text(&ENTRIES)) {
        laws::entries(&bytes);
    }

    #[test]
    fn any_request_keeps_the_laws(bytes in text(&REQUESTS)) {
        laws::request(&bytes);
    }
}

#[test]
fn nesting_without_end_is_refused_by_each_reader() {
    laws::request("[".repeat(4096).as_bytes());
    let deep = "a = ".to_owned() + &"[".repeat(200_000);
    let fleet = shortflow_agent::Bundle::new([("fleet.toml".to_owned(), deep)]);
    laws::entries(
        shortflow_agent::ldap::write(&shortflow_agent::ldap::entries(&fleet, "ou=a")).as_bytes(),
    );
}
