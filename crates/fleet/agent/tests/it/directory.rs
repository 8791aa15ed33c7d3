//! An agent's source in a real OpenLDAP server.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use shortflow_agent::{
    Bind, Bundle, Directory, DirectoryOptions, FLEET, Source, Transport, Verdict, ldap,
};

use crate::keys::certificates;
use crate::slapd::{ADMIN, BASE, Like, Slapd};

const SYNCHRONISING: &str = "overlay syncprov";

fn repository(rate: &str) -> Bundle {
    let text =
        format!("[machines.gw1]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n");
    Bundle::new([(FLEET.to_owned(), text)])
}

fn admin() -> Bind {
    Bind::Simple { dn: ADMIN.to_owned(), password: "secret".to_owned() }
}

fn directory(url: &str, bind: Bind, starttls: bool, authorities: Option<&Path>) -> Directory {
    let options =
        DirectoryOptions::new(url, BASE, bind, transport(starttls), authorities, None).unwrap();
    Directory::new(options).unwrap()
}

fn transport(starttls: bool) -> Transport {
    if starttls { Transport::StartTls } else { Transport::AsUrl }
}

/// How long the source takes until it rings, or nothing if it does not within so long.
fn rings(source: &mut Directory, patience: Duration) -> Option<Duration> {
    let began = Instant::now();
    while began.elapsed() < patience {
        if source.wait(Duration::from_millis(100)) {
            return Some(began.elapsed());
        }
    }
    None
}

/// Waits until nothing rings any more: the refresh at the beginning does.
fn settle(source: &mut Directory) {
    while source.wait(Duration::from_millis(300)) {}
}

#[test]
fn a_change_rings_at_once_where_the_server_synchronises_content() {
    let folder = tempfile::tempdir().unwrap();
    let like = Like { database: SYNCHRONISING.to_owned(), ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else { return };
    let mut source = directory(&slapd.url, admin(), false, None);
    let fetched = source.fetch().unwrap();
    assert_eq!((&fetched.bundle, fetched.who.as_str()), (&repository("95 Mbit/s"), ADMIN));
    settle(&mut source);
    assert_eq!(rings(&mut source, Duration::from_millis(500)), None, "nothing has changed");
    slapd.replace(FLEET, repository("90 Mbit/s").text(FLEET).unwrap());
    let after = rings(&mut source, Duration::from_secs(5)).expect("it rings");
    assert!(after < Duration::from_secs(2), "{after:?}");
    assert_eq!(source.fetch().unwrap().bundle, repository("90 Mbit/s"));
}

#[test]
fn without_synchronisation_a_change_is_found_by_reading_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(slapd) = Slapd::with(folder.path(), &Like::default(), &repository("95 Mbit/s")) else {
        return;
    };
    let mut source = directory(&slapd.url, admin(), false, None);
    source.fetch().unwrap();
    settle(&mut source);
    slapd.replace(FLEET, repository("90 Mbit/s").text(FLEET).unwrap());
    assert_eq!(rings(&mut source, Duration::from_millis(500)), None);
    assert_eq!(source.fetch().unwrap().bundle, repository("90 Mbit/s"));
}

#[test]
fn a_server_that_goes_is_told_and_found_again_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let like = Like { database: SYNCHRONISING.to_owned(), ..Like::default() };
    let Some(mut slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else {
        return;
    };
    let mut source = directory(&slapd.url, admin(), false, None);
    source.fetch().unwrap();
    settle(&mut source);
    slapd.kill();
    assert!(
        rings(&mut source, Duration::from_secs(5)).is_some(),
        "the end of the connection rings"
    );
    let why = source.fetch().unwrap_err().to_string();
    assert!(why.starts_with("cannot connect: "), "{why}");
    assert_eq!(source.fetch().unwrap_err().to_string(), why, "it is not asked again at once");
    slapd.again();
    assert!(rings(&mut source, Duration::from_secs(5)).is_some());
    assert_eq!(source.fetch().unwrap().bundle, repository("95 Mbit/s"));
}

#[test]
fn a_wrong_password_and_an_entry_that_is_not_there_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let Some(slapd) = Slapd::start(folder.path(), &Like::default()) else { return };
    let wrong = Bind::Simple { dn: ADMIN.to_owned(), password: "wrong".to_owned() };
    let why =
        |bind: Bind| directory(&slapd.url, bind, false, None).fetch().unwrap_err().to_string();
    assert_eq!(why(wrong), "authentication failed: LDAP result 49 (wrong name or password)");
    assert_eq!(why(Bind::Anonymous), "cannot search: LDAP result 32 (no such entry)");
}

/// A repository of so many policies beside its fleet.
fn of_policies(count: usize) -> Bundle {
    let policy = |at| (format!("policies/p{at}.toml"), format!("name = \"{at}\"\n"));
    let fleet = repository("95 Mbit/s").text(FLEET).unwrap().to_owned();
    Bundle::new((0..count).map(policy).chain([(FLEET.to_owned(), fleet)]))
}

#[test]
fn more_entries_than_a_server_gives_at_a_time_come_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let database = "limits anonymous size.soft=500 size.hard=unlimited".to_owned();
    let like = Like { database, ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &of_policies(621)) else { return };
    let whole = Command::new("ldapsearch").args(["-x", "-H", &slapd.url, "-b", BASE]).output();
    assert_eq!(whole.unwrap().status.code(), Some(4), "without pages there are 500");
    let mut source = directory(&slapd.url, Bind::Anonymous, false, None);
    assert_eq!(source.fetch().unwrap().bundle, of_policies(621));
}

#[test]
fn where_a_limit_ends_the_synchronisation_changes_are_found_by_reading_again() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("limits anonymous size.soft=5 size.hard=unlimited\n{SYNCHRONISING}");
    let like = Like { database, ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &of_policies(21)) else { return };
    let mut source = directory(&slapd.url, Bind::Anonymous, false, None);
    assert_eq!(source.fetch().unwrap().bundle, of_policies(21));
    settle(&mut source);
    slapd.replace(FLEET, repository("90 Mbit/s").text(FLEET).unwrap());
    assert_eq!(rings(&mut source, Duration::from_millis(500)), None);
    let fetched = source.fetch().unwrap().bundle;
    assert_eq!(fetched.text(FLEET), repository("90 Mbit/s").text(FLEET));
}

#[test]
fn a_limit_of_the_server_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let like = Like { database: "sizelimit 20".to_owned(), ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &of_policies(21)) else { return };
    let why = directory(&slapd.url, Bind::Anonymous, false, None).fetch().unwrap_err().to_string();
    assert_eq!(
        why,
        "cannot search: LDAP result 4 (the server gives no more entries in one search; raise its size limit for the \
         agent's name)"
    );
}

#[test]
fn a_repository_that_is_in_part_or_wholly_on_another_server_is_refused_with_that_server() {
    let folder = tempfile::tempdir().unwrap();
    let Some(slapd) = Slapd::with(folder.path(), &Like::default(), &repository("95 Mbit/s")) else {
        return;
    };
    let there = "ldap://127.0.0.1:3999/ou=shortflow,dc=example,dc=net";
    let branch = |dn: &str| {
        format!("dn: {dn}\nobjectClass: referral\nobjectClass: extensibleObject\nref: {there}\n")
    };
    slapd.take("ldapadd", &branch(&format!("cn=branch,{BASE}")));
    slapd.take("ldapadd", &branch("ou=moved,dc=example,dc=org"));
    let words = format!("the server refers to another one for entries below the base: {there}");
    for base in [BASE, "ou=moved,dc=example,dc=org"] {
        let options =
            DirectoryOptions::new(&slapd.url, base, admin(), Transport::AsUrl, None, None);
        let why = Directory::new(options.unwrap()).unwrap().fetch().unwrap_err().to_string();
        assert!(why.starts_with(&words), "{base}: {why}");
    }
}

#[test]
fn an_entry_with_a_mistake_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(slapd) = Slapd::with(folder.path(), &Like::default(), &repository("95 Mbit/s")) else {
        return;
    };
    slapd.take("ldapmodify", &format!("dn: cn={FLEET},{BASE}\nchangetype: modify\nreplace: shortflowText\nshortflowText:: YWL/\n"));
    let why = directory(&slapd.url, admin(), false, None).fetch().unwrap_err().to_string();
    assert!(
        why.contains(&format!("cn={FLEET},{BASE}: `shortflowText` is not valid UTF-8 from byte 3")),
        "{why}"
    );
}

#[test]
fn the_user_of_a_socket_is_known_by_sasl_external() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("ldapi");
    let url = format!("ldapi://{}", socket.to_str().unwrap().replace('/', "%2F"));
    let user = nix::unistd::getuid();
    let me = format!(
        "gidNumber={}+uidNumber={user},cn=peercred,cn=external,cn=auth",
        nix::unistd::getgid()
    );
    let database = format!("access to * by dn.exact=\"{me}\" read by * none");
    let like = Like { database, urls: vec![url.clone()], ..Like::default() };
    let Some(_slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else { return };
    assert_eq!(
        directory(&url, Bind::External, false, None).fetch().unwrap().bundle,
        repository("95 Mbit/s")
    );
    assert!(directory(&url, Bind::Anonymous, false, None).fetch().is_err(), "nobody else may read");
}

/// What a server needs that has the certificate of an authority.
fn with_certificate(folder: &Path) -> String {
    format!(
        "TLSCACertificateFile {0}/ca.pem\nTLSCertificateFile {0}/server.pem\nTLSCertificateKeyFile {0}/server.key",
        folder.display()
    )
}

#[test]
fn the_owner_of_a_certificate_is_known_by_sasl_external() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let Some(authority) = certificates(&keys) else { return };
    let server = with_certificate(&keys) + "\nTLSVerifyClient try";
    let database = "access to * by dn.exact=\"cn=agents\" read by * none".to_owned();
    let like = Like { server, database, urls: Vec::new() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else { return };
    let (certificate, key) = (keys.join("agents.pem"), keys.join("agents.key"));
    let of = |bind: Bind| {
        let identity = Some((certificate.as_path(), key.as_path()));
        let options = DirectoryOptions::new(
            &slapd.url,
            BASE,
            bind,
            Transport::StartTls,
            Some(&authority),
            identity,
        );
        Directory::new(options.unwrap()).unwrap().fetch()
    };
    assert_eq!(of(Bind::External).unwrap().bundle, repository("95 Mbit/s"));
    assert!(of(Bind::Anonymous).is_err(), "nobody else may read");
}

#[test]
fn by_tls_and_starttls_a_server_is_believed_whose_certificate_is_of_the_authority_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
    let (Some(authority), Some(stranger)) = (certificates(&ours), certificates(&other)) else {
        return;
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = with_certificate(&ours);
    let ldaps = format!("ldaps://127.0.0.1:{port}");
    let like = Like { server, urls: vec![ldaps.clone()], ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else { return };
    for (url, starttls) in [(&ldaps, false), (&slapd.url, true)] {
        let fetched = directory(url, admin(), starttls, Some(&authority)).fetch();
        assert_eq!(fetched.unwrap().bundle, repository("95 Mbit/s"), "{url}");
        let refused =
            directory(url, admin(), starttls, Some(&stranger)).fetch().unwrap_err().to_string();
        assert!(refused.contains("certificate"), "{url}: {refused}");
        let named = url.replace("127.0.0.1", "localhost");
        let refused =
            directory(&named, admin(), starttls, Some(&authority)).fetch().unwrap_err().to_string();
        assert!(refused.contains("certificate"), "{named}: {refused}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_anybody_connects() {
    let refused = |url: &str, bind: Bind, starttls: bool| {
        DirectoryOptions::new(url, BASE, bind, transport(starttls), None, None)
            .err()
            .map(|error| error.to_string())
    };
    let golden = [
        (
            refused("http://a", Bind::Anonymous, false),
            "invalid directory URL \"http://a\": it must begin with ldaps://, ldap:// or ldapi://",
        ),
        (
            refused("ldaps://a", Bind::Anonymous, true),
            "--starttls is for ldap:// only: ldaps://a does not need it",
        ),
        (
            refused("ldap://a.example.org:389", admin(), false),
            "ldap://a.example.org:389 would receive the password unencrypted: use ldaps:// or --starttls",
        ),
        (
            refused("ldap://localhost:1@a.example.org", admin(), false),
            "ldap://localhost:1@a.example.org would receive the password unencrypted: use ldaps:// \
                or --starttls",
        ),
        (
            refused("ldap://a.example.org", Bind::Anonymous, false),
            "the answers of ldap://a.example.org can be changed on the way: use \
                ldaps:// or --starttls, or --allow-plaintext on a trusted network",
        ),
    ];
    for (found, message) in golden {
        assert_eq!(found.as_deref(), Some(message));
    }
    for (url, bind) in [
        ("ldap://127.0.0.1:389", admin()),
        ("ldap://[::1]:389", admin()),
        ("ldapi://%2Frun", Bind::External),
    ] {
        assert_eq!(refused(url, bind, false), None, "{url}");
    }
    let plaintext = |url: &str, bind: Bind| {
        let options = DirectoryOptions::new(url, BASE, bind, Transport::Plaintext, None, None);
        options.err().map(|error| error.to_string())
    };
    assert_eq!(plaintext("ldap://a.example.org", Bind::Anonymous), None);
    assert!(
        plaintext("ldap://a.example.org", admin()).unwrap().contains("would receive the password")
    );
    assert!(plaintext("ldaps://a", Bind::Anonymous).unwrap().contains("does not need it"));
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let none = DirectoryOptions::new(
        "ldaps://a",
        BASE,
        Bind::Anonymous,
        Transport::AsUrl,
        Some(&empty),
        None,
    )
    .err()
    .unwrap();
    assert_eq!(none.to_string(), format!("{}: the file has no certificate", empty.display()));
}

/// The rules of access in the guide for operators.
fn rules_of_the_guide() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/agent.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rules) = page.split_once("```text\n# slapd.conf: ").expect("the guide has rules");
    let (rules, _) = rules.split_once("```").expect("they end");
    format!("# {rules}")
}

#[test]
fn a_machine_says_what_it_found_in_an_entry_that_by_the_guide_s_rules_no_other_machine_can_write() {
    let folder = tempfile::tempdir().unwrap();
    let agent = |name: &str| format!("cn={name},ou=agents,dc=example,dc=org");
    let rest = "access to attrs=userPassword by anonymous auth\naccess to * by users read by anonymous auth";
    let database = format!("{SYNCHRONISING}\n{}\n{rest}", rules_of_the_guide());
    let like = Like { database, ..Like::default() };
    let Some(slapd) = Slapd::with(folder.path(), &like, &repository("95 Mbit/s")) else { return };
    slapd.take("ldapadd", &ldap::write(&[ldap::verdicts_unit(BASE)]));
    slapd.take(
        "ldapadd",
        "dn: ou=agents,dc=example,dc=org\nobjectClass: organizationalUnit\nou: agents\n",
    );
    for name in ["gw1", "gw2"] {
        let entry = format!(
            "dn: {}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: {name}\nuserPassword: secret\n",
            agent(name)
        );
        slapd.take("ldapadd", &entry);
    }
    let of = |name: &str| {
        let bind = Bind::Simple { dn: agent(name), password: "secret".to_owned() };
        directory(&slapd.url, bind, false, None)
    };
    let verdict = |machine: &str, is_worse: bool| Verdict {
        machine: machine.to_owned(),
        digest: "51ac27cbd00c".to_owned(),
        is_worse,
        why: "eth0: packets wait 40.0 ms".to_owned(),
    };
    let (mut gw1, mut gw2) = (of("gw1"), of("gw2"));
    let (who, none) = (gw1.fetch().unwrap().who, gw2.fetch().unwrap().verdicts);
    assert_eq!((who.as_str(), none), (ADMIN, Vec::new()));
    settle(&mut gw2);
    for is_worse in [true, false] {
        gw1.tell(&verdict("gw1", is_worse)).unwrap();
        assert!(rings(&mut gw2, Duration::from_secs(5)).is_some(), "it is heard of at once");
        let fetched = gw2.fetch().unwrap();
        assert_eq!(fetched.verdicts, [verdict("gw1", is_worse)]);
        assert_eq!((&fetched.bundle, fetched.who.as_str()), (&repository("95 Mbit/s"), ADMIN));
    }
    let refused = gw2.tell(&verdict("gw1", true)).unwrap_err().to_string();
    assert!(refused.starts_with("cannot write the verdict: LDAP result 50"), "{refused}");
    assert_eq!(gw2.fetch().unwrap().verdicts, [verdict("gw1", false)]);
}
