//! Sending files.

use crate::network::Bench;

fn sending() -> Bench {
    Bench::new(
        r#"
        [workloads.files.ftp]
        from = "user"
        to = "server"
        size.constant = "10 KB"
        pause.constant = "1 s"
        "#,
    )
}

#[test]
fn the_next_file_is_sent_a_pause_after_the_last_byte_over_a_connection_of_its_own() {
    let mut bench = sending();
    assert_eq!(bench.wake(0), ["0 opens 10000, closes"]);
    assert_eq!(bench.request(100, 0, 9_999), [""; 0]);
    assert_eq!(bench.next_at(), None);
    assert_eq!(bench.request(300, 0, 10_000), ["row 0 complete: 10000"]);
    assert_eq!(bench.wake(1300), ["1 opens 10000, closes"]);
}

#[test]
fn a_file_that_broke_off_has_failed_and_one_that_was_complete_has_not() {
    let mut bench = sending();
    bench.wake(0);
    assert_eq!(bench.lose(500, 0), ["row 0 failed: 10000"]);
    bench.wake(1500);
    bench.request(1600, 1, 10_000);
    assert_eq!(bench.lose(1700, 1), [""; 0]);
    assert_eq!(bench.next_at(), Some(2600));
}
