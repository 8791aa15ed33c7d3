//! The tree of sites in `network.json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use shortflow_text::{Source, Spot};
use shortflow_units::Rate;

use crate::findings::{Findings, spot};
use crate::model::{Plans, Rates};

/// A site.
#[derive(Debug)]
pub(super) struct Node {
    /// Its name in plans.
    pub(super) key: String,
    /// Its name in the file.
    pub(super) title: String,
    pub(super) parent: Option<usize>,
    pub(super) rates: Rates,
}

/// All sites, each behind those before it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Names of the file with their sites; `None` for a virtual one directly behind the line.
    places: BTreeMap<String, Option<usize>>,
}

impl Tree {
    /// The site of this name: `Some(None)` where it is the line, `None` where no site has the name.
    pub(super) fn find(&self, title: &str) -> Option<Option<usize>> {
        self.places.get(title).copied()
    }

    /// The sites from one up to the line.
    pub(super) fn path(&self, site: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(site, |site| self.nodes[*site].parent)
    }
}

/// Keys of a node that are read, or say nothing about what packets get.
const KNOWN: [&str; 5] =
    ["downloadBandwidthMbps", "uploadBandwidthMbps", "children", "virtual", "type"];

pub(super) fn read(source: &Arc<Source>, findings: &mut Findings) -> Tree {
    let whole = spot(source, 0..source.text.len().min(1));
    let mut tree = Tree::default();
    match serde_json::from_str::<Value>(&source.text) {
        Ok(Value::Object(sites)) => {
            let mut reader = Reader { source, tree: &mut tree, findings };
            reader.children(&sites, None, 1);
        }
        Ok(_) => findings.mistake(&whole, "not a tree of sites", "write a JSON object"),
        Err(error) => {
            let before: usize =
                source.text.split_inclusive('\n').take(error.line() - 1).map(str::len).sum();
            let at = (before + error.column().saturating_sub(1)).min(source.text.len());
            let place = spot(source, boundary(&source.text, at));
            findings.mistake(&place, format!("invalid JSON: {error}"), "write a JSON object");
        }
    }
    tree
}

/// A range at this byte that cuts no character.
fn boundary(text: &str, mut at: usize) -> std::ops::Range<usize> {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at..text[at..].chars().next().map_or(at, |next| at + next.len_utf8())
}

struct Reader<'r> {
    source: &'r Arc<Source>,
    tree: &'r mut Tree,
    findings: &'r mut Findings,
}

impl Reader<'_> {
    fn children(&mut self, sites: &Map<String, Value>, parent: Option<usize>, depth: usize) {
        for (title, node) in sites {
            let place = self.place(title);
            let Value::Object(node) = node else {
                let help = "write an object with downloadBandwidthMbps and uploadBandwidthMbps";
                self.findings.mistake(&place, format!("site `{title}` is not an object"), help);
                continue;
            };
            self.node(title, node, parent, depth, &place);
        }
    }

    fn node(
        &mut self,
        title: &str,
        node: &Map<String, Value>,
        parent: Option<usize>,
        depth: usize,
        place: &Spot,
    ) {
        for key in node.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
            let what = format!("`{key}` of site `{title}` is not taken over");
            self.findings.warning(place, what, "plans have rates and parents of sites");
        }
        let is_virtual = node.get("virtual").is_some_and(|value| *value == Value::Bool(true));
        let site = if is_virtual {
            let what = format!("the virtual site `{title}` is not taken over");
            self.findings.warning(
                place,
                what,
                "its customers and sites are behind the site in front of it",
            );
            parent
        } else {
            if depth > Plans::MAX_DEPTH {
                let what = format!(
                    "site `{title}` is nested {depth} deep; the maximum is {}",
                    Plans::MAX_DEPTH
                );
                self.findings.mistake(place, what, "omit sites whose rate is never the limit");
            }
            let rate = |key: &str| node.get(key).and_then(Value::as_f64).and_then(mbit);
            let rates = (rate("downloadBandwidthMbps"), rate("uploadBandwidthMbps"));
            let (Some(down), Some(up)) = rates else {
                let help =
                    "write downloadBandwidthMbps and uploadBandwidthMbps as numbers above 0.064";
                self.findings.mistake(place, format!("site `{title}` has no valid rates"), help);
                return;
            };
            let key = self.key(title);
            let rates = Rates { down, up };
            self.tree.nodes.push(Node { key, title: title.to_owned(), parent, rates });
            Some(self.tree.nodes.len() - 1)
        };
        if self.tree.places.insert(title.to_owned(), site).is_some() {
            let what = format!("two sites are named `{title}`");
            self.findings.mistake(place, what, "give each site its own name");
        }
        if let Some(Value::Object(children)) = node.get("children") {
            self.children(children, site, depth + usize::from(!is_virtual));
        }
    }

    /// A name that plans allow, which no other site has.
    fn key(&mut self, title: &str) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let plain: String = title.chars().map(allowed).collect();
        let plain = plain.trim_matches('-');
        let plain = if plain.is_empty() { "site" } else { plain };
        let is_taken = |key: &str| self.tree.nodes.iter().any(|node| node.key == key);
        let mut numbered = (2..).map(|number| format!("{plain}-{number}"));
        match is_taken(plain) {
            true => numbered.find(|key| !is_taken(key)).expect("numbers do not end"),
            false => plain.to_owned(),
        }
    }

    /// Where the file first has the name of a site as a key.
    fn place(&self, title: &str) -> Spot {
        let quoted = Value::from(title).to_string();
        let text = &self.source.text;
        let at = text.match_indices(&quoted).map(|(at, _)| at);
        let mut keys = at.filter(|at| text[at + quoted.len()..].trim_start().starts_with(':'));
        let start = keys.next().unwrap_or(0);
        let end = (start + quoted.len()).min(text.len());
        spot(self.source, start..if text.is_char_boundary(end) { end } else { start })
    }
}

/// A rate in Mbit/s, where it is one that plans allow.
pub(super) fn mbit(number: f64) -> Option<Rate> {
    let bits = (number * 1e6 + 0.5).floor();
    let is_rate = bits >= Plans::MIN_RATE.bits_per_sec() as f64 && bits < 1e15;
    is_rate.then(|| Rate::from_bits_per_sec(bits as u64))
}
