//! Which streams are admitted: every decision of the program beside that of the element. Needs the right to load eBPF.

use shortflow_ebpf::edge::{EdgeClass, EdgeMeter, EdgePlan};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{AdmissionParams, LoadWindow};
use shortflow_elements::{Aggregate, Per};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Rate};

use crate::edge::{Shown, all, compare_of, drawn, recorded};

const SECOND: u64 = 1_000_000_000;

/// What is admitted, by whom, and how it is measured: rates in bit/s, times in ns.
struct Admission {
    target: u64,
    peak: u64,
    depth: Option<u64>,
    sample: u64,
    samples: u32,
    by: Aggregate,
    entries: usize,
    idle: u64,
}

impl Admission {
    fn class(&self) -> EdgeClass {
        let [target, peak] = [self.target, self.peak].map(Rate::from_bits_per_sec);
        let window = LoadWindow::new(Duration::from_nanos(self.sample), self.samples).unwrap();
        let per = Per::new(self.by, self.entries, Duration::from_nanos(self.idle)).unwrap();
        let (depth, code_points) = (self.depth.map(Bytes), [Dscp::AF11, Dscp::BEST_EFFORT]);
        let params = AdmissionParams::new(target, peak, depth, window, per, code_points).unwrap();
        let [admitted, others] = params.code_points();
        EdgeClass {
            meter: EdgeMeter::Admission(params),
            code_points: Some([admitted, others, others]),
            police: None,
        }
    }
}

/// Loads around that of the packets, some 10 Mbit/s: of streams that are held to their peak and of such that are not, with
/// short windows and one of a billion samples, in tables that are too small and in one that nobody overfills.
fn admissions() -> [Admission; 5] {
    let usual = Admission {
        target: 5_000_000,
        peak: 400_000,
        depth: Some(3_000),
        sample: SECOND / 10,
        samples: 10,
        by: Aggregate::Source,
        entries: 12,
        idle: SECOND,
    };
    [
        Admission { by: Aggregate::Flow, entries: 2_000, peak: 40_000, idle: 20 * SECOND, ..usual },
        Admission { depth: None, by: Aggregate::HostPair, samples: 1, entries: 60_000, ..usual },
        Admission { samples: 3, sample: 7_000_001, target: 3_333_333, ..usual },
        Admission { samples: 1_000_000_000, entries: 60_000, idle: 500 * SECOND, ..usual },
        Admission { target: 100_000_000_000, peak: 1, depth: None, sample: SECOND / 20, ..usual },
    ]
}

#[test]
fn streams_are_admitted_and_held_to_their_peak_as_in_the_element() {
    for (number, admission) in admissions().into_iter().enumerate() {
        let mut class = admission.class();
        // By turns what is refused goes on as something else, or not at all.
        let rest = [PolicerAction::Remark(Dscp::AF13), PolicerAction::Drop][number % 2];
        class.police = Some([PolicerAction::Forward, PolicerAction::Remark(Dscp::AF12), rest]);
        let of = [(all(), 0)];
        // By turns packets come at whole milliseconds, some of them at the very end of a sample.
        let grain = [1, 1_000_000][number % 2];
        let drawn = drawn(number as u64, 500_000)
            .map(|shown| Shown { now: shown.now - shown.now % grain, ..shown });
        let Some((_, program)) = compare_of(&of, &[class.clone()], drawn) else { return };
        let colors = program.counters().unwrap()[0].map(|color| color.packets);
        // Everybody is admitted to a load of 100 Gbit/s, and without a bucket nothing is beyond a peak.
        let expected = [true, admission.depth.is_some(), admission.target < 100_000_000_000];
        assert_eq!(colors.map(|packets| packets > 300), expected, "{number}: {colors:?}");
        compare_of(&of, &[class], recorded(number as u64, 10));
    }
}

#[test]
fn a_load_that_64_bits_do_not_count_is_refused_with_what_to_do() {
    let [.., fast] = admissions();
    let too_much = Admission { sample: SECOND, ..fast }.class();
    assert_eq!(
        EdgePlan::new(&[(all(), 0)], &[too_much]).unwrap_err().to_string(),
        "an admission marker must admit at most 1073741824 bytes per sample; found 12500000000: \
            set shorter samples"
    );
}
