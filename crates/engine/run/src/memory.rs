//! The memory limit, and the refusal of runs that exceed it.

use std::fmt;
use std::fs;

use shortflow_scenario::{Loaded, Memory};
use shortflow_units::Bytes;

/// A run that needs more memory than there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    /// The numbers, and on the second line what to do.
    pub message: String,
    /// Whether the machine lacks memory. Otherwise the run exceeds a limit that the user set.
    pub of_machine: bool,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TooLarge {}

/// Refuses a run of all points of `cases`, with `jobs` parallel replicas, if it needs more memory than
/// `stated`, or than the machine has if `stated` is `None`.
pub fn refuse_too_large(
    cases: &[&Loaded],
    jobs: Option<u16>,
    stated: Option<Bytes>,
) -> Result<(), TooLarge> {
    let Some(limit) = stated.or_else(memory_limit) else { return Ok(()) };
    let points = cases.iter().flat_map(|loaded| loaded.points());
    let (mut replicas, mut samples) = (0_u64, 0_u64);
    let mut largest: Option<Memory> = None;
    for point in points {
        let (memory, count) = (point.scenario.memory(), u64::from(point.scenario.replicas));
        replicas += count;
        samples = samples.saturating_add(memory.samples.0.saturating_mul(count));
        if largest.is_none_or(|other| other.running() < memory.running()) {
            largest = Some(memory);
        }
    }
    let Some(memory) = largest else { return Ok(()) };
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let at_once = jobs.filter(|jobs| *jobs > 0).map_or(cores, u64::from).min(replicas);
    let running = memory.running().0.saturating_mul(at_once);
    let whole = running.saturating_add(samples);
    if whole <= limit.0 {
        return stated.map_or(Ok(()), |stated| refuse_below_process(stated, Bytes(whole)));
    }
    let whose = if stated.is_some() { "--memory allows" } else { "this machine has" };
    let parts = [
        ("hosts, routers and links", memory.network, "use a smaller network"),
        ("routes", memory.routes, "use fewer routers with several links"),
        (
            "open transfers, sessions and streams",
            memory.connections,
            "lower the load or `duration`",
        ),
        ("samples of series", Bytes(samples), "lengthen `measure.series_interval`"),
    ];
    let (what, max, remedy) =
        parts.into_iter().max_by_key(|(_, bytes, _)| *bytes).expect("there are four parts");
    let each = if what == "samples of series" { "" } else { " in each replica" };
    let plural = if at_once == 1 { "" } else { "s" };
    let replicas_at_once = format!("{at_once} replica{plural}");
    let message = format!(
        "this run needs about {} of memory, but {whose} {}; it runs {replicas_at_once} in parallel, and \
         {what} take {}{each}\n{remedy}, run fewer replicas in parallel with --jobs, or set another \
         limit with --memory",
        rounded(Bytes(whole)),
        rounded(limit),
        rounded(max),
    );
    Err(TooLarge { message, of_machine: stated.is_none() })
}

/// Refuses a stated limit that a run would keep, if this process had no memory of its own.
fn refuse_below_process(stated: Bytes, run: Bytes) -> Result<(), TooLarge> {
    let Some(process) = resident() else { return Ok(()) };
    let least = Bytes(process.0.saturating_add(run.0));
    if least <= stated {
        return Ok(());
    }
    let message = format!(
        "--memory allows {}, but shortflow itself uses {}, and this run needs about {} more\nallow at least {}",
        rounded(stated),
        rounded(process),
        rounded(run),
        rounded(Bytes(least.0 + least.0 / 10)),
    );
    Err(TooLarge { message, of_machine: false })
}

/// The memory that this process uses now; `None` if the system does not report it.
fn resident() -> Option<Bytes> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * 1024))
}

/// The memory that this process may use: that of the machine, or a lower limit of its control group or shell.
fn memory_limit() -> Option<Bytes> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    });
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let shell = fs::read_to_string("/proc/self/limits").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    });
    [machine, group, shell].into_iter().flatten().min().map(Bytes)
}

/// With at least two digits, in a suitable unit.
fn rounded(bytes: Bytes) -> String {
    let (value, unit) = match bytes.0 {
        1_000_000_000.. => (bytes.0 as f64 / 1e9, "GB"),
        1_000_000.. => (bytes.0 as f64 / 1e6, "MB"),
        1_000.. => (bytes.0 as f64 / 1e3, "KB"),
        _ => return format!("{} B", bytes.0),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sizes_are_not_told_as_no_gigabytes() {
        let shown =
            [64_000_000_000, 1_500_000_000, 250_000_000, 40_000, 12].map(Bytes).map(rounded);
        assert_eq!(shown, ["64 GB", "1.5 GB", "250 MB", "40 KB", "12 B"]);
    }
}
