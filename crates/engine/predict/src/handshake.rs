//! The duration of a handshake with packet loss.

use shortflow_models::Range;
use shortflow_tcp::Config;

use crate::range::Lack;

/// The mean time of a handshake whose packets take `rtt` seconds both ways, whose SYN is lost with the first of two
/// probabilities and whose SYN-ACK with the other, both below ½.
///
/// Where the SYN is lost, the client alone can tell, whose timeout T stays for so many tries and then doubles (RFC 6298 §5.5,
/// and Linux). Where the SYN-ACK is lost, both ends send again: the server when its own T is over, and for each SYN that comes
/// again. T begins anew with each that it sends, so that it tries once in a T while the client's doubles. Each end by itself,
/// as by Cardwell et al. 2000, eq. 4, in which both double at once; what is lost of one try each way is counted twice.
pub(crate) fn time(rtt: f64, tcp: &Config, [syn, answer]: [f64; 2]) -> Result<f64, Lack> {
    let below_half = Range::from_to_below(0.0, 0.5);
    below_half.check("the share of SYNs that are lost", syn)?;
    below_half.check("the share of SYN-ACKs that are lost", answer)?;
    let timeout = tcp.rto_initial.as_secs_f64();
    let in_line = 1 + i32::try_from(tcp.linear_syn_timeouts).unwrap_or(i32::MAX - 1);
    let alike = libm::pow(syn, f64::from(in_line));
    let tries = syn * (1.0 - alike) / (1.0 - syn) + alike * 2.0 * syn / (1.0 - 2.0 * syn);
    Ok(rtt + timeout * (tries + answer / (1.0 - answer)))
}

#[cfg(test)]
mod tests {
    use shortflow_tcp::Era;

    use super::*;

    fn after(linear: u32, losses: [f64; 2]) -> f64 {
        let tcp = Config { linear_syn_timeouts: linear, ..Era::LinuxToday.config() };
        time(0.1, &tcp, losses).unwrap()
    }

    /// The mean over the number of lost SYNs in a row, of which each has its probability.
    fn summed(linear: u32, loss: f64) -> f64 {
        let timeout = Era::LinuxToday.config().rto_initial.as_secs_f64();
        let (mut gap, mut waited, mut chance, mut mean) = (timeout, 0.0, 1.0, 0.1);
        for lost in 0..200 {
            mean += chance * (1.0 - loss) * waited;
            waited += gap;
            gap *= if lost >= linear { 2.0 } else { 1.0 };
            chance *= loss;
        }
        mean
    }

    #[test]
    fn a_handshake_without_loss_takes_a_round_trip() {
        assert!((after(0, [0.0, 0.0]) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn lost_syns_cost_what_a_sum_over_their_number_comes_to() {
        for (linear, loss) in [(0, 0.01), (0, 0.3), (4, 0.01), (4, 0.3), (1, 0.2)] {
            let [found, expected] = [after(linear, [loss, 0.0]), summed(linear, loss)];
            assert!((found / expected - 1.0).abs() < 1e-9, "{linear} {loss}: {found} {expected}");
        }
    }

    #[test]
    fn more_loss_takes_longer_and_half_has_no_mean() {
        assert!(after(4, [0.2, 0.1]) > after(4, [0.1, 0.1]));
        assert!(after(0, [0.1, 0.2]) > after(0, [0.1, 0.1]));
        for losses in [[0.5, 0.0], [0.0, 0.5], [-0.1, 0.0]] {
            assert!(time(0.1, &Era::LinuxToday.config(), losses).is_err(), "{losses:?}");
        }
    }
}
