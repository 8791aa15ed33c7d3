//! What is at the path of a trace already.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::Command;

use shortflow_sim::run_replica_before;
use shortflow_trace::{Trace, places};

use crate::support::{LOSSY, scenario};

/// Traces a second of a run into `file`.
fn trace_into(file: &Path) -> Result<(), String> {
    let scenario = scenario(&LOSSY.replace(r#"duration = "10 s""#, r#"duration = "1 s""#));
    let places = places(&scenario, &[]).unwrap();
    let trace = Trace::create(file, &scenario, &places).map_err(|error| error.to_string())?;
    run_replica_before(Some(Box::new(trace)), &scenario, 0, None, |_| true).unwrap();
    Ok(())
}

fn is_pcapng(bytes: &[u8]) -> bool {
    bytes.len() > 10_000 && bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
}

#[test]
fn a_file_that_is_no_capture_is_refused_and_stays_and_an_older_capture_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("notes");
    fs::write(&file, "dear diary").unwrap();
    let found = trace_into(&file).unwrap_err();
    let expected = "the file exists and is not a packet capture; remove it or choose another name";
    assert!(found.starts_with("cannot write ") && found.ends_with(expected), "{found}");
    assert_eq!(fs::read(&file).unwrap(), b"dear diary");
    for older in [&[0x0a, 0x0d, 0x0d, 0x0a, 1][..], &[0xd4, 0xc3, 0xb2, 0xa1], &[]] {
        fs::write(&file, older).unwrap();
        trace_into(&file).unwrap();
        assert!(is_pcapng(&fs::read(&file).unwrap()), "after {older:?}");
    }
    assert!(trace_into(home.path()).is_err(), "a folder");
}

#[test]
fn a_symbolic_link_is_followed_whether_its_file_is_there_or_not() {
    let home = tempfile::tempdir().unwrap();
    let link = home.path().join("latest");
    symlink("first", &link).unwrap();
    for _ in ["not there", "there"] {
        trace_into(&link).unwrap();
        assert!(link.is_symlink());
        assert!(is_pcapng(&fs::read(home.path().join("first")).unwrap()));
    }
    let ring = home.path().join("ring");
    symlink("ring", &ring).unwrap();
    assert!(trace_into(&ring).unwrap_err().contains("ring"));
}

#[test]
fn a_pipe_gets_the_packets_and_stays_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = pipe.clone();
    let reader = std::thread::spawn(move || fs::read(reader).unwrap());
    trace_into(&pipe).unwrap();
    assert!(is_pcapng(&reader.join().unwrap()));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn a_device_is_written_to_and_stays_a_device() {
    // By way of a link: should this fail, it is the link that is replaced.
    let home = tempfile::tempdir().unwrap();
    let link = home.path().join("null");
    symlink("/dev/null", &link).unwrap();
    trace_into(&link).unwrap();
    assert!(link.is_symlink());
    assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
}
