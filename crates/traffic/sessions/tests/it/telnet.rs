//! Typing.

use crate::network::Bench;

fn typing() -> Bench {
    Bench::new(
        r#"
        [workloads.keys.telnet]
        client = "user"
        server = "server"
        packet = "53 B"
        pause.constant = "200 ms"
        stop = "1 s"
        "#,
    )
}

#[test]
fn a_character_is_typed_a_pause_after_the_echo_of_the_one_before_until_the_stop() {
    let mut bench = typing();
    assert_eq!(bench.wake(0), ["0 opens 0"]);
    assert_eq!(bench.next_at(), None);
    assert_eq!(bench.request(100, 0, 0), [""; 0]);
    assert_eq!(bench.wake(300), ["0 writes 1"]);
    assert_eq!(bench.request(350, 0, 1), ["0 replies 1"]);
    assert_eq!(bench.next_at(), None, "while the echo is on its way");
    assert_eq!(bench.reply(900, 0, 1), ["row 0 complete: 1"]);
    assert_eq!(bench.next_at(), Some(1000), "at the stop, before the pause is over");
    assert_eq!(bench.wake(1000), ["0 writes 0, closes"]);
}

#[test]
fn a_user_whose_connection_breaks_logs_in_again() {
    let mut bench = typing();
    bench.wake(0);
    assert_eq!(bench.lose(400, 0), ["row 0 failed: 0"]);
    assert_eq!(bench.wake(600), ["1 opens 0"]);
}
