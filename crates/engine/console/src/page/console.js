// What the console is told (server-sent events), shown. Nothing of it becomes markup: texts are set as texts.

import { Chart } from "/chart.js";

const MOST = 1300;
const RECENT_S = 10;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

const $ = id => document.getElementById(id);
const put = (id, text) => { const element = $(id); if (element.textContent !== text) element.textContent = text; };

// What a token is made of; nothing else is sent.
const FIT = /^[\w.-]{1,512}$/;

let about = null, run = 0;
// Who somebody at the page is: "unknown" until the console has said so, "none" without a token, "wrong" with another one, "right",
// "nobody" where the console has no token, or "untold" where it does not say.
let access = "unknown", mayRead = true, untold = "";
let token = takeToken();
let places = new Map();
// Classes are those that somebody has chosen; none is the one of the role, whatever it is called under the policy.
let chosen = { place: null, delay: null, rate: null };
const ROLES = { delay: ["interactive", 0], rate: ["bulk", -1] };
// What is previewed, from which version, and whether it is shown; which version counts; and where somebody at this page goes.
let previewed = null, previewedFrom = null, isPreviewed = false, current = null, going = null;
let due = false;

const chart = new Chart($("chart"), point => put("readout", point ? told(point) : "Point at the chart, or use the arrow keys."));

// The token comes behind `#`, which no request carries, and goes from the address at once.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) history.replaceState(null, "", location.pathname);
  const found = given || sessionStorage.getItem("token");
  if (!found) return null;
  if (FIT.test(found)) {
    sessionStorage.setItem("token", found);
    return found;
  }
  sessionStorage.removeItem("token");
  access = "wrong";
  return null;
}

function forgetToken() {
  token = null;
  sessionStorage.removeItem("token");
}

const bearer = () => token ? { Authorization: `Bearer ${token}` } : {};

async function ask(path, body) {
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = body === undefined ? bearer() : { ...bearer(), "Content-Type": "application/json" };
  const [answer, text] = await answered(path, { ...post, headers, cache: "no-store" });
  if (answer.status === 401) settle(token ? "wrong" : "none");
  if (!answer.ok) throw new Error(reason(text));
  return JSON.parse(text);
}

async function answered(path, request) {
  try {
    const answer = await fetch(path, request);
    return [answer, await answer.text()];
  } catch {
    throw new Unanswered("no answer from this address");
  }
}

class Unanswered extends Error {}

function reason(text) {
  try { return JSON.parse(text).error; } catch { return text.trim(); }
}

// --- who may ---------------------------------------------------------------------------------------------------------

// Asks whether the token is right before anybody relies on it.
async function check() {
  const shown = token;
  if (!shown) return settle(access === "wrong" ? "wrong" : "none");
  try {
    const answer = await fetch("/token", { headers: bearer(), cache: "no-store" });
    if (shown !== token) return;
    if (answer.status !== 200 && answer.status !== 401) {
      untold = reason(await answer.text()) || `${answer.status} ${answer.statusText}`;
      return settle("untold");
    }
    settle(answer.ok && (await answer.json()).is_right ? "right" : "wrong");
  } catch { /* Nobody answers, which the stream finds out, too. */ }
}

function settle(found) {
  access = found;
  if (found === "wrong") forgetToken();
  showAccess();
}

function showAccess() {
  const asks = access === "none" || access === "wrong" || access === "untold";
  $("token-form").hidden = !asks;
  $("token-form").classList.toggle("wrong", access === "wrong");
  const what = mayRead ? "To make changes, enter the console's token." : "Enter the console's token to see this page.";
  const why = { wrong: "Wrong token. ", untold: `The console could not check the token: ${untold}. ` }[access] ?? "";
  if (asks) put("token-why", why + what);
  $("read-only").hidden = can() || access === "unknown";
  put("read-only", access === "nobody" ? "This page is read-only because the console was started without a token. To make changes, start it with --console-token-file FILE."
    : "To make changes, enter the console's token at the top of the page.");
  for (const id of ["play", "again", "speed"]) $(id).disabled = !can();
  showSwitch();
}

// Who is at a button that can no longer be pressed is not left nowhere.
function showSwitch() {
  const at = document.activeElement;
  $("back").disabled = !can();
  $("do-switch").disabled = !$("choice").value || !isPreviewed || !can();
  if ((at === $("do-switch") || at === $("back")) && (at.disabled || at.hidden)) $("choice").focus();
}

const can = () => access === "right";

// --- the stream -----------------------------------------------------------------------------------------------------

let readAgain = () => {};
async function listen() {
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    try {
      const answer = await fetch("/events", { headers: bearer(), cache: "no-store" });
      if (answer.status === 401) {
        state("lost", "needs the token");
        mayRead = false;
        settle(token || access === "wrong" ? "wrong" : "none");
        await new Promise(done => { readAgain = done; });
        continue;
      }
      if (answer.ok) {
        wait = 500;
        places = new Map();
        // A run ends; an agent is started again.
        if (await follow(answer.body) === "end" && about?.kind !== "agents") {
          state("over", "ended");
          return;
        }
        state("lost", "no connection, trying again");
      } else {
        state("lost", `answers ${answer.status}, trying again`);
      }
    } catch {
      state("lost", "no connection, trying again");
    }
    await new Promise(done => setTimeout(done, wait));
  }
}

async function follow(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "cut";
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1], data = /^data: (.*)$/m.exec(block)?.[1];
      if (event === "end") return "end";
      if (event) receive(event, JSON.parse(data));
    }
    due = true;
  }
}

function receive(event, data) {
  if (event === "guard") {
    mayRead = true;
    if (data.may_change) check(); else settle("nobody");
  }
  if (event === "about") {
    if (data.run !== run) places = new Map();
    [about, run] = [data, data.run];
    showAbout();
  }
  if (event === "snapshot") {
    for (const place of data.places) {
      if (!places.has(place.name)) places.set(place.name, []);
      const series = places.get(place.name);
      series.push({ t: data.at_s, place });
      if (series.length > MOST) series.shift();
    }
    // A place that is gone is not shown for ever.
    for (const name of places.keys()) if (!data.places.some(place => place.name === name) && places.get(name).at(-1).t < data.at_s - 60) places.delete(name);
  }
}

function state(kind, text) {
  $("state").dataset.state = kind;
  put("state", text);
}

// --- drawing --------------------------------------------------------------------------------------------------------

// As often as the screen is drawn at most; more calmly for those who asked for less motion.
let drawnAt = 0;
function frame(now) {
  if (due && about && now - drawnAt > (CALM.matches ? 2000 : 100)) {
    [due, drawnAt] = [false, now];
    show();
  }
  requestAnimationFrame(frame);
}

function showAbout() {
  put("title", about.title);
  document.title = `${about.title} – Shortflow console`;
  put("kind", { replay: "Replay of a simulated run", rehearsal: "Rehearsal, over the kernel's own TCP in real time", agents: "Policy agents" }[about.kind]);
  put("delay-what", about.delay);
  $("notes").hidden = !about.notes.length;
  $("notes").replaceChildren(...about.notes.map(note => node("li", note)));
  $("pace").hidden = !about.pace;
  if (about.pace) {
    const { speed, is_over } = about.pace;
    put("play", speed && !is_over ? "Pause" : "Play");
    const known = [...$("speed").options].some(option => +option.value === speed);
    if (speed && !known) $("speed").append(new Option(`${speed} ×`, speed));
    if (speed) $("speed").value = speed;
    state(is_over ? "over" : speed ? "live" : "paused", is_over ? "at the end" : speed ? "playing" : "paused");
  } else {
    const isWarned = about.kind === "agents" && about.notes.length > 0;
    state(isWarned ? "warned" : "live", isWarned ? "live, with warnings" : "live");
  }
  showAccess();
  showChoices();
  due = true;
}

// What is looked at of a place: the class that somebody has chosen, where the policy there has it, else that of the role.
function streamOf(place, what, name = chosen[what]) {
  const [role, at] = ROLES[what];
  const by = (key, value) => place.streams.find(stream => stream[key] === value);
  return by("name", name) ?? by("role", role) ?? place.streams.at(at);
}

// Who chooses the class of the role follows it from one policy to another.
function choose(what, name) {
  const here = places.get(chosen.place)?.at(-1)?.place;
  chosen[what] = here && streamOf(here, what, null)?.name === name ? null : name;
  due = true;
}

function show() {
  const names = [...places.keys()];
  if (!names.includes(chosen.place)) chosen.place = names[0] ?? null;
  fill($("place"), names, chosen.place);
  $("place-box").hidden = names.length < 2;
  const series = places.get(chosen.place) ?? [];
  const here = series.at(-1)?.place;
  if (!here) return;
  const streams = here.streams.map(stream => stream.name);
  fill($("delay-of"), streams, streamOf(here, "delay")?.name);
  fill($("rate-of"), streams, streamOf(here, "rate")?.name);
  const points = pointsOf(series);
  showCards(series, here);
  chart.show(points, Math.min(+$("span").value, about.pace?.end_s ?? Infinity), here.rate_bit_per_s, about.kind === "agents" ? clock : null);
  if ($("table-box").open) showTable(points);
  showStreams(series, here);
  showFleet();
  showChoices();
  if (about.pace) put("progress", `${series.at(-1).t.toFixed(0)} of ${about.pace.end_s.toFixed(0)} s`);
}

function pointsOf(series) {
  let before = null;
  return series.map(({ t, place }) => {
    const [delay, rate] = [streamOf(place, "delay"), streamOf(place, "rate")];
    const what = [place.policy, place.version].filter(Boolean).join(", ");
    const mark = before !== null && what !== before ? what || "no policy" : null;
    before = what;
    return { t, delayOf: delay?.name ?? "no class", rateOf: rate?.name ?? "no class", delay: delay?.delay_s ?? null, p95: delay?.delay_p95_s ?? null, rate: rate?.rate_bit_per_s ?? null,
      dropped: sum(place.streams, "dropped"), policy: what, mark };
  });
}

// Those that are told apart by what they are to people and those by code point are the same packets: they count once. Classes of
// a device are all others.
function sum(streams, key) {
  const byRole = about.kind === "agents" ? streams : streams.filter(stream => stream.role !== "class");
  return (byRole.length ? byRole : streams).reduce((all, stream) => all + (stream[key] ?? 0), 0);
}

const recent = series => series.filter(({ t }) => t > series.at(-1).t - RECENT_S + 1e-9);

function showCards(series, here) {
  const latest = recent(series);
  const of = what => latest.map(({ place }) => streamOf(place, what)).filter(Boolean);
  const [delays, rates] = [of("delay"), of("rate")];
  const known = delays.map(stream => stream.delay_s).filter(delay => delay !== null);
  const p95 = delays.map(stream => stream.delay_p95_s).filter(delay => delay !== null);
  put("delay-name", streamOf(here, "delay")?.name ?? "");
  put("rate-name", streamOf(here, "rate")?.name ?? "");
  put("delay", millis(known.at(-1) ?? null));
  put("delay-more", p95.length ? `95 % within ${millis(Math.max(...p95))} in the last 10 s` : known.length ? "" : "not measured here");
  put("rate", mega(rates.at(-1)?.rate_bit_per_s ?? null));
  const share = rates.at(-1)?.rate_bit_per_s / here.rate_bit_per_s;
  put("rate-more", Number.isFinite(share) ? `${(100 * share).toFixed(0)} % of ${mega(here.rate_bit_per_s)}` : "");
  const dropped = latest.reduce((all, { place }) => all + sum(place.streams, "dropped"), 0);
  const marked = latest.reduce((all, { place }) => all + sum(place.streams, "marked"), 0);
  put("drops", count(dropped));
  put("drops-more", `packets; ${count(marked)} marked by ECN`);
  put("policy", here.policy ?? "none");
  put("policy-more", [here.machine, here.version].filter(Boolean).join(", "));
}

function showTable(points) {
  const latest = points.slice(-200).reverse();
  const times = latest.map(point => time(point.t));
  const isTwice = at => times[at] === times[at - 1] || times[at] === times[at + 1];
  const rows = latest.map((point, at) => row([[isTwice(at) ? finer(point.t) : times[at], "label"], millis(point.delay), millis(point.p95), mega(point.rate), count(point.dropped), [point.policy, "label"]]));
  $("table").tBodies[0].replaceChildren(...rows);
  const has = key => points.some(point => point[key] !== null);
  leaveOut("table", [null, has("delay"), has("p95"), has("rate"), null, null]);
}

// Leaves out the columns of a table of which nothing is known; of others it says null.
function leaveOut(id, isKnown) {
  for (const line of $(id).rows) [...line.cells].forEach((cell, at) => { cell.hidden = isKnown[at] === false; });
}

function showStreams(series, here) {
  const latest = recent(series);
  const total = (name, key) => latest.reduce((all, { place }) => all + (place.streams.find(stream => stream.name === name)?.[key] ?? 0), 0);
  const rows = here.streams.map((stream, at) => row([[stream.name, "label"], millis(stream.delay_s), millis(stream.delay_p95_s), mega(stream.rate_bit_per_s), count(total(stream.name, "dropped")), count(total(stream.name, "marked")),
    stream.waiting === null ? "–" : count(stream.waiting)], at && stream.role === "class" && here.streams[at - 1].role === "bulk" ? "group" : ""));
  $("classes").tBodies[0].replaceChildren(...rows);
  const has = key => series.some(({ place }) => place.streams.some(stream => stream[key] !== null));
  leaveOut("classes", [null, has("delay_s"), has("delay_p95_s"), has("rate_bit_per_s"), null, null, has("waiting")]);
  document.querySelector(".key.p95").hidden = !has("delay_p95_s");
  $("flows").tBodies[0].replaceChildren(...here.flows.map(flow => row([[flow.name, "label"], [flow.stream, "label"], mega(flow.rate_bit_per_s)])));
  $("flows-none").hidden = here.flows.length > 0;
  $("flows").closest(".scroll").hidden = !here.flows.length;
}

function showFleet() {
  $("fleet").hidden = places.size < 2;
  if (places.size < 2) return;
  const rows = [...places].map(([name, series]) => {
    const { place } = series.at(-1);
    const interactive = place.streams.find(stream => stream.role === "interactive") ?? place.streams[0];
    const bulk = place.streams.find(stream => stream.role === "bulk") ?? place.streams.at(-1);
    const dropped = recent(series).reduce((all, { place }) => all + sum(place.streams, "dropped"), 0);
    const line = row([[name, "label"], [place.policy ?? "none", "label"], [place.version ?? "–", "label"], millis(interactive?.delay_s ?? null), mega(bulk?.rate_bit_per_s ?? null), count(dropped),
      [place.problem ?? "as configured", place.problem ? "label wrap bad" : "label good"]], name === chosen.place ? "chosen" : "");
    return line;
  });
  $("places").tBodies[0].replaceChildren(...rows);
}

// --- switching ------------------------------------------------------------------------------------------------------

function showChoices() {
  const machine = places.get(chosen.place)?.at(-1)?.place.machine ?? null;
  const choices = about.choices.filter(choice => choice.machine === null || choice.machine === machine);
  $("switch").hidden = !choices.length;
  const others = choices.filter(choice => !choice.is_current);
  const label = choice => [choice.name, choice.detail].filter(Boolean).join(" – ");
  const wanted = $("choice").value;
  const ids = ["", ...others.map(choice => choice.id)];
  const texts = ["choose …", ...others.map(label)];
  fill($("choice"), ids, ids.includes(wanted) ? wanted : "", texts);
  const before = choices.find(choice => choice.is_before);
  if (document.activeElement === $("back") && !before) $("choice").focus();
  $("back").hidden = !before;
  if (before) {
    put("back", `Back to ${before.name}`);
    $("back").dataset.to = before.id;
  }
  const counts = choices.find(choice => choice.is_current)?.id ?? null;
  if (counts !== current) {
    // What was said of a switch is no longer so where somebody else has made another one.
    if (counts !== going) put("switched", "");
    current = counts;
  }
  if ($("choice").value !== previewed || current !== previewedFrom) preview();
  showSwitch();
}

async function preview() {
  const to = previewed = $("choice").value, from = previewedFrom = current;
  isPreviewed = false;
  showSwitch();
  $("preview").hidden = !to;
  if (!to) return;
  put("preview-title", "…");
  try {
    const found = await ask(`/preview?to=${encodeURIComponent(to)}`);
    if (to !== previewed || from !== previewedFrom) return;
    const same = !found.changes.length && !found.lines.length;
    put("preview-title", same ? `${found.from} and ${found.to} are the same` : `What changes from ${found.from} to ${found.to}`);
    $("changes").replaceChildren(...found.changes.map(change => node("li", change)));
    const kinds = { "+": "add", "-": "del", "…": "gap" };
    $("diff").replaceChildren(...found.lines.map(({ sign, text }) => node("span", `${sign} ${text}`, kinds[sign] ?? "")));
  } catch (error) {
    if (to !== previewed || from !== previewedFrom) return;
    put("preview-title", `No preview: ${error.message}`);
    $("changes").replaceChildren();
    $("diff").replaceChildren();
  }
  isPreviewed = true;
  showSwitch();
}

async function go(to) {
  const name = about.choices.find(choice => choice.id === to)?.name ?? to;
  const before = about.choices.find(choice => choice.is_current)?.name;
  going = to;
  try {
    put("switched", `Switching to ${name} …`);
    await ask("/switch", { to });
    put("switched", before ? `${name} is active now instead of ${before}.` : `${name} is active now.`);
  } catch (error) {
    going = null;
    put("switched", error instanceof Unanswered ? `The result is unknown: ${error.message}. The page shows the active one when it is connected again.` : `Failed: ${error.message}`);
  }
}

// --- words ----------------------------------------------------------------------------------------------------------

function millis(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const ms = 1e3 * seconds;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

function mega(bits) {
  if (bits === null || bits === undefined) return "–";
  const mbit = bits / 1e6;
  return mbit >= 1 || bits === 0 ? `${mbit.toFixed(mbit < 10 ? 2 : mbit < 100 ? 1 : 0)} Mbit/s` : `${(bits / 1e3).toFixed(0)} kbit/s`;
}

const count = number => number.toLocaleString("en");
const clock = t => new Date(1000 * t).toLocaleTimeString("en-GB");
const finer = t => new Date(1000 * t).toLocaleTimeString("en-GB", { fractionalSecondDigits: 1, hour: "2-digit", minute: "2-digit", second: "2-digit" });
const time = t => about.kind === "agents" ? clock(t) : `${t.toFixed(1)} s`;

function told(point) {
  const p95 = point.p95 === null ? "" : `, 95 % within ${millis(point.p95)}`;
  return `${time(point.t)}: delay of ${point.delayOf} ${millis(point.delay)}${p95}; throughput of ${point.rateOf} ${mega(point.rate)}; ${count(point.dropped)} dropped; ${point.policy || "no policy"}${point.mark ? ", new here" : ""}`;
}

function summary() {
  if (!$("aloud").checked || !places.get(chosen.place)) return;
  put("summary", `Delay of ${$("delay-name").textContent} ${$("delay").textContent}, throughput of ${$("rate-name").textContent} ${$("rate").textContent}, ${$("drops").textContent} dropped in 10 s, policy ${$("policy").textContent}.`);
}

// --- elements -------------------------------------------------------------------------------------------------------

function node(name, text, kind = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// Cells are texts, or texts with their class; the first is the head of the row.
function row(cells, kind = "") {
  const line = document.createElement("tr");
  if (kind) line.className = kind;
  line.append(...cells.map((cell, at) => {
    const [text, of] = Array.isArray(cell) ? cell : [cell, ""];
    const element = node(at ? "td" : "th", text, of);
    if (!at) element.scope = "row";
    return element;
  }));
  return line;
}

// Options are only made anew where they are others: a list that somebody has open stays open.
function fill(select, values, value, texts = values) {
  const key = JSON.stringify([values, texts]);
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(...values.map((one, at) => new Option(texts[at], one)));
  }
  if (value !== null && value !== undefined && select.value !== value) select.value = value;
}

const paced = body => ask("/pace", body).catch(error => put("progress", error.message));

$("place").addEventListener("change", () => { chosen = { place: $("place").value, delay: null, rate: null }; showChoices(); due = true; });
$("delay-of").addEventListener("change", () => choose("delay", $("delay-of").value));
$("rate-of").addEventListener("change", () => choose("rate", $("rate-of").value));
$("span").addEventListener("change", () => { due = true; });
$("table-box").addEventListener("toggle", () => { due = true; });
$("choice").addEventListener("change", preview);
$("switch-form").addEventListener("submit", event => { event.preventDefault(); if ($("choice").value) go($("choice").value); });
$("back").addEventListener("click", () => go($("back").dataset.to));
$("play").addEventListener("click", async () => {
  const { speed, is_over } = about.pace;
  if (is_over) await paced({ restart: true });
  paced({ speed: speed && !is_over ? 0 : +$("speed").value });
});
$("speed").addEventListener("change", () => paced({ speed: +$("speed").value }));
$("again").addEventListener("click", () => paced({ restart: true }));
$("token-form").addEventListener("submit", event => {
  event.preventDefault();
  const given = $("token").value.trim();
  $("token").value = "";
  if (!given) return;
  // What no token can be made of cannot be sent either.
  if (!FIT.test(given)) return settle("wrong");
  token = given;
  sessionStorage.setItem("token", token);
  put("token-why", "…");
  if (mayRead) check(); else readAgain();
});

// The address with a token, opened over a page that is there already.
window.addEventListener("hashchange", () => {
  if (!new URLSearchParams(location.hash.slice(1)).get("token")) return;
  token = takeToken();
  if (mayRead) check(); else readAgain();
});

setInterval(summary, 15000);
requestAnimationFrame(frame);
listen();
