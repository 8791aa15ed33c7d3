//! Many agents in one process, each with a connection of its own to one directory, and devices that are none.

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use shortflow_agent::{
    Bind, Bundle, Control, Directory, DirectoryOptions, FLEET, Fetched, Listeners, NotFetched,
    PublishError, Source, StubPlane, Transport, Verdict, What, run,
};

use crate::slapd::{ADMIN, BASE, Like, Slapd};
use crate::support::bundle;

/// A fleet of so many machines, with this rate.
fn repository(machines: usize, rate: &str) -> Bundle {
    let mut text = String::new();
    for number in 0..machines {
        writeln!(
            text,
            "[machines.m{number}]\ninterfaces.wan = {{ device = \"eth0\", rate = \"{rate}\" }}\n"
        )
        .unwrap();
    }
    text += "[[assign]]\npolicy = \"policies/fq-codel.toml\"\n";
    bundle(&text, &[]).needed()
}

/// A directory that is read, and who reads it at once.
struct Watched {
    directory: Directory,
    reads: Arc<Reads>,
}

#[derive(Default)]
struct Reads {
    all: AtomicUsize,
    now: AtomicUsize,
    max: AtomicUsize,
    failed: AtomicUsize,
}

impl Source for Watched {
    fn name(&self) -> String {
        self.directory.name()
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        let now = self.reads.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.reads.max.fetch_max(now, Ordering::Relaxed);
        self.reads.all.fetch_add(1, Ordering::Relaxed);
        let fetched = self.directory.fetch();
        self.reads.failed.fetch_add(usize::from(fetched.is_err()), Ordering::Relaxed);
        self.reads.now.fetch_sub(1, Ordering::Relaxed);
        fetched
    }

    fn wait(&mut self, patience: Duration) -> bool {
        self.directory.wait(patience)
    }

    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError> {
        self.directory.tell(verdict)
    }
}

/// What a change took.
struct Figures {
    /// Until so many of a hundred machines had it on their devices, in seconds: 50, 90, 100.
    converged: [f64; 3],
    reads: usize,
    max_at_once: usize,
    failed: usize,
    slapd_cpu: f64,
    agents_cpu: f64,
    slapd_mb: f64,
    agents_mb: f64,
}

/// CPU seconds of a process, user and system, and its memory in MB (proc(5)).
fn taken(pid: u32) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().unwrap()).sum();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: f64 = rss.split_whitespace().next().unwrap().parse().unwrap();
    (ticks / 100.0, kilobytes / 1024.0)
}

/// Waits until all of these have been counted.
fn until(counted: &Mutex<Vec<Instant>>, wanted: usize, patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        let there = counted.lock().unwrap().len();
        if there >= wanted {
            return;
        }
        assert!(Instant::now() < until, "{there} of {wanted} machines within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// So many agents take a first version, and then a change; none where there is no slapd.
fn many(machines: usize) -> Option<Figures> {
    // Machines have disks of their own; here all states are in memory.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let server = "threads 8\nsizelimit unlimited".to_owned();
    let like = Like { server, database: "overlay syncprov".to_owned(), ..Like::default() };
    let slapd = Slapd::with(folder.path(), &like, &repository(machines, "95 Mbit/s"))?;
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let (reads, installed) = (Arc::new(Reads::default()), Arc::new(Mutex::new(Vec::new())));
    let (_, memory) = taken(std::process::id());
    let start = |number: usize| {
        let bind = Bind::Simple { dn: ADMIN.to_owned(), password: "secret".to_owned() };
        let options =
            DirectoryOptions::new(&slapd.url, BASE, bind, Transport::AsUrl, None, None).unwrap();
        let directory = Directory::new(options).unwrap();
        let source = Box::new(Watched { directory, reads: reads.clone() });
        let (state, installed) = (folder.path().join(format!("m{number}")), installed.clone());
        let control =
            Control::listen(&folder.path().join(format!("m{number}.sock")), None).unwrap();
        let sockets = Listeners { control, metrics: None, page: None };
        let tell = move |event: &shortflow_agent::Event| {
            if matches!(event.what, What::Installed { .. }) {
                installed.lock().unwrap().push(Instant::now());
            }
        };
        std::thread::spawn(move || {
            run(&format!("m{number}"), source, &state, &sockets, StubPlane::default(), stop, tell)
                .unwrap();
        })
    };
    let mut threads = Vec::new();
    for number in 0..machines {
        threads.push(start(number));
        // Machines are not switched on at one moment; what is measured is the change.
        std::thread::sleep(Duration::from_millis(5));
    }
    until(&installed, machines, Duration::from_secs(120));
    std::thread::sleep(Duration::from_secs(2));

    let (slapd_before, agents_before) = (taken(slapd.child.id()), taken(std::process::id()));
    reads.max.store(0, Ordering::Relaxed);
    let reads_before = reads.all.load(Ordering::Relaxed);
    let began = Instant::now();
    slapd.replace(FLEET, repository(machines, "90 Mbit/s").text(FLEET).unwrap());
    until(&installed, 2 * machines, Duration::from_secs(60));
    let (slapd_after, agents_after) = (taken(slapd.child.id()), taken(std::process::id()));
    let mut times: Vec<f64> = installed.lock().unwrap()[machines..]
        .iter()
        .map(|at| (*at - began).as_secs_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    Some(Figures {
        converged: [50, 90, 100].map(|part| times[(times.len() * part).div_ceil(100) - 1]),
        reads: reads.all.load(Ordering::Relaxed) - reads_before,
        max_at_once: reads.max.load(Ordering::Relaxed),
        failed: reads.failed.load(Ordering::Relaxed),
        slapd_cpu: slapd_after.0 - slapd_before.0,
        agents_cpu: agents_after.0 - agents_before.0,
        slapd_mb: slapd_after.1,
        agents_mb: agents_after.1 - memory,
    })
}

/// What stands between the marks of a page is written anew.
fn into_the_page(table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/performance.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (begin, end) = ("<!-- begin: agents -->\n", "<!-- end: agents -->");
    let (before, rest) = text.split_once(begin).expect("the page has a place for it");
    let (_, after) = rest.split_once(end).expect("which ends");
    std::fs::write(&page, format!("{before}{begin}\n{table}\n{end}{after}")).unwrap();
}

/// A row of the table of docs/performance.md.
fn row(machines: usize, of: &Figures) -> String {
    let [half, max, all] = of.converged;
    let each = |value: f64| value / machines as f64;
    format!(
        "| {machines} | {half:.2} | {max:.2} | {all:.2} | {} | {} | {:.2} | {:.0} | {:.1} | {:.2} |\n",
        of.reads,
        of.max_at_once,
        of.slapd_cpu,
        of.slapd_mb,
        each(of.agents_cpu) * 1e3,
        each(of.agents_mb),
    )
}

/// Fifty are within five seconds. `make bench-agents` asks for more by SHORTFLOW_AGENTS, and keeps what it finds.
#[test]
fn many_agents_have_a_change_of_one_directory_soon_and_read_it_once() {
    let head = [
        "agents",
        "half, s",
        "90 %, s",
        "all, s",
        "reads",
        "most at once",
        "slapd, CPU s",
        "slapd, MB",
        "an agent, CPU ms",
        "an agent, MB",
    ];
    let mut table = format!("| {} |\n|{}\n", head.join(" | "), " ---: |".repeat(head.len()));
    let asked = std::env::var("SHORTFLOW_AGENTS").ok();
    for machines in asked.as_deref().unwrap_or("50").split(',') {
        let machines = machines.parse().unwrap();
        let Some(of) = many(machines) else { return };
        assert_eq!(of.failed, 0);
        // One that reads in any case just then reads twice.
        assert!((machines..machines * 3 / 2).contains(&of.reads), "{} reads", of.reads);
        assert!(machines > 50 || of.converged[2] < 5.0, "{:?}", of.converged);
        table += &row(machines, &of);
    }
    println!("{table}");
    if asked.is_some() {
        into_the_page(&table);
    }
}
