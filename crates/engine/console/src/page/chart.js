// Two panels over one axis of time: delay above, throughput below. SVG, drawn anew for each snapshot.

const SVG = "http://www.w3.org/2000/svg";
const PANEL = 150, GAP = 34, TOP = 24, BOTTOM = 26, LEFT = 46, RIGHT = 12;
// How wide a letter of the axis is at most, on average.
const WORD = 7.4;
const PEN = document.createElement("canvas").getContext("2d");

export class Chart {
  // `point` is told of a point that is pointed at, or of null.
  constructor(box, point) {
    this.box = box;
    this.point = point;
    this.points = [];
    this.at = null;
    this.svg = make("svg", { "aria-hidden": "true" });
    box.append(this.svg);
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("pointermove", event => this.pointAt(event));
    box.addEventListener("pointerdown", event => this.pointAt(event));
    box.addEventListener("pointerleave", () => { if (document.activeElement !== box) this.choose(null); });
    box.addEventListener("blur", () => this.choose(null));
    box.addEventListener("keydown", event => this.key(event));
  }

  // Points are {t, delay, p95, rate, mark}, in the order of time; `limit` is the rate of the line.
  show(points, span, limit, time) {
    Object.assign(this, { points, span, limit, time });
    this.draw();
  }

  key(event) {
    const shown = this.shown();
    if (!shown.length || event.altKey || event.ctrlKey || event.metaKey) return;
    const here = this.at === null ? -1 : shown.findIndex(point => point.t >= this.at - 1e-9);
    const last = shown.length - 1;
    const next = { ArrowLeft: here < 0 ? last : Math.max(here - 1, 0), ArrowRight: here < 0 ? last : Math.min(here + 1, last),
      Home: 0, End: last, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.choose(next === null ? null : shown[next].t);
  }

  pointAt(event) {
    const shown = this.shown();
    if (!shown.length) return;
    const t = this.timeAt(event.clientX - this.svg.getBoundingClientRect().left);
    const nearer = (a, b) => Math.abs(b.t - t) < Math.abs(a.t - t) ? b : a;
    this.choose(shown.reduce(nearer).t);
  }

  choose(t) {
    this.at = t;
    this.point(t === null ? null : this.points.find(point => point.t === t) ?? null);
    this.draw();
  }

  shown() {
    const last = this.points.at(-1)?.t ?? 0;
    return this.span ? this.points.filter(point => point.t > last - this.span) : this.points;
  }

  draw() {
    const width = Math.max(this.box.clientWidth - 10, 200), height = TOP + 2 * PANEL + GAP + BOTTOM;
    const shown = this.shown();
    set(this.svg, { viewBox: `0 0 ${width} ${height}`, height, width });
    const first = shown[0]?.t ?? 0, last = shown.at(-1)?.t ?? 1;
    // Nothing is drawn of a time that has not come: with few points the axis is shorter than what was asked for.
    const to = last;
    const from = Math.min(this.span ? Math.max(first, last - this.span) : first, last - 1);
    const inner = width - LEFT - RIGHT;
    const x = t => LEFT + inner * (t - from) / (to - from);
    this.timeAt = px => from + (px - LEFT) / inner * (to - from);
    const parts = [];
    this.times(parts, from, to, x, height, inner);
    const panels = [
      { top: TOP, title: "Delay, ms", lines: [["p95", p => p.p95], ["mean", p => p.delay]], unit: 1e3, least: 0.01 },
      { top: TOP + PANEL + GAP, title: "Throughput, Mbit/s", lines: [["rate", p => p.rate]], unit: 1e-6, least: 1e5, area: true },
    ];
    for (const panel of panels) this.panel(parts, panel, shown, x, width);
    this.marks(parts, shown, x, height, width);
    this.svg.replaceChildren(...parts);
  }

  panel(parts, { top, title, lines, unit, least, area }, shown, x, width) {
    const values = lines.flatMap(([, of]) => shown.map(of)).filter(value => value !== null);
    const limit = area ? this.limit : null;
    let most = Math.max(least, ...values);
    // The line's rate is shown where it is near: a calm line of 1 Gbit/s would press all else flat.
    if (limit && limit < 3 * most) most = Math.max(most, limit);
    const { step, top: ceiling } = nice(most * unit);
    const y = value => top + PANEL * (1 - Math.min(value * unit / ceiling, 1));
    for (let tick = 0; tick <= ceiling + step / 2; tick += step) {
      const at = y(tick / unit);
      parts.push(make("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
      parts.push(text(LEFT - 6, at + 4, trim(tick), { "text-anchor": "end" }));
    }
    parts.push(text(LEFT, top - 9, title, { class: "title" }));
    if (limit && limit * unit <= ceiling) parts.push(make("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: y(limit), y2: y(limit) }));
    for (const [kind, of] of lines) {
      const pieces = unbroken(shown, of).map(piece => piece.map(point => [x(point.t), y(of(point))]));
      for (const piece of pieces) {
        const path = "M" + piece.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join("L");
        if (area && piece.length > 1) parts.push(make("path", { class: "area", d: `${path}L${piece.at(-1)[0].toFixed(1)},${top + PANEL}L${piece[0][0].toFixed(1)},${top + PANEL}Z` }));
        // A point alone is a line of no length, which has round ends.
        parts.push(make("path", { class: kind, d: piece.length > 1 ? path : path + "h.01", "stroke-linecap": "round", "stroke-linejoin": "round" }));
      }
      const chosen = shown.find(point => point.t === this.at);
      if (chosen && of(chosen) !== null && kind !== "p95") parts.push(make("circle", { class: `dot ${kind}`, cx: x(chosen.t), cy: y(of(chosen)), r: 4 }));
    }
  }

  times(parts, from, to, x, height, inner) {
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600].find(step => (to - from) / step <= Math.max(inner / 80, 2)) ?? (to - from) / 2;
    let taken = -Infinity;
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      parts.push(make("line", { class: "grid", x1: x(t), x2: x(t), y1: TOP, y2: height - BOTTOM }));
      const words = this.time ? this.time(t) : `${trim(t)} s`, long = WORD * words.length;
      const isLast = x(t) + long / 2 > LEFT + inner + RIGHT;
      const left = x(t) - (isLast ? long : long / 2);
      if (left < taken + 4) continue;
      taken = left + long;
      parts.push(text(x(t), height - 8, words, { "text-anchor": isLast ? "end" : "middle" }));
    }
  }

  marks(parts, shown, x, height, width) {
    // Up to where each line of words is taken; words that find no room are left to the readout and the table.
    const taken = Array(5).fill(-Infinity);
    PEN.font = `600 12px ${getComputedStyle(this.box).fontFamily}`;
    for (const point of shown.filter(point => point.mark)) {
      const at = x(point.t), isLate = at > width / 2;
      parts.push(make("line", { class: "mark", x1: at, x2: at, y1: TOP - 4, y2: height - BOTTOM }));
      const room = (isLate ? at - LEFT : width - RIGHT - at) - 5;
      const { words, long } = shortened(point.mark, room);
      const [left, right] = isLate ? [at - 5 - long, at - 5] : [at + 5, at + 5 + long];
      const line = taken.findIndex(until => until + 8 < left);
      if (line < 0) continue;
      taken[line] = right;
      parts.push(text(at + (isLate ? -5 : 5), TOP + 12 + 14 * line, words, { class: "marktext", "text-anchor": isLate ? "end" : "start" }));
    }
    if (this.at !== null && shown.some(point => point.t === this.at)) {
      parts.push(make("line", { class: "cursor", x1: x(this.at), x2: x(this.at), y1: TOP, y2: height - BOTTOM }));
    }
  }
}

// As much of a text as this room has a place for.
function shortened(text, room) {
  const letters = [...text];
  const first = count => count < letters.length ? `${letters.slice(0, count).join("")}…` : text;
  const long = count => PEN.measureText(first(count)).width;
  let [least, most] = [0, letters.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (long(middle) <= room) least = middle; else most = middle - 1;
  }
  return { words: first(least), long: long(least) };
}

// Pieces of a line between points at which nothing was measured.
function unbroken(points, of) {
  const pieces = [[]];
  for (const point of points) {
    if (of(point) === null) pieces.push([]); else pieces.at(-1).push(point);
  }
  return pieces.filter(piece => piece.length);
}

// A step of 1, 2 or 5 by which three to six lines reach above the most.
function nice(most) {
  const power = 10 ** Math.floor(Math.log10(most / 3));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => most / step <= 5);
  return { step, top: Math.ceil(most / step - 1e-9) * step };
}

const trim = value => String(Math.round(value * 1e6) / 1e6);

function make(name, attributes) {
  return set(document.createElementNS(SVG, name), attributes);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function text(x, y, content, attributes) {
  const element = make("text", { x, y, ...attributes });
  element.textContent = content;
  return element;
}
