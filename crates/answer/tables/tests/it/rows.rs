//! Rows, compared with files and with what rows of other tables add up to.

use shortflow_tables::{Table, Transfers};

use crate::bench::{in_folder, in_memory, numbers, texts, whole};

#[test]
fn transfers_in_memory_are_those_of_the_files() {
    let run = in_memory();
    let kept = whole(Table::Transfers, &run.results.runs, Transfers::InMemory(run.transfers));
    let folder = tempfile::tempdir().unwrap();
    let runs = in_folder(folder.path());
    let read = whole(Table::Transfers, &runs, Transfers::InFolders);
    assert!(read.num_rows() > 50, "{} rows", read.num_rows());
    assert_eq!(kept, read);
    // The lines of the file of the second replica of the last point.
    let file = std::fs::read_to_string(folder.path().join("transfers-003-001.csv")).unwrap();
    let line = |at: usize| {
        let column = |name| texts(&read, name)[at].clone();
        let of_case = column("point") == "3" && column("replica") == "1";
        of_case.then(|| format!("{},{},{},", column("workload"), column("id"), column("start_s")))
    };
    let lines: Vec<String> = (0..read.num_rows()).filter_map(line).collect();
    assert_eq!(lines.len(), file.lines().count() - 1);
    for (row, line) in lines.iter().zip(file.lines().skip(1)) {
        let shortened = |text: &str| text.replace(".0,", ",");
        assert!(shortened(line).starts_with(&shortened(row)), "{row} and {line}");
    }
}

#[test]
fn all_other_tables_are_the_same_from_a_folder() {
    let (run, folder) = (in_memory(), tempfile::tempdir().unwrap());
    let runs = in_folder(folder.path());
    for table in [Table::Bulk, Table::Datagrams, Table::Series, Table::Summary, Table::Replicas] {
        let kept = whole(table, &run.results.runs, Transfers::InFolders);
        assert_eq!(kept, whole(table, &runs, Transfers::InFolders), "{}", table.name());
    }
}

#[test]
fn a_cut_off_file_of_transfers_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let runs = in_folder(folder.path());
    let file = folder.path().join("transfers-000-000.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 40]).unwrap();
    let mut reader = shortflow_tables::read(Table::Transfers, &runs, Transfers::InFolders).unwrap();
    let error = reader.find_map(Result::err).expect("an error").to_string();
    let line = format!("line: {}", text.lines().count());
    assert!(error.contains("transfers-000-000.csv") && error.contains(&line), "{error}");
}

#[test]
fn measures_of_replicas_follow_from_the_rows_of_transfers_and_flows() {
    let run = in_memory();
    let runs = &run.results.runs;
    let replicas = whole(Table::Replicas, runs, Transfers::InFolders);
    let value = |measure: &str, workload: &str, class: &str, point: &str, replica: &str| {
        let wanted = [
            ("measure", measure),
            ("workload", workload),
            ("class", class),
            ("point", point),
            ("replica", replica),
        ];
        let columns = wanted.map(|(name, _)| texts(&replicas, name));
        let is_row = |at: &usize| wanted.iter().zip(&columns).all(|((_, v), c)| c[*at] == *v);
        let rows: Vec<usize> = (0..replicas.num_rows()).filter(is_row).collect();
        assert_eq!(rows.len(), 1, "{measure} of {workload}");
        numbers(&replicas, "value")[rows[0]]
    };
    let bulk = whole(Table::Bulk, runs, Transfers::InFolders);
    let rates = numbers(&bulk, "goodput_bits_per_s");
    let mean = (rates[0] + rates[1]) / 2.0;
    let long_flow_rate = value("long-flow-rate", "copies", "-", "0", "0");
    assert!((long_flow_rate - mean).abs() < 1e-6 * mean, "{long_flow_rate} bit/s, {mean}");
    let rows = whole(Table::Transfers, runs, Transfers::InMemory(run.transfers));
    let of_pages: Vec<usize> = {
        let is = |name: &str, value: &str, at: usize| texts(&rows, name)[at] == value;
        let all = 0..rows.num_rows();
        all.filter(|at| {
            is("point", "3", *at)
                && is("replica", "1", *at)
                && is("counted", "true", *at)
                && is("state", "completed", *at)
        })
        .collect()
    };
    let completed = value("completed", "pages", "all", "3", "1");
    assert_eq!(of_pages.len() as f64, completed);
    let handshakes = numbers(&rows, "handshake_s");
    let mean = of_pages.iter().map(|at| handshakes[*at]).sum::<f64>() / completed;
    assert!((value("handshake", "pages", "all", "3", "1") - mean).abs() < 1e-9);
}

#[test]
fn the_summary_is_the_mean_over_replicas_with_its_interval() {
    let run = in_memory();
    let runs = &run.results.runs;
    let (all, each) = (
        whole(Table::Summary, runs, Transfers::InFolders),
        whole(Table::Replicas, runs, Transfers::InFolders),
    );
    let keys = |batch: &_| {
        let names = ["measure", "workload", "class", "port", "code_point", "counter", "point"];
        let columns = names.map(|name| texts(batch, name));
        let rows = 0..columns[0].len();
        rows.map(|at| columns.iter().map(|c| c[at].clone()).collect::<Vec<_>>()).collect()
    };
    let (of_all, of_each): (Vec<Vec<String>>, Vec<Vec<String>>) = (keys(&all), keys(&each));
    let (values, means) = (numbers(&each, "value"), numbers(&all, "value"));
    let (low, high) = (numbers(&all, "low"), numbers(&all, "high"));
    let of_calls = |key: &&Vec<String>| key[0] == "goodput" && key[1] == "calls";
    assert!(!of_each.iter().any(|key| of_calls(&key)), "datagrams have no goodput");
    let mut compared = 0;
    for (at, key) in of_all.iter().enumerate() {
        if !["utilisation", "goodput", "mean-wait"].contains(&key[0].as_str()) {
            continue;
        }
        let found: Vec<f64> =
            of_each.iter().zip(&values).filter(|(k, _)| *k == key).map(|(_, v)| *v).collect();
        let [one, two] = found[..] else { panic!("{key:?}: {found:?}") };
        let mean = (one + two) / 2.0;
        assert!((means[at] - mean).abs() <= 1e-9 * mean, "{key:?}");
        // Student's point for one degree of freedom, times the standard error of two values.
        let half = 12.706 * (one - two).abs() / 2.0;
        let width = (high[at] - low[at]) / 2.0;
        assert!((width - half).abs() <= 1e-3 * half.max(1e-12), "{key:?}: {width} and {half}");
        compared += 1;
    }
    // At four points: two measures of the port, and the goodput of the two workloads over TCP.
    assert_eq!(compared, 4 * 4);
}
