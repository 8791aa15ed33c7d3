//! Short runs, and values of their tables.

use std::sync::atomic::AtomicBool;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use shortflow_measure::Run;
use shortflow_run::{Case, Experiment, InMemory, Origin, OutputFolder, Shard, numbers_in};
use shortflow_scenario::{Overrides, from_texts};
use shortflow_sim::Simulator;
use shortflow_tables::{Reader, Table, Transfers, read};

/// Transfers, long flows and datagrams over one line, at two rates and two delays.
pub(crate) const SCENARIO: &str = r#"
    duration = "4 s"
    warm_up = "1 s"
    seed = 7
    replicas = 2
    parameters = { line = "2 Mbit/s", wait = "5 ms" }
    hosts = { client = {}, server = {} }
    routers = { near = {}, far = {} }

    [measure]
    ports = ["far->near"]
    series_interval = "1 s"
    size_classes = ["10 KB", "1 GB"]
    limits = ["100 ms"]

    [links]
    in = { between = ["server", "far"], rate = "100 Mbit/s", delay = "1 ms" }
    line = { between = ["far", "near"], rate = "$line", delay = "$wait" }
    out = { between = ["near", "client"], rate = "100 Mbit/s", delay = "1 ms" }

    [workloads.pages.transfers]
    client = "client"
    server = "server"
    rate = "6 /s"
    request.constant = "500 B"
    reply.constant = "8 KB"

    [workloads.copies.bulk]
    from = "server"
    to = "client"
    flows = 2
    start_window = "500 ms"

    [workloads.calls.cbr]
    from = "server"
    to = "client"
    rate = "64 kbit/s"
    packet = "160 B"

    [[sweep]]
    key = "parameters.line"
    values = ["2 Mbit/s", "4 Mbit/s"]

    [[sweep]]
    key = "parameters.wait"
    values = ["5 ms", "20 ms"]
"#;

/// The run of [`SCENARIO`] without files.
pub(crate) fn in_memory() -> InMemory {
    experiment(|experiment| experiment.run_in_memory(&AtomicBool::new(false), &()).unwrap())
}

/// The same in a folder, read from there.
pub(crate) fn in_folder(folder: &std::path::Path) -> Vec<Run> {
    experiment(|experiment| {
        let output = OutputFolder::prepare(folder, false).unwrap();
        let results = experiment.run(&output, &AtomicBool::new(false), &()).unwrap();
        output.write(experiment.cases, &shortflow_measure::View::new(&results.runs)).unwrap();
        output.publish().unwrap();
    });
    shortflow_run::read_runs(&[folder.to_owned()]).unwrap()
}

fn experiment<T>(run: impl FnOnce(&Experiment<'_>) -> T) -> T {
    let overrides = Overrides::default();
    let loaded = from_texts(&[("line.toml", SCENARIO)], &overrides).unwrap();
    let numbers = numbers_in(Shard::default(), &loaded);
    let cases = [Case::new(&Simulator, loaded, &overrides)];
    let origin = Origin { version: "0", command: "test" };
    run(&Experiment {
        cases: &cases,
        numbers: &numbers,
        threads: 1,
        keeps_transfers: true,
        tcp_info: None,
        tap: None,
        origin,
    })
}

/// A table of these runs as one batch.
pub(crate) fn whole(table: Table, runs: &[Run], transfers: Transfers) -> RecordBatch {
    one(read(table, runs, transfers).unwrap())
}

/// The one batch of a reader.
pub(crate) fn one(mut reader: Reader) -> RecordBatch {
    let batch = reader.next().expect("a batch").unwrap();
    assert!(reader.next().is_none());
    batch
}

/// The values of a column as text; unknown ones are `-`.
pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    let text = |at: usize| match column.data_type() {
        _ if column.is_null(at) => "-".to_owned(),
        DataType::Utf8 => column.as_string::<i32>().value(at).to_owned(),
        DataType::Boolean => column.as_boolean().value(at).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).to_string(),
        _ => column.as_primitive::<Float64Type>().value(at).to_string(),
    };
    (0..column.len()).map(text).collect()
}

/// The values of a column of numbers; unknown ones are no number.
pub(crate) fn numbers(batch: &RecordBatch, name: &str) -> Vec<f64> {
    texts(batch, name).iter().map(|text| text.parse().unwrap_or(f64::NAN)).collect()
}
