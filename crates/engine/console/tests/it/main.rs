//! The console's public face: what is answered to whom, and the page in a browser.

mod agents;
mod answers;
mod browser;
mod page;
mod support;
mod switching;
mod token;
