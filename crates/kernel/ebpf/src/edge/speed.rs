//! The program's time per packet, as measured by the kernel (`BPF_PROG_TEST_RUN`).

use std::os::fd::AsFd;
use std::os::fd::AsRawFd;

use libbpf_rs::{ObjectBuilder, ProgramInput, ProgramMut};
use shortflow_elements::classifier::{DscpSet, MultiField, PortRange, SenderMatch, SimaClass};
use shortflow_elements::marker::{
    AdmissionParams, AggregateMarkerParams, Counted, DstfParams, LoadWindow, SimaParams, SizeLevels,
};
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FlowTableSize, InitialRate, MomentaryRateParams,
    TokenBucketParams, TrTcmParams, TswParams,
};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_elements::{Aggregate, Color, Per};
use shortflow_packet::{Address, Dscp, Label, Prefix, Protocol};
use shortflow_units::{Bytes, Duration, Rate, Rng};

use super::program::ECHO;
use super::{
    Buckets, Cost, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, MAX_CONNECTIONS, MAX_ENTRIES, Owner,
};
use crate::error::Program;
use crate::{Error, Link};

/// Rounds of the same packet.
const ROUNDS: usize = 5;
/// The flows that meet in one bucket.
const COLLIDING: usize = 256;

/// The program that does nothing.
static NOTHING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nothing.bpf.o"));

/// How long it is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Runs of the same packet in a round.
    again: u32,
    /// Packets of other flows that are looked at.
    others: usize,
    /// The flows of a flood.
    flood: u32,
}

impl Effort {
    /// What figures are made of: about a minute.
    pub const FULL: Effort = Effort { again: 100_000, others: 50_000, flood: 1_000_000 };
    /// For a first look: some seconds. The table is filled a twentieth further than it is large.
    pub const QUICK: Effort = Effort { again: 10_000, others: 2_000, flood: 69_000 };

    /// What the program takes for a packet: what any program does, parsing, meters, tables of several sizes, and floods against
    /// these. `progress` hears what is measured next.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn costs(self, progress: &mut dyn FnMut(&str)) -> Result<Vec<Cost>, Error> {
        let mut found = Vec::new();
        let mut add = |what: &'static str, cost: &dyn Fn() -> Result<Cost, Error>| {
            progress(what);
            found.push(Cost { what, ..cost()? });
            Ok(())
        };
        add("nothing at all", &|| self.nothing())?;
        add("parsing, and a rule that does not match", &|| self.plain(&plan_of_rules(1, false)))?;
        add("application marks, 16 rules", &|| self.plain(&plan_of_rules(16, true)))?;
        add("every field of the headers, 64 rules, the last matches", &|| {
            self.plain(&plan_of_fields())
        })?;
        add("labels by socket marks, 16 rules", &|| self.plain(&plan_of_labels(Owner::Mark)))?;
        add("labels by groups of processes, 16 rules", &|| {
            self.plain(&plan_of_labels(|id| Owner::Group { id: id.into(), level: 2 }))
        })?;
        for (what, meter) in meters() {
            add(what, &|| self.plain(&plan(meter.clone())))?;
        }
        for flows in [30, 1_000, MAX_ENTRIES] {
            add("Fair Marker", &|| self.full(&plan(fair_marker(flows)), flows))?;
            add("DSTF", &|| self.full(&plan(dstf(flows)), flows))?;
        }
        for flows in [1_000, MAX_ENTRIES] {
            add("token bucket for each flow", &|| {
                self.full(&plan(token_bucket(Some(each(flows)))), flows)
            })?;
            add("SIMA for each flow", &|| self.full(&plan(sima(Some(each(flows)))), flows))?;
        }
        add("what came, for acknowledgements that echo", &|| self.came())?;
        add("admission", &|| self.full(&plan(admission(1_000)), 1_000))?;
        for connections in [1, 30, MAX_CONNECTIONS] {
            add("aggregate", &|| self.full(&plan(aggregate()), connections))?;
        }
        add("aggregate, a million new flows", &|| {
            self.flooded(&plan(aggregate()))
                .map(|cost| Cost { flows: Some(MAX_CONNECTIONS), ..cost })
        })?;
        add("Fair Marker, a million new flows", &|| self.flooded(&plan(fair_marker(MAX_ENTRIES))))?;
        add("DSTF, a million new flows", &|| self.flooded(&plan(dstf(MAX_ENTRIES))))?;
        add("DSTF, flows in one bucket", &|| self.colliding(&plan(dstf(MAX_ENTRIES))))?;
        Ok(found)
    }

    fn nothing(self) -> Result<Cost, Error> {
        libbpf_rs::set_print(None);
        let object = ObjectBuilder::default()
            .open_memory(NOTHING)
            .and_then(libbpf_rs::OpenObject::load)
            .map_err(Program::Edge.at("loading one that does nothing"))?;
        let program = object.progs_mut().next().expect("there is one");
        self.measure(&program, None, 0, &mut |_| packet(0))
    }

    /// One flow, and others that are not remembered.
    fn plain(self, plan: &EdgePlan) -> Result<Cost, Error> {
        let program = EdgeProgram::load(plan, Link::Ethernet)?;
        self.measure(&program.program(), None, memory(&program)?, &mut |rng| {
            packet(rng.below(1000) as u32)
        })
    }

    /// What sees the packets that a device receives, of flows that it knows.
    fn came(self) -> Result<Cost, Error> {
        let plan = EdgePlan::new(&[], &[]).expect("there is room for nothing").echoing();
        let program = EdgeProgram::load(&plan, Link::Ethernet)?;
        let of_known = &mut |rng: &mut Rng| packet(rng.below(1000) as u32);
        self.measure(&program.named(ECHO), Some(1_000), memory(&program)?, of_known)
    }

    /// The flows of a table that is full of them.
    fn full(self, plan: &EdgePlan, flows: usize) -> Result<Cost, Error> {
        let program = EdgeProgram::load(plan, Link::Ethernet)?;
        let memory = memory(&program)?;
        let program = program.program();
        for flow in 0..flows as u32 {
            run(&program, &packet(flow), 1)?;
        }
        self.measure(&program, Some(flows), memory, &mut |rng| {
            packet(rng.below(flows as u64) as u32)
        })
    }

    /// Flows that come once, after as many that came before.
    fn flooded(self, plan: &EdgePlan) -> Result<Cost, Error> {
        let program = EdgeProgram::load(plan, Link::Ethernet)?;
        let memory = memory(&program)?;
        let program = program.program();
        let others = self.flood - self.others as u32;
        for flow in 0..others {
            run(&program, &packet(flow), 1)?;
        }
        let mut flow = others;
        let cost = self.measure(&program, Some(MAX_ENTRIES), memory, &mut |_| {
            flow += 1;
            packet(flow)
        })?;
        // The same packet again is of a flow that is known.
        Ok(Cost { again: None, ..cost })
    }

    /// Flows that share one bucket, as an attacker who knows the seed could send them, in a table that holds others
    /// too.
    fn colliding(self, plan: &EdgePlan) -> Result<Cost, Error> {
        let seed = plan.classes[0].seed;
        let bucket = |flow: u32| bucket(&name(flow), seed);
        let wanted = bucket(0);
        let flows: Vec<u32> =
            (0..u32::MAX).filter(|flow| bucket(*flow) == wanted).take(COLLIDING).collect();
        let program = EdgeProgram::load(plan, Link::Ethernet)?;
        let memory = memory(&program)?;
        let program = program.program();
        let cost = self.measure(&program, Some(COLLIDING), memory, &mut |rng| {
            packet(flows[rng.below(COLLIDING as u64) as usize])
        })?;
        Ok(Cost { again: None, ..cost })
    }

    fn measure(
        self,
        program: &ProgramMut<'_>,
        flows: Option<usize>,
        memory: u64,
        next: &mut dyn FnMut(&mut Rng) -> Vec<u8>,
    ) -> Result<Cost, Error> {
        let mut rng = Rng::stream(1, "flows");
        let mut others = Vec::with_capacity(self.others);
        for _ in 0..self.others {
            others.push(run(program, &next(&mut rng), 1)?);
        }
        others.sort_by(f64::total_cmp);
        let again = (0..ROUNDS).map(|_| run(program, &packet(0), self.again));
        let again = again.collect::<Result<Vec<_>, _>>()?.into_iter().min_by(f64::total_cmp);
        let others = [others[self.others / 2], others[self.others * 99 / 100]];
        Ok(Cost { what: "", flows, again, others, memory })
    }
}

/// Nanoseconds per run, over this number of runs.
fn run(program: &ProgramMut<'_>, packet: &[u8], repeat: u32) -> Result<f64, Error> {
    let input = ProgramInput { data_in: Some(packet), repeat, ..ProgramInput::default() };
    let found = program.test_run(input).map_err(Program::Edge.at("running it on a packet"))?;
    Ok(found.duration.as_secs_f64() * 1e9)
}

/// Bytes that the program's maps hold, as the kernel accounts for them.
fn memory(program: &EdgeProgram) -> Result<u64, Error> {
    let mut sum = 0;
    let names = ["classes", "states", "levels", "rules", "tables", "aggregates", "received"];
    for name in names.into_iter().chain(["counters", "table_counters", "times"]) {
        let map = program.map(name)?;
        let about = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
        let about = std::fs::read_to_string(about).unwrap_or_default();
        let held = about.lines().find_map(|line| line.strip_prefix("memlock:"));
        sum += held.and_then(|held| held.trim().parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

fn everything() -> MultiField {
    MultiField::default()
}

fn plan(meter: EdgeMeter) -> EdgePlan {
    let class =
        EdgeClass { meter, code_points: Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]), police: None };
    EdgePlan::new(&[(everything(), 0)], &[class]).expect("it is one of ours")
}

/// Rules on ports, of which the last alone matches, or none.
fn plan_of_rules(count: u16, last_matches: bool) -> EdgePlan {
    let port = |at: u16| match at + 1 == count && last_matches {
        true => 80,
        false => 10_000 + at,
    };
    let rule = |at: u16| MultiField {
        protocol: Some(Protocol::TCP.into()),
        dst_ports: Some(PortRange::new(port(at), port(at)).expect("they rise").into()),
        ..MultiField::default()
    };
    let rules: Vec<_> = (0..count).map(|at| (rule(at), 0)).collect();
    EdgePlan::new(&rules, &[marking()]).expect("it is one of ours")
}

fn plan_of_fields() -> EdgePlan {
    EdgePlan::new(&rules_on_fields(), &[marking()]).expect("it is one of ours")
}

/// As many rules as there can be, each on every field that a header has, of which the last alone matches.
fn rules_on_fields() -> Vec<(MultiField, usize)> {
    let ports = |first, last| Some(PortRange::new(first, last).expect("they rise").into());
    let prefix = |bytes: [u8; 4], length| {
        let network = Address::v4(u32::from_be_bytes(bytes));
        Some(Prefix::new(network, length).expect("no bit is beyond it").into())
    };
    let rule = |at: u8| MultiField {
        src: prefix([8, 0, 0, 0], 5),
        dst: prefix([192, 0, 2, 64 - at], 32),
        src_ports: ports(40_000, 40_063),
        dst_ports: ports(80, 80),
        ports: None,
        protocol: Some(Protocol::TCP.into()),
        dscps: Some(DscpSet::EMPTY.with(Dscp::BEST_EFFORT).with(Dscp::EF)),
        sender: None,
    };
    (0..64).map(|at| (rule(at), 0)).collect()
}

/// Rules that ask for labels which no connection has, and one that asks for none.
fn plan_of_labels(owner: fn(u32) -> Owner) -> EdgePlan {
    let labels = (1..16).map(Label);
    let owners: Vec<_> = labels.clone().map(|label| (label, owner(label.0.into()))).collect();
    let asking = labels.map(|label| {
        let sender = SenderMatch { label: Some(label), ..SenderMatch::default() };
        (MultiField { sender: Some(sender), ..everything() }, 0)
    });
    let rules: Vec<_> = asking.chain([(everything(), 0)]).collect();
    EdgePlan::with_owners(&rules, &[marking()], &owners).expect("it is one of ours")
}

fn marking() -> EdgeClass {
    let meter = EdgeMeter::Fixed(Color::Green);
    EdgeClass { meter, code_points: Some([Dscp::EF; 3]), police: None }
}

fn rate(megabits: u64) -> Rate {
    Rate::from_bits_per_sec(megabits * 1_000_000)
}

fn window() -> TswParams {
    TswParams::new(rate(100), Duration::from_millis(1000), InitialRate::Committed)
        .expect("a window is long enough")
}

/// This number of flows, each with its own account.
fn each(flows: usize) -> Per {
    let per = Per::new(Aggregate::Flow, flows, Duration::from_millis(3_600_000));
    per.expect("it has a size")
}

fn token_bucket(per: Option<Per>) -> EdgeMeter {
    let bucket = TokenBucketParams::new(rate(100), Bytes(100_000)).expect("it is not empty");
    EdgeMeter::Buckets { buckets: Buckets::TokenBucket(bucket), per }
}

fn meters() -> Vec<(&'static str, EdgeMeter)> {
    let two =
        TrTcmParams::new(rate(50), Bytes(50_000), rate(100), Bytes(100_000), ColorMode::Blind);
    let two = Buckets::TrTcm(two.expect("the peak is above"));
    vec![
        ("token bucket", token_bucket(None)),
        ("trTCM", EdgeMeter::Buckets { buckets: two, per: None }),
        ("TSW2CM", EdgeMeter::Tsw2Cm(window())),
        ("SIMA", sima(None)),
    ]
}

fn fair_marker(flows: usize) -> EdgeMeter {
    let params = FairMarkerParams::new(window(), 7, FlowTableSize::AtMost(flows));
    EdgeMeter::FairMarker(params.expect("it has a size"))
}

fn sima(per: Option<Per>) -> EdgeMeter {
    let meter = MomentaryRateParams::new(rate(100), Bytes(1500), 0.01).expect("it is one of ours");
    let code_points = SimaParams::default_code_points(SimaClass::RealTime);
    let params = SimaParams::new(rate(10), meter, per, code_points);
    EdgeMeter::Sima(params.expect("it is one of ours"))
}

fn dstf(flows: usize) -> EdgeMeter {
    let levels = SizeLevels::new(&SizeLevels::HARP, SizeLevels::default_code_points(8));
    let params = DstfParams::new(
        levels.expect("they rise"),
        each(flows),
        Counted::Packet,
        Rate::from_bits_per_sec(0),
    );
    EdgeMeter::Dstf(params.expect("it is one of ours"))
}

fn admission(streams: usize) -> EdgeMeter {
    let window = LoadWindow::new(Duration::from_millis(500), 10).expect("it has a length");
    let (target, peak) = (rate(1_000), Rate::from_bits_per_sec(80_000));
    let code_points = [Dscp::EF, Dscp::BEST_EFFORT];
    let params =
        AdmissionParams::new(target, peak, Some(Bytes(3_000)), window, each(streams), code_points);
    EdgeMeter::Admission(params.expect("there is room for a stream"))
}

/// What overflows goes to the others, which is the most that is to be worked out.
fn aggregate() -> EdgeMeter {
    let profile = AggregateProfile::new(rate(100), Bytes(4_000_000), Bytes(1500));
    let hour = Duration::from_millis(3_600_000);
    EdgeMeter::Aggregate(AggregateMarkerParams {
        profile: profile.expect("it is deep enough"),
        sharing: Sharing::Logical(Depths::Equal),
        connections: ConnectionLimits::new(MAX_CONNECTIONS, hour).expect("they are as many"),
    })
}

/// The addresses and ports of a flow to port 80.
fn ends(flow: u32) -> ([u8; 4], [u8; 4], u16) {
    let [a, b, c, d] = flow.to_be_bytes();
    // Two bits of the flow's number are in the port, so that addresses stay in 10/8 as far as they go.
    ([10 + (a >> 6), b, c, d], [192, 0, 2, 1], 40_000 + u16::from(a & 63))
}

/// What the program knows a flow by.
fn name(flow: u32) -> [u64; 5] {
    let (source, destination, port) = ends(flow);
    let mapped = |address: [u8; 4]| 0xffff_u64 << 32 | u64::from(u32::from_be_bytes(address));
    let rest = u64::from(port) << 32 | 80 << 16 | 6;
    [0, mapped(source), 0, mapped(destination), rest]
}

/// The bucket of a name, as `bucket_of` of programs/table.h has it.
fn bucket(name: &[u64; 5], seed: u64) -> u64 {
    let mix = |x: u64| {
        let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    name.iter().fold(seed, |hash, word| mix(hash ^ word)) & (MAX_ENTRIES as u64 - 1)
}

/// A segment of TCP of 1000 bytes, over IPv4 and Ethernet.
fn packet(flow: u32) -> Vec<u8> {
    let (source, destination, port) = ends(flow);
    let mut packet = vec![0; 1014];
    packet[12..14].copy_from_slice(&[0x08, 0x00]);
    packet[14..18].copy_from_slice(&[0x45, 0, 0x03, 0xe8]);
    packet[22] = 64;
    packet[23] = 6;
    packet[26..30].copy_from_slice(&source);
    packet[30..34].copy_from_slice(&destination);
    packet[34..36].copy_from_slice(&port.to_be_bytes());
    packet[36..38].copy_from_slice(&80_u16.to_be_bytes());
    packet[46] = 0x50;
    packet[47] = 0x10;
    packet
}

#[cfg(test)]
mod tests {
    use shortflow_elements::classifier::Classifier;
    use shortflow_wire::Layers;

    use super::*;

    #[test]
    fn of_the_rules_on_every_field_the_last_alone_matches_before_and_after_it_has_marked() {
        let rules = rules_on_fields();
        let numbered = rules.into_iter().enumerate().map(|(at, (rule, _))| (rule, at));
        let classifier = Classifier::new(numbered.collect());
        for flow in [0, 77, 65_535, 1_000_000] {
            let mut packet = packet(flow);
            for ds in [Dscp::BEST_EFFORT, Dscp::EF] {
                packet[15] = ds.value() << 2;
                let descriptor = Layers::of_ethernet(&packet).descriptor(None).unwrap();
                assert_eq!(classifier.classify(&descriptor), Some(63));
            }
        }
    }
}
