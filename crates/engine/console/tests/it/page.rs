//! The page in a browser: what it shows, by which keys it is gone through, and what screen readers are told.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use shortflow_console::{Change, Controls};
use shortflow_http::{Answer, Listener};

use crate::browser::Browser;
use crate::support::{Over, TOKEN, with_replay};

const WIDTHS: [(u32, u32); 3] = [(360, 740), (768, 1024), (1440, 900)];

pub(crate) fn with_token(at: SocketAddr) -> String {
    format!("http://{at}/#token={TOKEN}")
}

/// The chart has so many points.
pub(crate) fn has_points(count: usize) -> String {
    format!(
        "(document.querySelector('#chart path.mean')?.getAttribute('d').match(/[ML]/g) ?? []).length >= {count}"
    )
}

pub(crate) fn text(browser: &mut Browser, id: &str) -> String {
    let value = browser.eval(&format!("document.getElementById('{id}').textContent"));
    value.as_str().unwrap().to_owned()
}

#[test]
fn at_three_widths_the_page_shows_its_figures_without_an_error_and_fits() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(10.0, |at, _| {
        for (width, height) in WIDTHS {
            browser.open("about:blank", width, height);
            browser.open(&with_token(at), width, height);
            browser.until(&has_points(8));
            let wide = browser.eval(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth",
            );
            assert_eq!(wide, 0, "{width}: nothing sticks out");
            assert_eq!(browser.eval("location.hash"), "", "the token is gone from the address");
            for id in ["delay", "rate", "drops", "policy"] {
                assert_ne!(text(&mut browser, id), "–", "{width}: {id}");
            }
            let rows = browser.eval("document.querySelectorAll('#classes tbody tr').length");
            assert!(rows.as_u64() >= Some(2), "{rows}");
            // What is written does not run out of the chart.
            let outside = browser.eval(
                "[...document.querySelectorAll('#chart text')].filter(text => { const a = text.getBoundingClientRect(), \
                 b = document.querySelector('#chart').getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1; }).length",
            );
            assert_eq!(outside, 0, "{width}");
            browser.picture(&format!("console-{width}"));
            // What is said of a check box begins beside it in each of its lines.
            let beside = "(() => { const box = document.getElementById('aloud'), range = document.createRange(); \
                          range.selectNodeContents(box.parentElement); range.setStartAfter(box); \
                          return [...range.getClientRects()].every(line => line.left >= box.getBoundingClientRect().right); })()";
            assert_eq!(browser.eval(beside), true, "{width}");
        }
        browser.prefer(&[("prefers-color-scheme", "dark")]);
        browser.picture("console-1440-dark");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn one_goes_to_another_policy_after_a_look_at_what_changes_and_back() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(1.0, |at, replay| {
        browser.open(&with_token(at), 1440, 900);
        browser.until(&has_points(4));
        let chosen = "(() => { const choice = document.getElementById('choice'); choice.focus(); choice.value = '2'; \
                      choice.dispatchEvent(new Event('change')); return true; })()";
        browser.eval(chosen);
        browser.until("document.querySelectorAll('#diff .add').length > 0");
        assert_eq!(
            text(&mut browser, "preview-title"),
            "What changes from Best Effort to Fair Marker"
        );
        assert!(replay.hub().about().choices[0].is_current, "a look changes nothing");
        browser.picture("console-preview");
        browser.press("Tab");
        assert_eq!(browser.eval("document.activeElement.id"), "do-switch");
        browser.press("Enter");
        browser.until("document.getElementById('policy').textContent === 'Fair Marker'");
        assert!(replay.hub().about().choices[1].is_current);
        assert_eq!(
            text(&mut browser, "switched"),
            "Fair Marker is active now instead of Best Effort."
        );
        browser.until("document.querySelectorAll('#chart .mark').length === 1");
        assert_eq!(text(&mut browser, "back"), "Back to Best Effort");
        browser.eval("document.getElementById('back').focus()");
        browser.press("Enter");
        browser.until("document.getElementById('policy').textContent === 'Best Effort'");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
        browser.picture("console-back");
    });
}

#[test]
fn a_change_of_the_policy_is_marked_and_what_was_before_stays() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(6.0, |at, replay| {
        browser.open(&with_token(at), 1280, 900);
        browser.until(&has_points(16));
        replay.act(Change::Switch("2".to_owned())).unwrap();
        browser.until(&has_points(38));
        browser.until("document.querySelector('#chart .marktext')?.textContent === 'Fair Marker'");
        browser.eval("document.getElementById('chart').focus()");
        browser.press("Home");
        let first = text(&mut browser, "readout");
        assert!(first.ends_with("; Best Effort"), "{first}");
        browser.press("End");
        let last = text(&mut browser, "readout");
        assert!(last.ends_with("; Fair Marker"), "{last}");
        browser.eval("document.activeElement.blur()");
        browser.picture("console");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn everything_is_reached_by_keys_and_the_chart_is_read_out() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(20.0, |at, _| {
        browser.open(&with_token(at), 768, 1024);
        browser.until(&has_points(10));
        browser.eval("document.activeElement.blur()");
        let mut reached = BTreeSet::new();
        for _ in 0..40 {
            browser.press("Tab");
            let id = "document.activeElement.id || document.activeElement.getAttribute('aria-labelledby') || document.activeElement.tagName";
            reached.insert(browser.eval(id).as_str().unwrap_or_default().to_owned());
        }
        for id in [
            "play",
            "speed",
            "again",
            "delay-of",
            "rate-of",
            "span",
            "chart",
            "aloud",
            "choice",
            "SUMMARY",
            "classes-title",
            "flows-title",
        ] {
            assert!(reached.contains(id), "{id} is reached by Tab: {reached:?}");
        }
        browser.eval("document.getElementById('chart').focus()");
        browser.press("Home");
        let first = text(&mut browser, "readout");
        assert!(first.starts_with("0.5 s: delay of interactive "), "{first}");
        browser.press("ArrowRight");
        let second = text(&mut browser, "readout");
        assert!(
            second.starts_with("1.0 s: ") && second.contains("throughput of bulk "),
            "{second}"
        );
        browser.press("ArrowLeft");
        assert_eq!(text(&mut browser, "readout"), first);
        // The same figures are in the table.
        browser.eval("document.getElementById('table-box').open = true");
        browser.until("document.querySelectorAll('#table tbody tr').length >= 10");
        let row = browser.eval("[...document.querySelectorAll('#table tbody tr')].at(-1).innerText.split('\\t').slice(0, 4).join('|')");
        let cells: Vec<&str> = row.as_str().unwrap().split('|').collect();
        assert!(
            cells[0] == "0.5 s" && first.contains(cells[1]) && first.contains(cells[3]),
            "{row} {first}"
        );
        // Time is stopped by a key.
        browser.eval("document.getElementById('play').focus()");
        browser.press(" ");
        browser.until("document.getElementById('play').textContent === 'Play'");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn a_screen_reader_finds_a_name_for_everything_one_can_act_on() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(10.0, |at, _| {
        browser.open(&with_token(at), 1440, 900);
        browser.until(&has_points(4));
        let named = browser.named();
        let acts =
            ["button", "combobox", "checkbox", "textbox", "table", "region", "group", "link"];
        for (role, name) in &named {
            assert!(
                !acts.contains(&role.as_str()) || !name.is_empty(),
                "a {role} has no name: {named:#?}"
            );
        }
        for (role, name) in [
            ("combobox", "Delay of"),
            ("combobox", "Throughput of"),
            ("combobox", "Go to"),
            ("button", "Switch"),
            ("checkbox", "Announce the figures to a screen reader every 15\u{a0}s"),
            ("heading", "Delay and throughput"),
        ] {
            let found = named.iter().any(|(a, b)| a == role && b.trim() == name);
            assert!(found, "{role} {name}: {named:#?}");
        }
        let levels = browser.eval("[...document.querySelectorAll('h1,h2,h3')].filter(h => h.checkVisibility()).map(h => h.tagName[1]).join('')");
        assert!(levels.as_str().unwrap().starts_with('1'), "{levels}");
        assert_eq!(browser.eval("document.documentElement.lang"), "en");
    });
}

/// Contrast of two colours, by WCAG 2.2: of `#rrggbb` each.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |color: &str| {
        let color = color.trim().trim_start_matches('#');
        let full: String = match color.len() {
            3 => color.chars().flat_map(|digit| [digit, digit]).collect(),
            _ => color.to_owned(),
        };
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&full[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4) + 0.05
    };
    let (a, b) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

#[test]
fn texts_stand_out_by_day_and_by_night_and_nothing_moves_for_those_who_ask_for_that() {
    assert!((contrast("#000", "#ffffff") - 21.0).abs() < 1e-9);
    let Some(mut browser) = Browser::start() else { return };
    with_replay(1.0, |at, _| {
        browser.open(&with_token(at), 1440, 900);
        browser.until(&has_points(2));
        let mut papers = BTreeSet::new();
        for scheme in ["light", "dark"] {
            browser
                .prefer(&[("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]);
            let mut color = |name: &str| -> String {
                let of = format!(
                    "getComputedStyle(document.documentElement).getPropertyValue('--{name}')"
                );
                browser.eval(&of).as_str().unwrap().to_owned()
            };
            papers.insert(color("paper"));
            for ink in ["ink", "soft", "accent", "bad", "good", "mark", "warn"] {
                for paper in ["paper", "panel"] {
                    let found = contrast(&color(ink), &color(paper));
                    assert!(found >= 4.5, "{scheme}: {ink} on {paper}: {found:.2}");
                }
            }
            for ground in ["add", "del"] {
                let found = contrast(&color("ink"), &color(ground));
                assert!(found >= 4.5, "{scheme}: {ground}: {found:.2}");
            }
            // Lines and borders of what one acts on, of which 3 is asked.
            for line in ["delay", "rate", "edge"] {
                let found = contrast(&color(line), &color("paper"));
                assert!(found >= 3.0, "{scheme}: {line}: {found:.2}");
            }
            let moves =
                "getComputedStyle(document.getElementById('state'), '::before').animationName";
            assert_eq!(browser.eval(moves), "none");
        }
        assert_eq!(papers.len(), 2);
        browser.prefer(&[("prefers-reduced-motion", "no-preference")]);
        let moves = "getComputedStyle(document.getElementById('state'), '::before').animationName";
        assert_eq!(browser.eval(moves), "pulse");
    });
}

#[test]
fn a_page_of_another_origin_reads_nothing_and_changes_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(1.0, |at, replay| {
        // Another port of this machine is of the same site, and here it even has the token.
        let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            const PAGE: &str = "<!doctype html><title>evil</title>";
            scope.spawn(|| {
                shortflow_http::serve(&listener, &over, &|_| Answer::ok("text/html", PAGE))
            });
            let _over = Over(&over);
            browser.open(&format!("http://{}/", listener.address().unwrap()), 800, 600);
            browser.until("document.title === 'evil'");
            let sent = |mode: &str, path: &str, fields: &str| {
                format!(
                    "fetch('http://{at}{path}', {{ mode: '{mode}', {fields} }})\
                     .then(answer => answer.type, () => 'refused')"
                )
            };
            let body = "method: 'POST', body: '{\"to\":\"2\"}'";
            let token = format!(
                "{body}, headers: {{ 'Authorization': 'Bearer {TOKEN}', 'Content-Type': 'application/json' }}"
            );
            for expression in [
                sent("cors", "/events", ""),
                sent("cors", "/preview?to=2", ""),
                sent("cors", "/switch", &token),
                sent("cors", "/switch", body),
            ] {
                assert_eq!(browser.eval(&expression), "refused", "{expression}");
            }
            // This one is sent without asking; it is refused, and the answer kept from the page.
            assert_eq!(browser.eval(&sent("no-cors", "/switch", body)), "refused");
        });
        assert!(replay.hub().about().choices[0].is_current, "nothing was changed");
    });
}
