//! From plans of customers to a policy with the queue `plans`.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use shortflow_plans::{CustomerQueue, Direction, Plans};
use shortflow_text::{Diagnostics, Document, Source, name_of};

/// The text of a policy, which may have been written as plans of customers.
#[derive(Debug, Clone)]
pub struct PolicyText {
    /// The text. Of plans, the role `down` queues packets to customers, and the role `up` those from them.
    pub text: String,
    /// What in plans is allowed, but probably a mistake.
    pub warnings: Diagnostics,
}

impl PolicyText {
    /// Takes the text of a policy as it is, and turns plans of customers into one. `text` was read from `path`; `read` reads the
    /// table of customers that plans name.
    ///
    /// # Errors
    /// All mistakes in plans, with their places.
    pub fn new(
        path: &Path,
        text: String,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<PolicyText, Diagnostics> {
        if !are_plans(path, &text) {
            return Ok(PolicyText { text, warnings: Diagnostics::default() });
        }
        let plans = shortflow_plans::from_text(path, text, read)?;
        let text = text_of_plans(&plans);
        Ok(PolicyText { text, warnings: plans.warnings })
    }
}

/// Whether a text has tables of plans, and no role. What is no TOML is read as a policy, which reports its mistakes.
fn are_plans(path: &Path, text: &str) -> bool {
    let source = Source { name: name_of(path), text: text.to_owned() };
    let names = Document::parse(Arc::new(source), &[]).map(|document| document.names_in(""));
    let has = |names: &[String], key: &str| names.iter().any(|name| name == key);
    names.is_ok_and(|names| {
        !has(&names, "roles") && shortflow_plans::KEYS.iter().any(|key| has(&names, key))
    })
}

/// The text of a policy with these plans, as in [`PolicyText`].
pub fn text_of_plans(plans: &Plans) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "name = {}", quoted(&plans.name));
    let _ = writeln!(text, "description = {}", quoted(&plans.summary()));
    Direction::ALL.into_iter().for_each(|direction| role(&mut text, plans, direction));
    text
}

/// A role of the name of its direction.
fn role(text: &mut String, plans: &Plans, direction: Direction) {
    let by = match direction {
        Direction::Down => "destination",
        Direction::Up => "source",
    };
    let queue = match plans.queue {
        CustomerQueue::FqCodel => {
            let (limit, queues) = (Plans::QUEUE_PACKETS, Plans::FLOW_QUEUES);
            format!("fq-codel = {{ limit = \"{limit} pkt\", queues = {queues} }}")
        }
        CustomerQueue::Fifo => {
            // One limit for all: that of the largest plan.
            let largest = plans.customers.iter().map(|one| one.plan.of(direction)).max();
            let limit = Plans::fifo_bytes(largest.unwrap_or_default());
            format!("fifo = {{ limit = \"{limit} B\" }}")
        }
    };
    let _ = writeln!(text, "\n[roles.{}.queue.plans]\nby = \"{by}\"", direction.name());
    let _ = writeln!(text, "rate = \"{}\"\nqueue.{queue}", plans.line.of(direction));
    if let Some(unknown) = plans.unknown {
        let _ = writeln!(text, "unknown = \"{}\"", unknown.of(direction));
    }
    text.push_str("sites = [\n");
    for site in &plans.sites {
        let rate = site.rates.of(direction);
        let _ = write!(text, "  {{ name = {}, rate = \"{rate}\"", quoted(&site.name));
        text.push_str(&place(plans, "parent", site.parent));
        text.push_str(" },\n");
    }
    text.push_str("]\n");
    text.push_str("customers = [\n");
    for customer in &plans.customers {
        let addresses: Vec<Value> =
            customer.addresses.iter().map(|prefix| prefix.to_string().into()).collect();
        let (most, least) = (customer.plan.of(direction), plans.floor(customer, direction));
        let addresses = Value::from(addresses);
        let _ = write!(
            text,
            "  {{ addresses = {addresses}, at_most = \"{most}\", at_least = \"{least}\""
        );
        text.push_str(&place(plans, "site", customer.site));
        let _ = writeln!(text, " }}, # {}", customer.name.replace(char::is_control, " "));
    }
    text.push_str("]\n");
}

/// A key with the name of a site; nothing for the line.
fn place(plans: &Plans, key: &str, site: Option<usize>) -> String {
    site.map_or(String::new(), |site| format!(", {key} = {}", quoted(&plans.sites[site].name)))
}

/// A string of TOML. JSON escapes what TOML wants escaped.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
