//! Formats the durations of connections.

use serde_json::{Value, json};
use shortflow_ebpf::edge::EdgeTimes;

/// As a person reads it: a row for each group of connections of which some have ended, or were forgotten before; none without
/// one.
pub(crate) fn rows(class: &str, groups: &[EdgeTimes; 4]) -> Option<Vec<Vec<String>>> {
    let head =
        [&format!("connections in {class}"), "ended", "half within", "95 % within", "unfinished"];
    let named = EdgeTimes::NAMES.iter().zip(groups);
    let rows_text = named.filter(|(_, times)| times.count() + times.unfinished > 0);
    let rows = rows_text.map(|(name, times)| {
        let [half, max] = [50, 95].map(|percent| within(times, percent));
        vec![(*name).to_owned(), times.count().to_string(), half, max, times.unfinished.to_string()]
    });
    let rows: Vec<Vec<String>> =
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect();
    (rows.len() > 1).then_some(rows)
}

/// The bound within which this share ended; `None` if none has ended.
fn within(times: &EdgeTimes, percent: u64) -> String {
    match times.within(percent) {
        Some(bound) => bound.to_string(),
        None if times.count() == 0 => String::new(),
        None => format!("over {}", EdgeTimes::BOUNDS[EdgeTimes::BOUNDS.len() - 1]),
    }
}

/// As a program reads it: of each group how many took at most as long as each bound, how many there were, and the sum of all.
pub(crate) fn json(groups: &[EdgeTimes; 4]) -> Value {
    let group = |(name, times): (&&str, &EdgeTimes)| {
        let mut so_far = 0;
        let up_to = times.parts.map(|part| {
            so_far += part;
            so_far
        });
        let bounds = EdgeTimes::BOUNDS.map(|bound| bound.as_secs_f64());
        json!({
            "size": name, "unfinished": times.unfinished,
            "seconds": {
                "bounds": bounds, "up_to": up_to[..bounds.len()], "count": times.count(),
                "sum": times.sum as f64 / 1e9,
            },
        })
    };
    EdgeTimes::NAMES.iter().zip(groups).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_told_by_bounds_and_those_of_which_there_is_nothing_are_left_out() {
        let mut groups = [EdgeTimes::default(); 4];
        assert_eq!(rows("web", &groups), None);
        groups[0].parts[4] = 19;
        groups[0].parts[8] = 1;
        groups[0].sum = 700_000_000;
        groups[1].unfinished = 3;
        groups[3].parts[15] = 2;
        let rows_text = rows("web", &groups).unwrap();
        let rows_text: Vec<String> = rows_text.iter().map(|row| row.join("|")).collect();
        assert_eq!(
            rows_text,
            [
                "connections in web|ended|half within|95 % within|unfinished",
                "0 to 10 KB|20|20 ms|20 ms|0",
                "10 to 100 KB|0|||3",
                "over 1 MB|2|over 60 s|over 60 s|0",
            ]
        );
        let json = json(&groups);
        assert_eq!(json[0]["seconds"]["bounds"][4], 0.02);
        let counts = [0, 0, 0, 0, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 20];
        assert_eq!(json[0]["seconds"]["up_to"], json!(counts));
        assert_eq!(
            (&json[0]["seconds"]["sum"], &json[0]["seconds"]["count"]),
            (&json!(0.7), &json!(20))
        );
        assert_eq!(
            (&json[3]["seconds"]["up_to"][14], &json[3]["seconds"]["count"]),
            (&json!(0), &json!(2))
        );
        assert_eq!((&json[1]["size"], &json[1]["unfinished"]), (&json!("10 to 100 KB"), &json!(3)));
    }
}
