//! Plans from texts.

use std::path::Path;

use shortflow_plans::{Plans, load_from};
use shortflow_text::{Diagnostics, InputFiles};

/// A line of 1 Gbit/s with two sites, one behind the other, and a table of customers.
pub(crate) const SITES: &str = "\
name = \"Village\"
customers = \"customers.csv\"

[line]
down = \"1 Gbit/s\"
up = \"1 Gbit/s\"

[sites.tower]
down = \"400 Mbit/s\"
up = \"100 Mbit/s\"

[sites.sector]
parent = \"tower\"
down = \"200 Mbit/s\"
up = \"50 Mbit/s\"
";

pub(crate) const COLUMNS: &str = "name,addresses,down,up,at_least_down,at_least_up,site\n";

/// Plans and their table of customers.
pub(crate) fn load(plans: &str, customers: &str) -> Result<Plans, Diagnostics> {
    let inputs = InputFiles::default();
    inputs.give(Path::new("plans.toml"), plans);
    inputs.give(Path::new("customers.csv"), customers);
    load_from(&inputs, Path::new("plans.toml"))
}

/// The plans of [`SITES`] with these customers.
pub(crate) fn with(customers: &str) -> Result<Plans, Diagnostics> {
    load(SITES, &format!("{COLUMNS}{customers}"))
}
