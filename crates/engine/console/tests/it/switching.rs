//! The page while versions change under it, by its own hand and by others, and while its agent is started anew.

use crate::browser::Browser;
use crate::page::{has_points, text, with_token};
use crate::support::{count, snapshot, token, with_machine, with_machine_at};

const CLASSES: [&str; 2] = ["calls", "files"];

/// Chooses a version, as by the list.
fn choose(browser: &mut Browser, id: &str) {
    browser.eval(&format!(
        "(() => {{ const of = document.getElementById('choice'); of.focus(); of.value = '{id}'; \
         of.dispatchEvent(new Event('change')); return true; }})()"
    ));
}

fn until_text(browser: &mut Browser, id: &str, text: &str) {
    browser.until(&format!("document.getElementById('{id}')?.textContent === \"{text}\""));
}

#[test]
fn an_agent_that_was_stopped_in_order_and_started_again_is_connected_to_again() {
    let Some(mut browser) = Browser::start() else { return };
    let mut address = None;
    with_machine("alice", Some(token()), |at, hub| {
        address = Some(at);
        hub.tell(&snapshot(1e9, "Short First", &CLASSES));
        browser.open(&with_token(at), 1024, 800);
        until_text(&mut browser, "state", "live");
    });
    until_text(&mut browser, "state", "no connection, trying again");
    with_machine_at(address.unwrap(), "alice", Some(token()), |_, hub| {
        hub.tell(&snapshot(1e9 + 9.0, "Short First", &CLASSES));
        until_text(&mut browser, "state", "live");
        browser.until("document.getElementById('back')?.disabled === false");
    });
}

#[test]
fn what_is_previewed_and_said_follows_the_version_that_counts_whoever_changes_it() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &CLASSES));
        browser.open(&with_token(at), 1024, 800);
        browser.until(&has_points(1));
        choose(&mut browser, "0/1");
        until_text(&mut browser, "preview-title", "What changes from version 2 to 0/1");
        count(hub, "0/3");
        until_text(&mut browser, "preview-title", "What changes from version 3 to 0/1");
        browser.until("document.getElementById('do-switch').disabled === false");
        // The keyboard is still somewhere when the button cannot be pressed any more.
        browser.eval("document.getElementById('do-switch').focus()");
        browser.press("Enter");
        until_text(&mut browser, "switched", "version 1 is active now instead of version 3.");
        browser.until("document.getElementById('do-switch').disabled");
        browser.until("document.activeElement.id === 'choice'");
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(text(&mut browser, "switched"), "version 1 is active now instead of version 3.");
        count(hub, "0/2");
        until_text(&mut browser, "switched", "");
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn who_cannot_be_reached_is_said_to_be_so_in_words() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &CLASSES));
        browser.open(&with_token(at), 1024, 800);
        browser.until(&has_points(1));
        browser.until("document.getElementById('back')?.disabled === false");
    });
    browser.eval("document.getElementById('back').click()");
    until_text(
        &mut browser,
        "switched",
        "The result is unknown: no answer from this address. The page shows the active one when it \
            is connected again.",
    );
}

#[test]
fn long_names_break_no_width_and_no_table_hides_a_column() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        let classes = ["interactive traffic of everybody", "calls", "everything else"];
        for second in 0..20_u32 {
            let policies = ["W".repeat(180), "Short First".to_owned(), "漢字".repeat(90)];
            let policy = &policies[second as usize % 3];
            hub.tell(&snapshot(1e9 + f64::from(second), policy, &classes));
        }
        for width in [360, 768, 1100, 1150, 1200, 1290, 1440] {
            browser.open("about:blank", width, 900);
            browser.open(&with_token(at), width, 900);
            browser.until(&has_points(20));
            choose(&mut browser, "0/1");
            until_text(&mut browser, "preview-title", "What changes from version 2 to 0/1");
            let wide =
                "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.eval(wide), 0, "{width}: nothing sticks out");
            let hidden = "(() => { const of = document.getElementById('classes').closest('.scroll'); return of.scrollWidth - of.clientWidth; })()";
            if width > 1000 {
                assert_eq!(browser.eval(hidden), 0, "{width}: all columns are shown");
            }
            let outside = "[...document.querySelectorAll('#chart .marktext')].filter(text => { const a = text.getBoundingClientRect(), \
                 c = document.querySelector('#chart svg').getBoundingClientRect(); \
                 return a.left < c.left + 46 - 2 || a.right > c.right; }).length";
            assert_eq!(browser.eval(outside), 0, "{width}: no name covers the axis");
            browser.picture(&format!("long-{width}"));
        }
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}
