//! The attributes that entries may have. A directory checks them itself, but a text may come from anywhere. An
//! attribute with a typing error would otherwise be ignored, and a filter would match more packets.

use shortflow_text::suggestion;

use super::{Entry, Finder, POLICY_CLASS, RULE_CLASS, TEXT_CLASS, verdicts::VERDICT_CLASS};

/// The classes of the schema with their attributes.
const CLASSES: [(&str, &[&str]); 4] = [
    (TEXT_CLASS, &["cn", "shortflowText", "description"]),
    (POLICY_CLASS, &["cn", "description"]),
    (
        RULE_CLASS,
        &[
            "cn",
            "shortflowAction",
            "shortflowMeanRate",
            "shortflowBucketDepth",
            "shortflowOrder",
            "shortflowProtocol",
            "shortflowSource",
            "shortflowDestination",
            "shortflowSourcePort",
            "shortflowDestinationPort",
            "shortflowPeakRate",
            "shortflowMaxPacket",
            "description",
        ],
    ),
    (VERDICT_CLASS, &["cn", "shortflowDigest", "shortflowOutcome", "description"]),
];

/// What servers say of each entry by themselves (RFC 4512, §3.4 and §4.2; RFC 4530, 5020 and 3045; OpenLDAP, 389 Directory Server).
const OPERATIONAL: [&str; 24] = [
    "structuralObjectClass",
    "governingStructureRule",
    "creatorsName",
    "createTimestamp",
    "modifiersName",
    "modifyTimestamp",
    "subschemaSubentry",
    "entryUUID",
    "entryCSN",
    "entryDN",
    "contextCSN",
    "hasSubordinates",
    "numSubordinates",
    "collectiveExclusions",
    "collectiveAttributeSubentries",
    "memberOf",
    "pwdPolicySubentry",
    "aci",
    "nsUniqueId",
    "entryid",
    "parentid",
    "nscpEntryDN",
    "dsEntryDN",
    "numAllSubordinates",
];

/// Notes what of an entry the schema does not have.
pub(super) fn check(found: &mut Finder<'_>, entry: &Entry) {
    let classes: Vec<String> = entry
        .values("objectClass")
        .map(|class| String::from_utf8_lossy(class).trim().to_owned())
        .collect();
    let is = |class: &str, name: &str| class.eq_ignore_ascii_case(name);
    let known: Vec<&(&str, &[&str])> =
        CLASSES.iter().filter(|(name, _)| classes.iter().any(|class| is(class, name))).collect();
    for class in classes.iter().filter(|class| is_ours(class)) {
        if !CLASSES.iter().any(|(name, _)| is(class, name)) {
            let names = CLASSES.map(|(name, _)| name);
            let help = suggestion(class, "classes of the schema", &names);
            found.mistake(entry, "objectClass", format!("unknown class `{class}`"), &help);
        }
    }
    let Some((class, _)) = known.first() else {
        return stranger(found, entry, &classes);
    };
    let allowed: Vec<&str> = known.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    // Another class may bring attributes of its own.
    let has_others =
        classes.iter().any(|class| !is(class, "top") && !known.iter().any(|(it, _)| is(class, it)));
    for (name, _) in &entry.attributes {
        let (plain, option) = name.split_once(';').unwrap_or((name, ""));
        let among = |names: &[&str]| names.iter().any(|known| is(plain, known));
        let is_known = match is_ours(plain) {
            // With an option it would be another attribute, which is not read.
            true => among(&allowed) && option.is_empty(),
            false => {
                has_others || among(&allowed) || among(&OPERATIONAL) || is(plain, "objectClass")
            }
        };
        if !is_known {
            let help = suggestion(name, &format!("a {class} has"), &allowed);
            found.mistake(entry, name, format!("unknown attribute `{name}`"), &help);
        }
    }
}

/// Notes an entry of none of the classes that has attributes of theirs all the same: its class is written wrongly.
fn stranger(found: &mut Finder<'_>, entry: &Entry, classes: &[String]) {
    let ours = entry.attributes.iter().find(|(name, _)| is_ours(name));
    let Some((name, _)) = ours.filter(|_| !classes.iter().any(|class| is_ours(class))) else {
        return;
    };
    let message = format!("`{name}` is only allowed in entries of the schema's classes");
    let names = CLASSES.map(|(name, _)| name);
    let class = classes.first().map_or("", String::as_str);
    let help = suggestion(class, "the `objectClass` of this entry must be one of", &names);
    found.mistake(entry, name, message, &help);
}

fn is_ours(name: &str) -> bool {
    name.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("shortflow"))
}
