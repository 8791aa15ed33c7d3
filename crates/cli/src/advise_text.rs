//! The output of `advise`.

use std::path::Path;

use shortflow_advise::{Advice, LOW_SHARE, Network, SCENARIO, Slower, WINNER};
use shortflow_report::{Table, warning_mark, wrapped};
use shortflow_run::shell_word;
use shortflow_units::Rate;

use crate::console::Console;
use crate::deployable;

/// An advice as text.
pub(crate) struct AdviceText<'a>(pub(crate) &'a Advice<'a>);

impl<'a> std::ops::Deref for AdviceText<'a> {
    type Target = Advice<'a>;

    fn deref(&self) -> &Advice<'a> {
        self.0
    }
}

/// What to do where no policy helps.
fn without_advice(folder: &Path) -> String {
    let scenario = shell_word(folder.join(SCENARIO).as_os_str());
    format!(
        "Ask again with less traffic or a faster line: fewer --users, fewer --uses, a smaller --sizes, or higher --up \
         and --down. On a line that is idle for most of the time, ask with more --users. To change single assumptions, edit {scenario} and run `shortflow simulate {scenario}`.\n"
    )
}

impl AdviceText<'_> {
    pub(crate) fn describe(&self, console: &Console, folder: &Path) -> String {
        let table = Table::set(&self.table()).text(console.color_out);
        let head = wrapped(&self.headline(), console.columns);
        let message = wrapped(&self.found(), console.columns);
        let mark = |found| format!("{} {found}\n", warning_mark(found, console.color_out));
        let warnings: String = self.warnings.iter().map(mark).collect();
        let message = message + &wrapped(&warnings, console.columns);
        let next = match self.is_advice() {
            true => self.next(console.columns, folder),
            false => wrapped(&without_advice(folder), console.columns),
        };
        format!("{head}{table}\n{message}{next}")
    }

    fn next(&self, columns: usize, folder: &Path) -> String {
        let word = |name: &str| shell_word(folder.join(name).as_os_str());
        let (scenario, policy) = (word(SCENARIO), word(WINNER));
        let share = |rate: Rate, share: f64| {
            Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * share) as u64)
        };
        let usual = self.network.line.share;
        let incoming = if self.has_low_rate() { LOW_SHARE } else { usual };
        let Network { up, down, .. } = *self.network;
        let keep: String =
            self.limits.iter().map(|limit| format!(" \\\n      --keep '{}'", limit.text)).collect();
        let again = "Edit the assumptions and search again among all policies, including those that no device \
             supports:";
        let again = format!(
            "{}\n  \
             shortflow tune {scenario} --for {}{keep}\n",
            wrapped(again, columns),
            self.goals[0].text
        );
        if self.is_today {
            return again;
        }
        let role = self.advised.scenario().policy.as_deref().map_or("", deployable::roles);
        let layer = deployable::link_layer(self.network.line.link_layer);
        let (up, down) = (share(up, usual), share(down, incoming));
        let set = |option: &str, way: Slower| {
            let buffer = self.slower_buffer().filter(|(slower, _)| *slower == way);
            buffer
                .map_or(String::new(), |(_, limit)| format!(" {option} parameters.limit='{limit}'"))
        };
        let deploy = format!("  sudo shortflow deploy {policy} {role}--dev");
        let needs_hosts =
            self.advised.scenario().policy.as_deref().is_some_and(deployable::tells_receivers);
        let how = match needs_hosts {
            true => {
                let (out, inside) = (set("--set", Slower::Out), set("--set", Slower::In));
                let why = "Deploy it at the gateway, towards the provider and towards the users: it tells receiving hosts, \
                           whose addresses the gateway may translate (NAT) only after packets arrive from the provider:";
                format!(
                    "{}\n{deploy} WAN --rate '{up}'{layer}{out}\n{deploy} LAN --rate '{down}'{layer}{inside}\n",
                    wrapped(why, columns)
                )
            }
            false => {
                let (out, inside) = (set("--set-up", Slower::Out), set("--set-down", Slower::In));
                let why = "Deploy it at the gateway, on the device towards the provider, for both directions:";
                format!(
                    "{}\n{deploy} WAN --up '{up}' --down '{down}'{layer}{out}{inside}\n",
                    wrapped(why, columns)
                )
            }
        };
        format!(
            "{again}Rehearse it with this machine's TCP for a minute and a half:\n  sudo shortflow rehearse \
             {scenario} --policy {policy} --replicas 1\n{how}"
        )
    }
}
