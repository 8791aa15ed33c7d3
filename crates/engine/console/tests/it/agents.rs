//! The page over a machine's agent: at all widths, under one policy after the other.

use serde_json::json;

use crate::browser::Browser;
use crate::page::{has_points, text, with_token};
use crate::support::{snapshot, token, with_machine};

const LONG: &str = "configuration-management-of-the-branch-offices@automation.example.org";
const POLICIES: [(&str, &[&str]); 2] = [
    ("Short transfers before all others", &["calls", "pages", "the rest"]),
    ("Weighted", &["interactive traffic of everybody", "everything else"]),
];

/// How many pairs of texts in the chart lie on each other.
const OVERLAPS: &str = "(() => { const all = [...document.querySelectorAll('#chart text')].map(text => text.getBoundingClientRect()); \
    return all.flatMap((a, at) => all.slice(at + 1).filter(b => a.left < b.right + 2 && b.left < a.right + 2 && \
    a.top < b.bottom - 3 && b.top < a.bottom - 3)).length; })()";

#[test]
fn nothing_sticks_out_or_lies_on_something_else_at_any_width_whatever_long_names_there_are() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine(LONG, Some(token()), |at, hub| {
        for second in 0..60_u32 {
            let (policy, classes) = POLICIES[usize::from(second / 7 % 2 == 1)];
            let mut reported = snapshot(1e9 + f64::from(second), policy, classes);
            let mut other = reported.places[0].clone();
            other.name = format!("{LONG} ppp0");
            other.problem = Some(format!("not done: {LONG} has no queue of its own"));
            reported.places.push(other);
            hub.tell(&reported);
        }
        browser.open(&with_token(at), 1400, 900);
        browser.until(&has_points(60));
        assert_eq!(browser.eval("document.getElementById('fleet').checkVisibility()"), true);
        let place = "(() => { const place = document.getElementById('place'); place.selectedIndex = 1; \
                     place.dispatchEvent(new Event('change')); return place.value; })()";
        assert_eq!(browser.eval(place), format!("{LONG} ppp0"));
        browser.until("document.getElementById('choice').options.length === 3");
        browser.eval("document.getElementById('choice').value = '0/3'");
        browser.until(&format!(
            "document.getElementById('choice').selectedOptions[0].text.includes('{LONG}')"
        ));
        for width in [320, 380, 480, 576, 577, 640, 700, 768, 850, 957, 960, 1024, 1280, 1400] {
            let size =
                json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
            browser.call("Emulation.setDeviceMetricsOverride", size);
            browser.until(&format!(
                "document.querySelector('#chart svg').getBoundingClientRect().width < {width}"
            ));
            let wide =
                "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.eval(wide), 0, "{width}: nothing sticks out");
            browser.until(&format!("({OVERLAPS}) === 0"));
            browser.picture(&format!("agent-{width}"));
        }
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn what_is_not_as_it_is_to_be_stands_at_the_head_of_the_page_until_it_is_mended() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        let contested = "eth0: somebody else changes it again and again, 12 times by 2026-11-27T01:00:00Z: is another agent at work here?";
        let refused =
            "what folder /srv/fleet has now is refused: error: invalid TOML (fleet.toml:4:10)";
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        browser.open(&with_token(at), 380, 740);
        browser.until(&has_points(1));
        let is_shown = "document.getElementById('notes').checkVisibility()";
        assert_eq!(browser.eval(is_shown), false);
        hub.change(|about| about.notes = vec![refused.to_owned(), contested.to_owned()]);
        browser.until(is_shown);
        let said = text(&mut browser, "notes");
        assert!(said.contains(contested) && said.contains(refused), "{said}");
        let place = "document.getElementById('notes').getBoundingClientRect()";
        assert_eq!(
            browser.eval(&format!("{place}.top < innerHeight && {place}.right <= innerWidth")),
            true
        );
        assert_eq!(browser.eval("getComputedStyle(document.getElementById('state'), '::before').backgroundColor === getComputedStyle(document.getElementById('notes')).borderLeftColor"), true, "the state is not green");
        assert_eq!(text(&mut browser, "state"), "live, with warnings");
        browser.picture("warned-380");
        hub.change(|about| about.notes.clear());
        browser.until(&format!("!{is_shown}"));
        assert_eq!(text(&mut browser, "state"), "live");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn the_chart_follows_the_class_that_is_served_first_whatever_a_policy_calls_it() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        for second in 0..20_u32 {
            let (policy, classes) = POLICIES[usize::from(second >= 10)];
            hub.tell(&snapshot(1e9 + f64::from(second), policy, classes));
        }
        browser.open(&with_token(at), 1024, 800);
        browser.until(&has_points(20));
        let names = (text(&mut browser, "delay-name"), text(&mut browser, "rate-name"));
        assert_eq!(names, (POLICIES[1].1[0].to_owned(), "everything else".to_owned()));
        browser.eval("document.getElementById('chart').focus()");
        browser.press("Home");
        let first = text(&mut browser, "readout");
        assert!(
            first.contains("delay of calls 1.0 ms") && first.contains("throughput of the rest"),
            "{first}"
        );
        browser.press("End");
        let last = text(&mut browser, "readout");
        assert!(last.contains("delay of interactive traffic of everybody 1.0 ms"), "{last}");
        // One that somebody has chosen is shown where it is.
        let choose = |name: &str| {
            format!(
                "(() => {{ const of = document.getElementById('delay-of'); of.value = '{name}'; \
                 of.dispatchEvent(new Event('change')); return of.value; }})()"
            )
        };
        assert_eq!(browser.eval(&choose("everything else")), "everything else");
        browser.until("document.getElementById('delay-name').textContent === 'everything else'");
        browser.press("Home");
        assert!(text(&mut browser, "readout").contains("delay of calls"));
        hub.tell(&snapshot(1e9 + 20.0, POLICIES[0].0, POLICIES[0].1));
        browser.until("document.getElementById('delay-name').textContent === 'calls'");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn columns_of_which_nothing_is_known_are_left_out_and_no_time_stands_twice() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        for at_s in [100.2, 101.2, 101.8, 103.0] {
            hub.tell(&snapshot(at_s, POLICIES[0].0, POLICIES[0].1));
        }
        browser.open(&with_token(at), 1024, 800);
        browser.until(&has_points(4));
        assert_eq!(text(&mut browser, "drops"), "12", "of all three classes, in four seconds");
        browser.eval("document.getElementById('table-box').open = true");
        browser.until("document.querySelectorAll('#table tbody tr').length === 4");
        let shown = |id: &str, cells: &str| {
            format!(
                "[...document.querySelectorAll('#{id} {cells}')].filter(cell => cell.checkVisibility()).map(cell => cell.textContent).join('|')"
            )
        };
        assert_eq!(
            browser.eval(&shown("classes", "thead th")),
            "Class|Delay|Throughput|Dropped|Marked|Waiting"
        );
        assert_eq!(
            browser.eval(&shown("table", "thead th")),
            "Time|Delay|Throughput|Dropped|Policy"
        );
        let times = browser.eval(&shown("table", "tbody th"));
        let times: Vec<&str> = times.as_str().unwrap().split('|').map(|time| &time[6..]).collect();
        assert_eq!(times, ["43", "41.8", "41.2", "40"]);
        // The axis ends where what is known does.
        let end = "document.querySelector('#chart path.mean').getBoundingClientRect().right - \
                   document.querySelector('#chart svg').getBoundingClientRect().right";
        let end = browser.eval(end).as_f64().unwrap();
        assert!((-16.0..0.0).contains(&end), "{end}");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}
