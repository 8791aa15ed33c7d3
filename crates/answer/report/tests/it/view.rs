//! Terminal, page, figures and JSON show the same, because they lay out one [`View`].

use serde_json::Value;
use shortflow_measure::{Run, View, Warning, WarningKind};
use shortflow_report::{Table, brief, figures, json, key_result, ranking_table, tables, text};

use crate::page;
use crate::synthetic::{BEST_EFFORT, Behaviour, FAIR_MARKER, single, sweep};

/// Three policies whose names and warnings need no escaping on a page.
fn three() -> Vec<Run> {
    let slow = Behaviour { label: "slow", slowness: 9.0, ..BEST_EFFORT };
    let mut runs: Vec<Run> =
        [BEST_EFFORT, FAIR_MARKER, slow].iter().map(|behaviour| single(behaviour, 3)).collect();
    let of_all = Warning::new(WarningKind::Input, "the role `edge` is bound nowhere");
    for run in &mut runs {
        run.points[0].summary.warnings.push(of_all.clone());
    }
    let of_one = Warning::new(WarningKind::UnsettledLoad, "open transfers of web grow");
    runs[2].points[0].summary.warnings.push(of_one.with_help("run longer"));
    runs
}

/// The rows of an HTML table whose caption begins with `title`: the texts of its cells.
fn html_rows(page: &str, title: &str) -> Vec<Vec<String>> {
    let (_, table) = page.split_once(&format!("<caption><span>{title}")).expect("the table");
    let (table, _) = table.split_once("</tbody>").unwrap();
    let rows = table.split("<tr").skip(2);
    let cell = |cell: &str| {
        let (_, text) = cell.split_once('>').unwrap();
        let text = text.split('<').next().unwrap();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    let cells = |row: &str| -> Vec<String> {
        let row = row.replace("<td>", "<th>").replace("<th ", "<th>");
        row.split("<th")
            .skip(1)
            .map(|text| cell(text.trim_start_matches(">scope=\"row\"")))
            .collect()
    };
    rows.map(cells).collect()
}

/// The cells of a line on a terminal, between which there are at least two spaces.
fn terminal_row(line: &str) -> Vec<String> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

/// Ranks and names in JSON.
fn ranked_in_json(found: &Value) -> Vec<(String, String)> {
    let lines = found["ranking"].as_array().unwrap().iter();
    let of = |line: &Value| (line["rank"].to_string(), line["label"].as_str().unwrap().to_owned());
    lines.map(of).collect()
}

#[test]
fn terminal_page_figures_and_json_show_one_ranking() {
    let runs = three();
    let view = View::new(&runs);
    let expected: Vec<(String, String)> = ranked_in_json(&json(&view));
    assert_eq!(expected.len(), 3);
    assert_eq!(expected[0], ("1".to_owned(), "fair marker".to_owned()));
    let table = ranking_table(&view).unwrap();
    let on_page = html_rows(&page(&view), "Ranking: ");
    for said in [text(&view, false, usize::MAX), brief(&view, false, usize::MAX)] {
        let lines = said.lines().skip_while(|line| !line.starts_with("Ranking: ")).skip(2);
        for (((line, row), html), (rank, label)) in
            lines.zip(&table.rows).zip(&on_page).zip(&expected)
        {
            assert_eq!((&row.cells[0], &row.cells[1]), (rank, label));
            assert_eq!(terminal_row(line), row.cells, "on the terminal");
            assert_eq!(*html, row.cells, "on the page");
        }
    }
    assert_eq!(on_page.len(), 3);
    // The figure has the policies from top to bottom.
    let svg = &figures(&view)[0].svg;
    let at = |label: &str| svg.find(&format!(">{label}</text>")).unwrap();
    assert!(expected.windows(2).all(|pair| at(&pair[0].1) < at(&pair[1].1)));
}

#[test]
fn terminal_page_and_json_show_each_warning_once_and_in_one_order() {
    let runs = three();
    let view = View::new(&runs);
    let said: Vec<String> = view.warnings.iter().map(ToString::to_string).collect();
    let expected =
        ["the role `edge` is bound nowhere", "slow: open transfers of web grow; run longer"];
    assert_eq!(said.iter().filter(|one| expected.contains(&one.as_str())).count(), 2, "{said:?}");
    let (page, found) = (page(&view), json(&view));
    let in_json: Vec<String> = found["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| {
            let about =
                warning["about"].as_str().map_or(String::new(), |about| format!("{about}: "));
            let help = warning["help"].as_str().map_or(String::new(), |help| format!("; {help}"));
            format!("{about}{}{help}", warning["message"].as_str().unwrap())
        })
        .collect();
    assert_eq!(in_json, said);
    for shown in [text(&view, false, usize::MAX), brief(&view, false, usize::MAX)] {
        let lines: Vec<&str> =
            shown.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
        assert_eq!(lines, said);
    }
    let (_, warned) = page.split_once("<h2>Before you trust this</h2>").unwrap();
    let (warned, _) = warned.split_once("</div>").unwrap();
    let items: Vec<&str> = warned.split("<li>").skip(1).collect();
    assert_eq!(items.len(), said.len());
    for (item, one) in items.iter().zip(&said) {
        assert!(item.starts_with(one), "{item}");
    }
}

#[test]
fn terminal_page_and_json_show_the_same_figures() {
    for runs in [three(), vec![single(&FAIR_MARKER, 3)], vec![sweep(&FAIR_MARKER)]] {
        let view = View::new(&runs);
        let (said, page, found) = (text(&view, false, usize::MAX), page(&view), json(&view));
        assert!(page.contains(&format!("<p class=\"result\">{}</p>", key_result(&view))));
        assert!(said.starts_with(&key_result(&view)));
        // What each table holds, the page shows; what the terminal has room for, it shows in the same digits.
        for table in tables(&view) {
            let on_page = html_rows(&page, &table.title.replace('&', "&amp;"));
            let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.cells.clone()).collect();
            assert_eq!(on_page, cells, "{}", table.title);
        }
        let shown = &view.tables;
        let on_screen = shown.times_on_screen.iter().chain(&shown.traffic_on_screen);
        for table in on_screen.chain(&shown.datagrams).map(Table::set) {
            let text = table.text(false);
            let rows = text.lines().skip(2).take(table.rows.len());
            rows.for_each(|row| assert!(said.contains(row), "{row}"));
        }
        // The mean of the whole workload in JSON is that of the last row of its table.
        let times = &view.tables.times[0];
        let mean = |point: &Value| point["summary"]["workloads"][0]["all"]["mean"].clone();
        let points =
            found["runs"].as_array().unwrap().iter().flat_map(|run| {
                run["points"].as_array().unwrap().iter().map(mean).collect::<Vec<_>>()
            });
        let all = times.columns.iter().position(|column| column.head == "all").unwrap_or(0);
        let whole = match view.set.sweep {
            Some(_) => &times.rows[..],
            None => &times.rows[times.rows.len() - runs.len()..],
        };
        let of_table = whole.iter().map(|row| serde_json::to_value(&row.cells[all]).unwrap());
        let of_table: Vec<Value> = of_table.map(|cell| cell["figure"].clone()).collect();
        assert_eq!(points.collect::<Vec<_>>(), of_table);
    }
}

#[test]
fn gains_on_terminal_page_and_in_json_are_the_same_numbers() {
    let runs = three();
    let view = View::new(&runs);
    let found = json(&view);
    let set = |gain: &Value| {
        let gain = serde_json::from_value(gain["gain_percent"].clone()).unwrap();
        let column = view.tables.times[0].columns[1].clone();
        let cell = shortflow_measure::tables::Cell::Gain(gain);
        let row = shortflow_measure::tables::Row { cells: vec![cell], ..Default::default() };
        let table = shortflow_measure::tables::Table {
            columns: vec![column],
            rows: vec![row],
            ..Default::default()
        };
        Table::set(&table).rows[0].cells[0].clone()
    };
    let of_web = |at: &Value| {
        let mut gains = at["gains"].as_array().unwrap().iter();
        let is_meant = |gain: &&Value| {
            (gain["workload"].as_str(), gain["class"].as_str(), gain["measure"].as_str())
                == (Some("web"), Some("all"), Some("completion"))
        };
        set(gains.find(is_meant).unwrap())
    };
    let gains: Vec<String> = found["gains"].as_array().unwrap().iter().map(of_web).collect();
    assert_eq!(gains.len(), 2);
    let (said, page) = (text(&view, false, usize::MAX), page(&view));
    for gain in gains {
        assert!(said.contains(&gain) && page.contains(&format!("<td>{gain}</td>")), "{gain}");
    }
}

#[test]
fn what_the_warnings_of_one_run_say_its_folder_says_too() {
    use shortflow_measure::results::{Folder, WARNINGS};
    let mut run = three().remove(2);
    run.manifest.warnings = View::new(std::slice::from_ref(&run)).warnings;
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::create(home.path()).unwrap();
    folder.write(&run).unwrap();
    let rows = folder.read_text(WARNINGS).unwrap();
    let read = Run::read(&folder).unwrap();
    let view = View::new(std::slice::from_ref(&read));
    assert_eq!(rows.lines().count(), 1 + view.warnings.len());
    for (row, warning) in rows.lines().skip(1).zip(&view.warnings) {
        assert!(row.contains(&warning.warning.message), "{row}");
    }
}
