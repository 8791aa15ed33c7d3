//! The token at the page: given, wrong, left out, and of no use.

use std::net::SocketAddr;

use crate::browser::Browser;
use crate::page::{has_points, text, with_token};
use crate::support::{TOKEN, asked, for_others, snapshot, token, with_machine, with_replay};

fn is_shown(browser: &mut Browser, id: &str) -> bool {
    browser.eval(&format!("document.getElementById('{id}').checkVisibility()")) == true
}

/// Enters a token as somebody does.
fn enter(browser: &mut Browser, token: &str) {
    browser.eval(&format!(
        "(() => {{ const field = document.getElementById('token'); field.focus(); field.value = '{token}'; return true; }})()"
    ));
    browser.press("Enter");
}

/// Waits for what is said beside the box.
fn until_said(browser: &mut Browser, said: &str) {
    browser.until(&format!("document.getElementById('token-why')?.textContent === \"{said}\""));
}

const ASKS: &str = "To make changes, enter the console's token.";
const WRONG: &str = "Wrong token. To make changes, enter the console's token.";

#[test]
fn who_came_without_the_token_sees_all_and_enters_it_to_change_something() {
    let Some(mut browser) = Browser::start() else { return };
    with_replay(10.0, |at, replay| {
        browser.open(&format!("http://{at}/"), 380, 740);
        browser.until(&has_points(4));
        until_said(&mut browser, ASKS);
        let disabled = |id: &str| format!("document.getElementById('{id}').disabled");
        for id in ["play", "do-switch", "again"] {
            assert_eq!(browser.eval(&disabled(id)), true, "{id}");
        }
        browser.picture("token-asked");
        enter(&mut browser, "another-token-than-that");
        until_said(&mut browser, WRONG);
        assert_eq!(browser.eval(&disabled("play")), true);
        assert_eq!(browser.eval("sessionStorage.getItem('token')"), serde_json::Value::Null);
        browser.picture("token-wrong");
        enter(&mut browser, "not a token: …");
        until_said(&mut browser, WRONG);
        enter(&mut browser, TOKEN);
        browser.until("document.getElementById('play')?.disabled === false");
        assert!(!is_shown(&mut browser, "token-form") && !is_shown(&mut browser, "read-only"));
        browser.eval("document.getElementById('play').focus()");
        browser.press("Enter");
        browser.until("document.getElementById('play').textContent === 'Play'");
        assert_eq!(replay.hub().about().pace.unwrap().speed, 0.0);
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn a_wrong_token_in_the_address_is_told_before_anything_is_tried_and_forgotten() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        browser.open(&format!("http://{at}/#token=some-other-token"), 768, 900);
        until_said(&mut browser, WRONG);
        assert!(is_shown(&mut browser, "token-form") && is_shown(&mut browser, "read-only"));
        assert_eq!(browser.eval("document.getElementById('back').disabled"), true);
        browser.call("Page.reload", serde_json::json!({}));
        until_said(&mut browser, ASKS);
        browser.open("about:blank", 768, 900);
        browser.open(&with_token(at), 768, 900);
        browser.until("document.getElementById('back')?.disabled === false");
        assert!(!is_shown(&mut browser, "token-form"));
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

#[test]
fn an_address_with_a_token_is_taken_over_a_page_that_is_open_and_leaves_the_address_bar() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        browser.open(&format!("http://{at}/"), 768, 900);
        until_said(&mut browser, ASKS);
        browser.eval("window.isTheSame = true");
        browser.open(&with_token(at), 768, 900);
        browser.until("document.getElementById('back')?.disabled === false");
        assert_eq!(browser.eval("window.isTheSame"), true, "the page was not loaded anew");
        assert!(!is_shown(&mut browser, "token-form"));
        assert_eq!(browser.eval("location.href"), format!("http://{at}/"));
        let history = browser.call("Page.getNavigationHistory", serde_json::json!({}));
        assert!(!history.to_string().contains(TOKEN), "{history}");
        // A wrong one takes its place, as it does at the start.
        browser.open(&format!("http://{at}/#token=some-other-token"), 768, 900);
        until_said(&mut browser, WRONG);
        assert_eq!(browser.eval("document.getElementById('back').disabled"), true);
        // Another fragment is none.
        browser.open(&format!("http://{at}/#main"), 768, 900);
        assert!(is_shown(&mut browser, "token-form"));
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
    for_others(|at: SocketAddr| {
        browser.open(&format!("http://{at}/"), 768, 900);
        until_said(&mut browser, "Enter the console's token to see this page.");
        browser.open(&with_token(at), 768, 900);
        browser.until("document.getElementById('title').textContent.includes('simulated')");
        assert_eq!(browser.eval("location.hash"), "");
    });
}

#[test]
fn a_token_that_cannot_be_sent_is_told_to_be_wrong_and_is_not_kept() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        let long = "x".repeat(4000);
        for unfit in
            ["%E6%BC%A2%E5%AD%97%E6%BC%A2%E5%AD%97%E6%BC%A2%E5%AD%97%E6%BC%A2%E5%AD%97", &long]
        {
            browser.open("about:blank", 768, 900);
            browser.open(&format!("http://{at}/#token={unfit}"), 768, 900);
            until_said(&mut browser, WRONG);
            assert!(is_shown(&mut browser, "token-form"));
            until_live(&mut browser);
            assert_eq!(browser.eval("sessionStorage.getItem('token')"), serde_json::Value::Null);
            assert_eq!(browser.eval("location.hash"), "");
        }
        enter(&mut browser, &long);
        until_said(&mut browser, WRONG);
        assert_eq!(browser.eval("sessionStorage.getItem('token')"), serde_json::Value::Null);
        // One that an earlier page has kept.
        browser.eval("sessionStorage.setItem('token', '漢字漢字漢字漢字漢字')");
        browser.call("Page.reload", serde_json::json!({}));
        until_live(&mut browser);
        until_said(&mut browser, WRONG);
        assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
    });
}

fn until_live(browser: &mut Browser) {
    browser.until("document.getElementById('state')?.textContent === 'live'");
}

#[test]
fn what_else_is_answered_to_the_question_whether_a_token_is_right_is_told() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", Some(token()), |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        browser.open(&format!("http://{at}/"), 768, 900);
        until_said(&mut browser, ASKS);
        browser.eval(
            "(() => { const real = fetch; window.fetch = (path, more) => path === '/token' ? \
             Promise.resolve(new Response('too many ask\\n', { status: 503 })) : real(path, more); return true; })()",
        );
        enter(&mut browser, TOKEN);
        let said = "The console could not check the token: too many ask. To make changes, enter the console's token.";
        until_said(&mut browser, said);
    });
}

#[test]
fn a_console_that_has_no_token_asks_for_none_and_says_how_it_gets_one() {
    let Some(mut browser) = Browser::start() else { return };
    with_machine("alice", None, |at, hub| {
        hub.tell(&snapshot(1e9, "Short First", &["calls", "files"]));
        browser.open(&with_token(at), 768, 900);
        browser.until("document.getElementById('read-only')?.checkVisibility() === true");
        let reported = text(&mut browser, "read-only");
        assert!(
            reported.contains(
                "was started without a token. To make changes, start it with \
                --console-token-file FILE"
            ),
            "{reported}"
        );
        assert!(!is_shown(&mut browser, "token-form"));
        assert_eq!(browser.eval("document.getElementById('back').disabled"), true);
    });
}

#[test]
fn from_elsewhere_the_page_asks_for_the_token_before_it_shows_anything() {
    let Some(mut browser) = Browser::start() else { return };
    for_others(|at: SocketAddr| {
        browser.open(&format!("http://{at}/"), 768, 900);
        until_said(&mut browser, "Enter the console's token to see this page.");
        assert_eq!(text(&mut browser, "state"), "needs the token");
        enter(&mut browser, "some-other-token");
        until_said(&mut browser, "Wrong token. Enter the console's token to see this page.");
        enter(&mut browser, TOKEN);
        browser.until("document.getElementById('title').textContent.includes('simulated')");
        browser.until("document.getElementById('play')?.disabled === false");
        assert!(!is_shown(&mut browser, "token-form"));
    });
}

#[test]
fn whether_a_token_is_right_is_answered_to_this_page_alone() {
    with_replay(1.0, |at, _| {
        let ask = |fields: &[&str]| asked(at, "GET /token", fields, "");
        let shown = format!("Authorization: Bearer {TOKEN}");
        assert!(ask(&[&shown]).ends_with("{\"is_right\":true}"));
        for fields in [
            &[][..],
            &["Authorization: Bearer some-other-token"],
            &["Cookie: token=a-token-of-the-tests"],
        ] {
            assert!(ask(fields).ends_with("{\"is_right\":false}"), "{fields:?}");
        }
        for foreign in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
            assert!(ask(&[&shown, foreign]).starts_with("HTTP/1.1 403"), "{foreign}");
        }
        assert!(asked(at, "POST /token", &[&shown], "").starts_with("HTTP/1.1 405"));
    });
    for_others(|at| assert!(asked(at, "GET /token", &[], "").starts_with("HTTP/1.1 401")));
}
