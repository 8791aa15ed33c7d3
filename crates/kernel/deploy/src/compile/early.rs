//! Queues before which the program for early drops decides: RED as the element has it, and SIMA.

use shortflow_ebpf::early::{refuses_red, refuses_sima};
use shortflow_elements::classifier::{Classifier, DscpSet, MultiField};
use shortflow_elements::queue::{FifoParams, SimaBuffer, SimaQueueParams};
use shortflow_policy::keys::RedPlan;
use shortflow_units::{Bytes, Length, Rate};

use super::leaf::fifo;
use super::line::by_code_point;
use super::{Compiled, Compiler, Refusal};
use crate::bytecode::Choice;
use crate::early::Early;
use crate::kernel::Kind;
use crate::tree::Discipline;

/// The names of SIMA's buffers.
pub(super) const BUFFERS: [&str; 2] = ["real time", "non-real time"];
/// No packet of IP is shorter.
const MIN_PACKET: u64 = 20;
/// More than any header of a device has.
const MAX_HEADER: u64 = 64;

impl Compiler<'_> {
    /// A FIFO before which the program decides; `None` where this machine has no such program.
    pub(super) fn early_red(&mut self, plan: &RedPlan, path: &str) -> Compiled<Option<Discipline>> {
        if self.lacks(Kind::Early) || self.lacks(Kind::Clsact) {
            return Ok(None);
        }
        // The rate of the line is known later; none of what is refused depends on it.
        let params = plan.params(Rate::from_bits_per_sec(1_000_000));
        if let Some(why) = refuses_red(&params) {
            return match self.settings.nearest {
                true => Ok(None),
                false => Err(vec![Refusal::of_policy(path, &why, None)]),
            };
        }
        let count = plan.curves().len();
        let (classifier, rest) = by_code_point(count, |dscp| plan.level_of(dscp));
        let classes: Vec<_> = (0..count).map(Choice::Class).collect();
        let levels = Some(Choice::among(&classifier, &classes, rest));
        let early = Some(Early::Red(params));
        Ok(Some(Discipline { levels, early, ..waiting(plan.limit()) }))
    }

    /// The two buffers of SIMA, real-time traffic first, and which packets belong to which.
    pub(super) fn sima(
        &mut self,
        params: &SimaQueueParams,
        path: &str,
    ) -> Compiled<(Classifier, [(&'static str, Discipline); 2])> {
        if self.lacks(Kind::Early) || self.lacks(Kind::Clsact) {
            let what = "no kernel has a queue that drops by SIMA's precedence, and this machine \
                cannot run the eBPF program that does it";
            let mut refusal = Refusal::of_policy(path, what, None);
            refusal.of_machine = true;
            return Err(vec![refusal]);
        }
        if let Some(why) = refuses_sima(params) {
            return Err(vec![Refusal::of_policy(path, &why, None)]);
        }
        let (first, other) = (params.real_time(), params.non_real_time());
        let buffer = |buffer: &SimaBuffer, is_first| {
            let code_points = buffer.code_points();
            let precedence = |dscp| code_points.iter().position(|one| *one == dscp).unwrap_or(0);
            let (classifier, rest) = by_code_point(code_points.len(), precedence);
            let classes: Vec<_> = (0..code_points.len()).map(Choice::Class).collect();
            let levels = Some(Choice::among(&classifier, &classes, rest));
            let early = Some(Early::Sima { params: Box::new(params.clone()), is_first });
            Discipline { levels, early, ..waiting(Length::Bytes(buffer.limit())) }
        };
        let [of_first, of_other] = BUFFERS;
        let buffers = [(of_first, buffer(first, true)), (of_other, buffer(other, false))];
        Ok((real_time(params), buffers))
    }
}

/// The packets of SIMA's first buffer, as class 0.
pub(super) fn real_time(params: &SimaQueueParams) -> Classifier {
    let of: DscpSet = params.real_time().code_points().iter().copied().collect();
    let rule = MultiField { dscps: Some(of), ..MultiField::default() };
    Classifier::new(vec![(rule, 0)])
}

/// The FIFO behind the program, which counts bytes of IP; the kernel counts the device's header too.
fn waiting(limit: Length) -> Discipline {
    let limit = match limit {
        Length::Packets(packets) => Length::Packets(packets),
        Length::Bytes(Bytes(bytes)) => {
            Length::Bytes(Bytes(bytes + bytes.div_ceil(MIN_PACKET) * MAX_HEADER))
        }
    };
    fifo(&FifoParams::new(limit).expect("a checked queue has a limit"))
}
