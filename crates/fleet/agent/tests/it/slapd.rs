//! A real OpenLDAP server of a test's own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shortflow_agent::Bundle;
use shortflow_agent::ldap;

/// The entry below which repositories are.
pub(crate) const BASE: &str = "ou=shortflow,dc=example,dc=org";
/// Who may do everything, with the password `secret`.
pub(crate) const ADMIN: &str = "cn=admin,dc=example,dc=org";

/// The folder with the schema. Tests of crates at different depths include this file.
pub(crate) fn schema() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = above.map(|folder| folder.join("docs/ldap"));
    folders.find(|folder| folder.exists()).expect("the repository has docs/ldap")
}

/// What a server is like.
#[derive(Default)]
pub(crate) struct Like {
    /// Lines for the server as a whole: TLS.
    pub(crate) server: String,
    /// Lines for the database: who may read, what synchronises.
    pub(crate) database: String,
    /// More places at which it listens.
    pub(crate) urls: Vec<String>,
}

/// A slapd on a loopback port, with its data in a folder.
pub(crate) struct Slapd {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) folder: PathBuf,
    urls: String,
}

impl Slapd {
    /// With its data in `folder`; none where there is no slapd, which is told.
    pub(crate) fn start(folder: &Path, like: &Like) -> Option<Slapd> {
        let program = Path::new("/usr/sbin/slapd");
        let tools = Command::new("ldapadd").arg("-VV").output().is_ok();
        if !program.exists() || !tools {
            assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
            eprintln!(
                "skipped: needs slapd and ldap-utils (Debian: apt-get install slapd ldap-utils)"
            );
            return None;
        }
        let data = folder.join("data");
        std::fs::create_dir_all(&data).unwrap();
        let configuration = format!(
            "include /etc/ldap/schema/core.schema\ninclude {}\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n\
             moduleload syncprov\n{}\ndatabase mdb\nsuffix \"dc=example,dc=org\"\nrootdn \"{ADMIN}\"\nrootpw secret\n\
             directory {}\n{}\n",
            schema().canonicalize().unwrap().join("shortflow.schema").display(),
            like.server,
            data.display(),
            like.database,
        );
        std::fs::write(folder.join("slapd.conf"), configuration).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("ldap://127.0.0.1:{port}");
        let urls = std::iter::once(url.clone())
            .chain(like.urls.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ");
        let mut slapd = Slapd { child: run(folder, &urls), url, folder: folder.to_owned(), urls };
        slapd.answers();
        Some(slapd)
    }

    /// The same with a repository in it.
    pub(crate) fn with(folder: &Path, like: &Like, repository: &Bundle) -> Option<Slapd> {
        let slapd = Slapd::start(folder, like)?;
        let top = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n";
        slapd.take("ldapadd", top);
        slapd.take("ldapadd", &ldap::write(&ldap::entries(repository, BASE)));
        Some(slapd)
    }

    /// Ends it, as a machine that fails.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, over the same data.
    pub(crate) fn again(&mut self) {
        self.child = run(&self.folder, &self.urls);
        self.answers();
    }

    /// Has a tool of OpenLDAP take a text.
    pub(crate) fn take(&self, tool: &str, text: &str) {
        let file = self.folder.join("input.ldif");
        std::fs::write(&file, text).unwrap();
        assert!(
            self.tool(tool, &["-f", file.to_str().unwrap()]).is_some(),
            "{tool} does not take:\n{text}"
        );
    }

    /// Puts another text in the place of that at a path.
    pub(crate) fn replace(&self, path: &str, text: &str) {
        let entry = ldap::Entry::new(
            String::new(),
            vec![("shortflowText".to_owned(), text.as_bytes().to_vec())],
        );
        let value = ldap::write(&[entry]);
        let value = value.split_once("shortflowText").unwrap().1;
        let change = format!(
            "dn: cn={path},{BASE}\nchangetype: modify\nreplace: shortflowText\nshortflowText{value}"
        );
        self.take("ldapmodify", &change);
    }

    /// What a tool of OpenLDAP prints; none where it fails.
    pub(crate) fn tool(&self, name: &str, arguments: &[&str]) -> Option<String> {
        let bound = ["-x", "-H", &self.url, "-D", ADMIN, "-w", "secret"];
        let ended = Command::new(name).args(bound).args(arguments).output().unwrap();
        ended.status.success().then(|| String::from_utf8(ended.stdout).unwrap())
    }

    fn answers(&mut self) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.tool("ldapsearch", &["-LLL", "-s", "base", "-b", ""]).is_none() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "slapd does not answer: {ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(folder: &Path, urls: &str) -> Child {
    Command::new("/usr/sbin/slapd")
        .args(["-d", "0", "-h", urls, "-f"])
        .arg(folder.join("slapd.conf"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
