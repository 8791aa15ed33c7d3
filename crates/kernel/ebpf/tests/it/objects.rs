//! Thresholds and objects that an application sets for its connection by a socket option. Needs the right to make network
//! namespaces and to load eBPF.

use std::fs::File;
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Mutex;

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use shortflow_ebpf::Link;
use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram};
use shortflow_ebpf::option::{LEVEL, NAME, ObjectOption, SocketOption};
use shortflow_elements::classifier::{Classifier, MultiField, SenderMatch};
use shortflow_elements::marker::{Counted, DstfMarker, DstfParams, SizeLevels};
use shortflow_elements::{Aggregate, Color, Marker, Per};
use shortflow_packet::{Dscp, ObjectView, SenderView};
use shortflow_testbed::PortKind;
use shortflow_units::{Bytes, Instant, Rate, Rng};
use shortflow_wire::{Layers, Transport};
use socket2::{Domain, Socket, Type};

use crate::edge::all;
use crate::hosts::{cgroup_root, two_hosts};
use crate::progress::{Places, carried};

sockopt_impl!(Object, Both, LEVEL, NAME, [u64; 8]);
sockopt_impl!(ShortObject, SetOnly, LEVEL, NAME, [u64; 7]);
sockopt_impl!(OtherName, SetOnly, LEVEL, OTHER, [u64; 8]);
const OTHER: i32 = 2;

const CODE_POINTS: [Dscp; 3] = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
/// The policy's thresholds.
const THRESHOLDS: [Bytes; 2] = [Bytes(10_000), Bytes(20_000)];

/// One test at a time brings the option and takes it away.
static ALONE: Mutex<()> = Mutex::new(());

/// The option at the root of all cgroups, which goes with this unless it was there before.
struct OptionAtRoot {
    root: File,
    is_own: bool,
}

impl OptionAtRoot {
    fn new() -> Result<(OptionAtRoot, SocketOption), Box<dyn std::error::Error>> {
        let root = File::open(cgroup_root()?)?;
        let found = SocketOption::find(root.as_fd())?;
        let is_own = found.is_none();
        let option = found.map_or_else(|| SocketOption::attach(root.as_fd()), Ok)?;
        Ok((OptionAtRoot { root, is_own }, option))
    }
}

impl Drop for OptionAtRoot {
    fn drop(&mut self) {
        if let Ok(Some(option)) = SocketOption::find(self.root.as_fd())
            && self.is_own
        {
            let _ = option.detach(self.root.as_fd());
        }
    }
}

fn value(starts: bool, thresholds: &[u64]) -> [u64; 8] {
    let packed = ObjectOption { starts, thresholds: thresholds.to_vec() }.packed();
    std::array::from_fn(|at| u64::from_ne_bytes(packed[8 * at..][..8].try_into().unwrap()))
}

/// What the application does: how it sets the option, if it does, and how many bytes it writes then.
type Said<'s> = (Option<(bool, &'s [u64])>, u64);

/// Nothing is said of the first bytes. The last thresholds are of the object before.
const SAID: [Said<'static>; 6] = [
    (None, 30_000),
    (Some((true, &[5_000, 8_000])), 12_000),
    (Some((true, &[])), 25_000),
    (Some((true, &[0])), 4_000),
    (Some((true, &[0, u64::MAX])), 3_000),
    (Some((false, &[2_000, 4_000, 5_000])), 4_000),
];

/// Where objects begin, and their thresholds.
fn objects() -> Vec<(u64, Vec<Bytes>)> {
    let (mut written, mut objects): (u64, Vec<(u64, Vec<Bytes>)>) = (0, Vec::new());
    for (said, bytes) in SAID {
        if let Some((starts, thresholds)) = said {
            let thresholds = thresholds.iter().copied().map(Bytes).collect();
            match objects.last_mut().filter(|_| !starts) {
                Some(last) => last.1 = thresholds,
                None => objects.push((written, thresholds)),
            }
        }
        written += bytes;
    }
    objects
}

fn object_at(objects: &[(u64, Vec<Bytes>)], at: u64) -> Option<ObjectView> {
    let (from, thresholds) = objects.iter().rev().find(|(from, _)| *from <= at)?;
    Some(ObjectView::new(Bytes(at - from), thresholds))
}

fn dstf() -> DstfParams {
    let levels = SizeLevels::new(&THRESHOLDS, CODE_POINTS.to_vec()).unwrap();
    let per = Per::new(Aggregate::Flow, 1000, shortflow_units::Duration::MAX).unwrap();
    DstfParams::new(levels, per, Counted::Packet, Rate::from_bits_per_sec(0)).unwrap()
}

fn by_sent() -> Vec<(MultiField, usize)> {
    let rule = |max| MultiField {
        sender: Some(SenderMatch { sent_up_to: Some(max), ..SenderMatch::default() }),
        ..all()
    };
    vec![(rule(THRESHOLDS[0]), 0), (rule(THRESHOLDS[1]), 1), (all(), 2)]
}

fn plan(is_dstf: bool) -> EdgePlan {
    let class =
        |meter, code_point| EdgeClass { meter, code_points: Some([code_point; 3]), police: None };
    let plan = match is_dstf {
        true => {
            let class = class(EdgeMeter::Dstf(dstf()), Dscp::BEST_EFFORT);
            EdgePlan::new(&[(all(), 0)], &[EdgeClass { code_points: None, ..class }])
        }
        false => {
            let fixed = CODE_POINTS.map(|one| class(EdgeMeter::Fixed(Color::Green), one));
            EdgePlan::new(&by_sent(), &fixed)
        }
    };
    plan.unwrap().with_objects()
}

/// A transfer whose application says what `SAID` says, over a line that loses every `loss`-th large packet.
fn transfer(is_dstf: bool, loss: usize) -> Option<Vec<Vec<u8>>> {
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let (root, option) = OptionAtRoot::new()?;
        let program = EdgeProgram::load_with_option(&plan(is_dstf), Link::None, &option)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        // Each segment by itself, since those that are cut from one piece have one class.
        let alone = ["link", "set", "dev", "eth0", "gso_max_segs", "1"];
        first.within(home, || Command::new("ip").args(alone).status())??;
        Ok((program, root))
    });
    let (home, hosts, devices, _kept) = attached?;
    Some(carried(&home, &hosts, devices, loss, |stream| {
        assert_eq!(getsockopt(stream, Object).unwrap(), value(false, &[]), "nothing is said");
        for (said, bytes) in SAID {
            if let Some((starts, thresholds)) = said {
                setsockopt(stream, Object, &value(starts, thresholds)).unwrap();
                assert_eq!(getsockopt(stream, Object).unwrap(), value(starts, thresholds));
            }
            stream.write_all(&vec![7; bytes as usize]).unwrap();
        }
        SAID.iter().map(|(_, bytes)| bytes).sum()
    }))
}

#[test]
fn each_segment_has_the_level_of_its_place_in_the_object_that_the_application_has_started() {
    let _alone = ALONE.lock();
    let total: u64 = SAID.iter().map(|(_, bytes)| bytes).sum();
    let objects = objects();
    for (is_dstf, loss) in [(true, usize::MAX), (true, 4), (false, usize::MAX), (false, 4)] {
        let Some(carried) = transfer(is_dstf, loss) else { return };
        let classifier = Classifier::new(by_sent());
        let mut marker = DstfMarker::new(dstf(), Rng::stream(1, "twin"));
        let (mut places, mut sent, mut seen, mut again) = (Places::default(), 0, [[0; 3]; 6], 0);
        for bytes in &carried {
            let layers = Layers::of_ip(bytes);
            let packet = layers.descriptor(None).unwrap();
            let Transport::Tcp(header) = layers.transport else { continue };
            let at = places.of(packet.flags, header.sequence);
            if at > total {
                continue;
            }
            let view = SenderView {
                sent: Bytes(sent),
                object: object_at(&objects, at),
                ..SenderView::default()
            };
            let mut twin = layers.descriptor(None).unwrap();
            match is_dstf {
                true => drop(marker.mark(Instant::START, &mut twin, Some(&view))),
                false => {
                    twin.dscp = CODE_POINTS[classifier.classify_at(&twin, Some(&view)).unwrap()]
                }
            }
            assert_eq!(packet.dscp, twin.dscp, "{is_dstf} {loss}: at {at}, {view:?}");
            again += u32::from(packet.payload > 0 && at < sent);
            sent = sent.max(at + u64::from(packet.payload)).min(total);
            let number = objects.iter().rev().position(|(from, _)| *from <= at);
            let number = number.map_or(0, |back| objects.len() - back);
            let level = CODE_POINTS.iter().position(|one| *one == packet.dscp).unwrap();
            seen[number][level] += 1;
        }
        // By hand: the first object has three levels, the third the last one alone.
        assert!(seen[1].iter().all(|count| *count > 0), "{seen:?}");
        assert!(seen[2].iter().all(|count| *count > 0), "{seen:?}");
        assert_eq!(seen[3][..2], [0, 0], "{seen:?}");
        assert!(seen[3][2] > 1 && seen[4].iter().all(|count| *count > 0), "{seen:?}");
        assert!(loss == usize::MAX || again > 2, "{again} were sent again");
    }
}

#[test]
fn the_option_is_that_of_connections_of_its_cgroup_and_refuses_other_values() {
    let _alone = ALONE.lock();
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let root = File::open(cgroup_root()?)?;
        // Another test has it meanwhile, or nothing has.
        let socket = first.within(home, || Socket::new(Domain::IPV4, Type::STREAM, None))??;
        if SocketOption::find(root.as_fd())?.is_none() {
            let refused = setsockopt(&socket, Object, &value(true, &[]));
            assert_eq!(refused, Err(Errno::ENOPROTOOPT), "without it");
        }
        let (root, _) = OptionAtRoot::new()?;
        let other = first.within(home, || UdpSocket::bind("10.0.0.1:0"))??;
        Ok((root, socket, other))
    });
    let Some((.., (root, socket, other))) = attached else { return };
    let good = value(true, &[1, 2, 2, 3, 4, 5, u64::MAX]);
    assert_eq!(setsockopt(&socket, Object, &good), Ok(()));
    let changed = |at: usize, byte: u64| {
        let mut wrong = value(true, &[1, 2]);
        wrong[at] ^= byte;
        wrong
    };
    let wrong = [
        changed(0, 3),
        changed(0, 2 << 16),
        changed(0, 8 << 32),
        changed(1, 7),
        changed(5, 1),
        value(true, &[2, 1]),
    ];
    for wrong in wrong {
        assert_eq!(setsockopt(&socket, Object, &wrong), Err(Errno::EINVAL), "{wrong:x?}");
    }
    assert_eq!(setsockopt(&socket, ShortObject, &[0; 7]), Err(Errno::EINVAL));
    assert_eq!(getsockopt(&socket, Object), Ok(good), "nothing has changed");
    assert_eq!(setsockopt(&socket, OtherName, &good), Err(Errno::ENOPROTOOPT));
    assert_eq!(setsockopt(&other, Object, &good), Err(Errno::ENOPROTOOPT), "a datagram socket");
    if !root.is_own {
        return;
    }
    drop(root);
    assert_eq!(setsockopt(&socket, Object, &good), Err(Errno::ENOPROTOOPT), "it is gone");
}
