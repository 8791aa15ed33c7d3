//! Browsing.

use crate::network::Bench;

fn browsing(keys: &str) -> Bench {
    Bench::new(&format!(
        r#"
        [workloads.web.web]
        client = "user"
        server = "server"
        request.constant = "300 B"
        page.index.constant = "1 KB"
        page.objects.constant = 3
        page.object.constant = "10 KB"
        think.constant = "2 s"
        {keys}
        "#
    ))
}

#[test]
fn http_1_0_has_a_connection_for_each_object_and_so_many_at_a_time() {
    let mut bench = browsing("http = \"1.0\"\nconnections = 2");
    assert_eq!(bench.wake(0), ["0 opens 300"]);
    assert_eq!(bench.request(100, 0, 300), ["0 replies 1000, closes"]);
    assert_eq!(bench.reply(200, 0, 1000), ["row 1 complete: 1000", "1 opens 300", "2 opens 300"]);
    bench.request(300, 1, 300);
    bench.request(300, 2, 300);
    assert_eq!(bench.reply(400, 2, 10_000), ["row 1 complete: 10000", "3 opens 300"]);
    assert_eq!(bench.reply(500, 1, 10_000), ["row 1 complete: 10000"]);
    bench.request(600, 3, 300);
    assert_eq!(bench.next_at(), None);
    assert_eq!(bench.reply(700, 3, 10_000), ["row 1 complete: 10000", "row 0 complete: 31000"]);
    assert_eq!(bench.next_at(), Some(2700));
}

#[test]
fn http_1_1_asks_for_all_objects_at_once_when_the_index_has_come() {
    let mut bench = browsing("http = \"1.1\"");
    bench.wake(0);
    assert_eq!(bench.request(100, 0, 300), ["0 replies 1000"]);
    assert_eq!(bench.reply(200, 0, 1000), ["row 1 complete: 1000", "0 writes 900"]);
    assert_eq!(bench.request(300, 0, 899), ["0 replies 10000"], "one request is whole");
    assert_eq!(bench.request(310, 0, 1200), ["0 replies 20000"]);
    assert_eq!(bench.reply(400, 0, 21_000), ["row 1 complete: 10000"; 2]);
    let last = ["row 1 complete: 10000", "row 0 complete: 31000", "0 writes 0, closes"];
    assert_eq!(bench.reply(500, 0, 31_000), last);
}

#[test]
fn with_gaps_a_part_is_asked_for_some_time_after_the_one_before() {
    let mut bench = browsing("http = \"1.1\"\ngap.constant = \"50 ms\"");
    bench.wake(0);
    bench.request(100, 0, 300);
    assert_eq!(bench.reply(200, 0, 1000), ["row 1 complete: 1000"]);
    assert_eq!(bench.next_at(), Some(250));
    assert_eq!(bench.wake(250), ["0 writes 300"]);
    assert_eq!(bench.next_at(), None);
}

#[test]
fn a_page_whose_connection_breaks_has_failed_with_all_that_was_asked_for() {
    let mut bench = browsing("http = \"1.1\"");
    bench.wake(0);
    bench.request(100, 0, 300);
    bench.reply(200, 0, 1000);
    let lost = ["row 1 failed: 10000"; 3].into_iter().chain(["row 0 failed: 31000"]);
    assert_eq!(bench.lose(900, 0), lost.collect::<Vec<_>>());
    assert_eq!(bench.next_at(), Some(2900), "the next page, after a time to think");
    assert_eq!(bench.wake(2900), ["1 opens 300"]);
}
