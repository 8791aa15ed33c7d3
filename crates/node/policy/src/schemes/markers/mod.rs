//! Markers, which write the DS field. A scheme is declared and registered here, and defined in its own file.

pub mod admission;
pub mod aggregate;
pub mod dstf;
pub mod fair_marker;
pub mod fixed;
pub mod sima;
pub mod srpt;
pub mod srtcm;
pub mod tcp_state;
pub mod token_bucket;
pub mod trtcm;
pub mod tsw2cm;
pub mod tsw3cm;
pub mod two_buckets;

crate::scheme::register_markers! {
    admission Admission,
    aggregate Aggregate,
    dstf Dstf,
    fair_marker FairMarker,
    fixed Fixed,
    sima Sima,
    srpt Srpt,
    srtcm Srtcm,
    tcp_state TcpState,
    token_bucket TokenBucket,
    trtcm Trtcm,
    tsw2cm Tsw2cm,
    tsw3cm Tsw3cm,
    two_buckets TwoBuckets,
}
