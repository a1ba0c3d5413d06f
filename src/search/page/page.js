// Draws the overview from the data embedded in the page, and moves it.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const view = document.getElementById("view"), overview = document.getElementById("overview"), whole = document.getElementById("whole");
const reading = document.getElementById("reading"), fit = document.getElementById("fit");
const channels = data.channels.length, samples = data.samples, matches = data.matches;
const lane = Math.max(14, Math.min(84, Math.round(560 / channels)));
const tags = 24, notes = data.notes.length ? 20 : 0, top = tags + notes, bottom = 24, height = top + lane * channels + bottom, wholeHeight = 30;
const shortest = Math.min(samples, 16);
let from = 0, to = samples, chosen = -1, width = 0, gutter = 0, waiting = false;

// Levels of a track: the first as it is embedded, each further one of four bins of the one before.
const open = track => {
  const bytes = atob(track.data), count = track.stride === 1 ? 1 : 2, numbers = new Uint16Array(bytes.length / 2);
  for (let k = 0; k < numbers.length; ++k) numbers[k] = bytes.charCodeAt(2 * k) | bytes.charCodeAt(2 * k + 1) << 8;
  const levels = [{stride: track.stride, bins: track.bins, count, numbers}];
  while (levels.at(-1).bins > 64) {
    const fine = levels.at(-1), bins = Math.ceil(fine.bins / 4), coarse = new Uint16Array(bins * channels * 2);
    for (let c = 0; c < channels; ++c)
      for (let b = 0; b < bins; ++b) {
        let low = 0, high = 0;
        for (let k = 4 * b, end = Math.min(k + 4, fine.bins); k < end; ++k) {
          const at = (c * fine.bins + k) * fine.count, l = fine.numbers[at], h = fine.numbers[at + fine.count - 1];
          if (l && (!low || l < low)) low = l;
          if (h > high) high = h;
        }
        coarse[2 * (c * bins + b)] = low;
        coarse[2 * (c * bins + b) + 1] = high;
      }
    levels.push({stride: 4 * fine.stride, bins, count: 2, numbers: coarse});
  }
  return {first: track.first, last: Math.min(samples, track.first + track.stride * track.bins), low: track.low, step: track.step, levels};
};
const tracks = data.tracks.map(open);

const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const hue = label => (label * 137.5 + 30) % 360;
const toX = t => gutter + (t - from) / (to - from) * (width - gutter);
const toT = x => from + (x - gutter) / (width - gutter) * (to - from);
const clampWidth = text => text.length > 40 ? text.slice(0, 39) + "\u2026" : text;

// Seconds where the rate is known, else samples; digits as far as `step` [samples] tells places apart.
const timeText = (t, step) => {
  if (!data.timed) return Math.round(t).toLocaleString("en");
  const seconds = t / data.rate, digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / data.rate) - 1e-9)));
  if (samples / data.rate < 600) return seconds.toFixed(digits);
  const unit = 10 ** digits, all = Math.round(seconds * unit), minutes = Math.floor(all / unit / 60);
  const rest = ((all - minutes * 60 * unit) / unit).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return samples / data.rate < 3600 ? minutes + ":" + rest : Math.floor(minutes / 60) + ":" + String(minutes % 60).padStart(2, "0") + ":" + rest;
};
const timeUnit = !data.timed ? "sample" : samples / data.rate < 600 ? "s" : samples / data.rate < 3600 ? "min" : "h";
const steps = data.timed ? [1e-6, 1e-5, 1e-4, 1e-3].flatMap(p => [p, 2 * p, 5 * p]).concat([.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000])
  : [...Array(12).keys()].flatMap(p => [10 ** p, 2 * 10 ** p, 5 * 10 ** p]);

// What is drawn of which track: pieces around matches where they are finer than the pixels of the whole allow.
const pieces = perPixel => {
  let open = [[from, to]];
  const out = [];
  if (tracks[0].levels[0].stride > perPixel)
    for (const track of tracks.slice(1)) {
      const rest = [];
      for (const [a, b] of open) {
        const begin = Math.max(a, track.first), end = Math.min(b, track.last);
        if (begin >= end) { rest.push([a, b]); continue; }
        out.push([track, begin, end]);
        if (a < begin) rest.push([a, begin]);
        if (end < b) rest.push([end, b]);
      }
      open = rest;
    }
  return out.concat(open.map(([a, b]) => [tracks[0], a, b])).map(([track, a, b]) => {
    const level = track.levels.findLast(l => l.stride <= perPixel) ?? track.levels[0];
    return {track, level, a, b, first: Math.max(0, Math.floor((a - track.first) / level.stride) - 1),
            last: Math.min(level.bins, Math.ceil((b - track.first) / level.stride) + 1)};
  });
};
const rangeOf = (drawn, c) => {
  let low = Infinity, high = -Infinity;
  for (const {track, level, first, last} of drawn)
    for (let k = first; k < last; ++k) {
      const at = (c * level.bins + k) * level.count, l = level.numbers[at], h = level.numbers[at + level.count - 1];
      if (!l) continue;
      low = Math.min(low, track.low[c] + (l - 1) * track.step[c]);
      high = Math.max(high, track.low[c] + (h - 1) * track.step[c]);
    }
  return [low, high];
};
const wholeRange = data.channels.map((_, c) => rangeOf([{track: tracks[0], level: tracks[0].levels.at(-1), first: 0, last: tracks[0].levels.at(-1).bins}], c));

const wave = (g, {track, level, a, b, first, last}, c, toY) => {
  const value = n => toY(track.low[c] + (n - 1) * track.step[c]), x = k => toX(track.first + (k + (level.count - 1) / 2) * level.stride);
  g.save();
  g.beginPath();
  g.rect(toX(a), 0, toX(b) - toX(a), height);
  g.clip();
  g.beginPath();
  let run = [];
  const end = () => {
    if (run.length === 1) g.rect(run[0][0] - .5, run[0][2] - .5, 1, run[0][1] - run[0][2] + 1);
    run.forEach(([px, low], k) => k ? g.lineTo(px, low) : g.moveTo(px, low));
    if (level.count === 2) for (const [px, , high] of run.reverse()) g.lineTo(px, high);
    run = [];
  };
  for (let k = first; k < last; ++k) {
    const at = (c * level.bins + k) * level.count, l = level.numbers[at];
    if (l) run.push([x(k), value(l), value(level.numbers[at + level.count - 1])]); else end();
  }
  end();
  if (level.count === 2) g.fill();
  g.stroke();
  g.restore();
};

const canvas = (element, h) => {
  const scale = Math.max(2, window.devicePixelRatio || 1);
  element.style.height = h + "px";
  element.width = Math.round(width * scale);
  element.height = Math.round(h * scale);
  const g = element.getContext("2d");
  g.scale(scale, scale);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return g;
};
const label = (g, text, x, y, most) => {
  text = clampWidth(text);
  while (text.length > 1 && g.measureText(text).width > most) text = text.slice(0, -2) + "\u2026";
  g.fillText(text, x, y);
};
const short = v => (Math.abs(v) >= 1e6 || (v && Math.abs(v) < 1e-3) ? v.toExponential(1) : (+v.toPrecision(3)).toLocaleString("en", {maximumSignificantDigits: 3})).replace("-", "\u2212");

const drawOverview = () => {
  const g = canvas(overview, height), perPixel = (to - from) / (width - gutter), drawn = pieces(perPixel);
  const ink = colour("ink"), soft = colour("soft"), rule = colour("rule"), box = colour("match"), found = colour("found");
  const lanes = top + lane * channels;
  // Time
  const rate = data.timed ? data.rate : 1, step = (steps.find(s => s * rate / perPixel > 95) ?? steps.at(-1)) * rate;
  g.strokeStyle = rule;
  g.fillStyle = soft;
  g.textAlign = "center";
  for (let k = Math.ceil(from / step); k * step <= to; ++k) {
    const x = toX(k * step);
    g.fillRect(x, lanes, 1, 5);
    g.globalAlpha = .5;
    g.fillRect(x, top, .5, lanes - top);
    g.globalAlpha = 1;
    if (x > gutter + 20 && x < width - 20) g.fillText(timeText(k * step, step), x, lanes + 14);
  }
  g.textAlign = "right";
  g.fillText(timeUnit, gutter - 8, lanes + 14);
  // Annotations
  g.textAlign = "left";
  if (notes) {
    const [inner, edge] = [colour("note"), colour("note-edge")];
    let free = -1;
    for (const [onset, duration, name] of data.notes) {
      if (onset > to || onset + duration < from) continue;
      const x = Math.max(toX(onset), gutter), w = Math.max(1.5, Math.min(toX(onset + duration), width) - x);
      g.fillStyle = `hsl(${hue(name)} ${w < 4 ? edge : inner})`;
      g.fillRect(x, tags + 1, w, notes - 4);
      g.fillStyle = `hsl(${hue(name)} ${edge})`;
      g.fillRect(x, tags + notes - 4, w, 2);
      g.fillStyle = ink;
      if (w > 34 || (duration === 0 && x > free)) {
        label(g, data.labels[name], x + 4, tags + 8, Math.max(w - 6, 60));
        free = x + 70;
      }
    }
  }
  // Found
  const shown = matches.map((m, k) => ({...m, k})).filter(m => m.last >= from && m.first <= to).reverse();
  g.save();
  g.beginPath();
  g.rect(gutter, 0, width - gutter, lanes);
  g.clip();
  for (const {first, last, pairs, k} of shown) {
    const x = toX(first), w = Math.max(2, toX(last) - x);
    g.strokeStyle = box;
    g.lineWidth = k === chosen ? 2 : 1;
    g.globalAlpha = k === chosen ? 1 : .55;
    g.setLineDash([3, 3]);
    if (w > 8) g.strokeRect(x, top + 1, w, lanes - top - 2);
    g.setLineDash([]);
    g.globalAlpha = 1;
    g.fillStyle = found;
    for (const [c, offset, length] of pairs) {
      const px = toX(offset), pw = Math.max(2, toX(offset + length) - px), y = top + c * lane + 1;
      g.fillRect(px, y, pw, lane - 2);
      if (pw > 8) { g.globalAlpha = k === chosen ? 1 : .5; g.strokeRect(px, y, pw, lane - 2); g.globalAlpha = 1; }
    }
  }
  g.restore();
  // Channels
  g.lineWidth = 1;
  for (let c = 0; c < channels; ++c) {
    const y = top + c * lane, [low, high] = fit.checked ? rangeOf(drawn, c) : wholeRange[c], {name, unit} = data.channels[c];
    g.fillStyle = rule;
    g.fillRect(0, y, width, .5);
    g.fillStyle = ink;
    g.textAlign = "left";
    const ranged = lane >= 30 && high >= low;
    label(g, name, 0, y + (ranged ? lane / 2 - 7 : lane / 2), gutter - 8);
    if (ranged) {
      g.fillStyle = soft;
      g.font = "10.5px system-ui, sans-serif";
      label(g, `${short(low)} to ${short(high)}${unit ? " " + unit : ""}`, 0, y + lane / 2 + 8, gutter - 8);
      g.font = "12px system-ui, sans-serif";
    }
    const scale = high > low ? (lane - 6) / (high - low) : 0;
    g.strokeStyle = g.fillStyle = colour("wave");
    const toY = v => scale ? y + lane - 3 - (v - low) * scale : y + lane / 2;
    g.save();
    g.beginPath();
    g.rect(gutter, y, width - gutter, lane);
    g.clip();
    for (const piece of drawn) wave(g, piece, c, toY);
    g.restore();
  }
  // Ranks, the best first, as far as there is room
  const taken = [];
  g.textAlign = "center";
  for (const {first, last, k} of shown.reverse().sort((a, b) => (b.k === chosen) - (a.k === chosen))) {
    const text = String(k + 1), w = 12 + 7 * text.length, x = Math.max(gutter + w / 2, Math.min(width - w / 2, toX((first + last) / 2)));
    if (taken.some(([t, u]) => Math.abs(t - x) < (u + w) / 2 + 1)) continue;
    taken.push([x, w]);
    g.fillStyle = box;
    g.beginPath();
    g.roundRect(x - w / 2, 3, w, 18, 9);
    g.globalAlpha = k === chosen || chosen < 0 ? 1 : .6;
    g.fill();
    g.globalAlpha = 1;
    g.fillStyle = colour("card");
    g.fillText(text, x, 12.5);
  }
  if (notes) { g.textAlign = "left"; g.fillStyle = soft; g.fillText("annotations", 0, tags + 8); }
};

const drawWhole = () => {
  const g = canvas(whole, wholeHeight), x = t => gutter + t / samples * (width - gutter);
  g.fillStyle = colour("ground");
  g.fillRect(gutter, 0, width - gutter, wholeHeight);
  g.fillStyle = colour("soft");
  g.fillText("whole", 0, wholeHeight / 2);
  const edge = colour("note-edge");
  for (const [onset, duration, name] of data.notes) {
    g.fillStyle = `hsl(${hue(name)} ${edge})`;
    g.fillRect(x(onset), wholeHeight - 5, Math.max(1, x(duration) - x(0)), 5);
  }
  g.fillStyle = colour("match");
  matches.forEach(({first, last}, k) => {
    g.globalAlpha = k === chosen ? 1 : .6;
    g.fillRect(x(first), k === chosen ? 0 : 5, Math.max(1.5, x(last) - x(first)), wholeHeight - (k === chosen ? 5 : 12));
  });
  g.globalAlpha = 1;
  g.strokeStyle = colour("ink");
  g.lineWidth = 2;
  g.strokeRect(x(from) + 1, 1, Math.max(4, x(to) - x(from) - 2), wholeHeight - 2);
};

const draw = () => {
  waiting = false;
  width = view.clientWidth;
  gutter = width < 640 ? 84 : 128;
  drawOverview();
  drawWhole();
};
const later = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
const show = (a, b) => {
  const span = Math.max(shortest, Math.min(samples, b - a));
  from = Math.max(0, Math.min(samples - span, (a + b - span) / 2));
  to = from + span;
  later();
};
const zoom = (factor, at = (from + to) / 2) => {
  const span = Math.max(shortest, Math.min(samples, (to - from) * factor)), begin = at - (at - from) / (to - from) * span;
  const a = Math.max(0, Math.min(samples - span, begin));
  show(a, a + span);
};
const pan = share => { const d = Math.max(-from, Math.min(samples - to, share * (to - from))); show(from + d, to + d); };

const choose = (k, {move = true, panel = true} = {}) => {
  if (k < 0 || k >= matches.length) return;
  chosen = k;
  document.querySelectorAll(".chosen").forEach(e => e.classList.remove("chosen"));
  document.querySelectorAll(`#r${k + 1}, #m${k + 1}`).forEach(e => e.classList.add("chosen"));
  const details = document.getElementById("m" + (k + 1)), {first, last} = matches[k];
  if (details && panel) details.open = true;
  if (move) show(first - 1.5 * (last - first), last + 1.5 * (last - first));
  reading.textContent = document.getElementById("r" + (k + 1))?.dataset.said ?? "";
  later();
};
const matchAt = (x, y) => {
  const t = toT(x), near = 6 * (to - from) / (width - gutter);
  return y > top + lane * channels ? -1 : matches.findIndex(m => t >= m.first - near && t <= m.last + near);
};
const place = event => { const r = overview.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };

// Dragging moves, two fingers zoom, a click on a match chooses it.
const held = new Map();
let moved = 0;
overview.addEventListener("pointerdown", e => { held.set(e.pointerId, place(e)[0]); moved = 0; overview.setPointerCapture(e.pointerId); });
overview.addEventListener("pointermove", e => {
  const [x, y] = place(e), before = held.get(e.pointerId);
  if (before === undefined) { read(x, y); return; }
  moved += Math.abs(x - before);
  held.set(e.pointerId, x);
  if (held.size === 1) {
    pan((before - x) / (width - gutter));
  } else {
    const other = [...held].find(([id]) => id !== e.pointerId)[1];
    zoom(Math.max(.5, Math.min(2, Math.max(8, Math.abs(before - other)) / Math.max(8, Math.abs(x - other)))), toT((x + other) / 2));
  }
});
const release = e => {
  if (held.delete(e.pointerId) && e.type === "pointerup" && moved < 4) choose(matchAt(...place(e)), {move: false});
};
overview.addEventListener("pointerup", release);
overview.addEventListener("pointercancel", release);
overview.addEventListener("dblclick", e => zoom(.5, toT(place(e)[0])));
overview.addEventListener("wheel", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) { e.preventDefault(); zoom(Math.exp(Math.max(-.5, Math.min(.5, e.deltaY * .004))), toT(place(e)[0])); }
  else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); pan((e.deltaX || e.deltaY) / width); }
}, {passive: false});
const jump = e => {
  if (e.type === "pointermove" && !e.buttons) return;
  const r = whole.getBoundingClientRect(), t = (e.clientX - r.left - gutter) / (width - gutter) * samples, half = (to - from) / 2;
  const middle = Math.max(half, Math.min(samples - half, t));
  show(middle - half, middle + half);
};
whole.addEventListener("pointerdown", e => { whole.setPointerCapture(e.pointerId); jump(e); });
whole.addEventListener("pointermove", jump);

const read = (x, y) => {
  const c = Math.floor((y - top) / lane), t = toT(x);
  if (x < gutter || c < 0 || c >= channels) return;
  const perPixel = (to - from) / (width - gutter), piece = pieces(perPixel).find(p => t >= p.a && t < p.b);
  if (!piece) return;
  const {track, level} = piece, k = Math.min(level.bins - 1, Math.floor((t - track.first) / level.stride)), at = (c * level.bins + k) * level.count;
  const value = n => short(track.low[c] + (n - 1) * track.step[c]), low = level.numbers[at], high = level.numbers[at + level.count - 1];
  const {name, unit} = data.channels[c], m = matchAt(x, y), inside = m >= 0 ? `, match ${m + 1}` : "";
  const note = data.notes.find(([onset, duration]) => t >= onset && t <= onset + duration);
  reading.textContent = `${clampWidth(name)} at ${timeText(t, level.stride)} ${timeUnit}: ` + (!low ? "missing" : low === high ? value(low) : `${value(low)} to ${value(high)}`) +
    (unit && low ? " " + unit : "") + inside + (note ? `, ${clampWidth(data.labels[note[2]])}` : "");
};

const keys = {ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2), PageUp: () => pan(-.9), PageDown: () => pan(.9), ArrowUp: () => zoom(.7), ArrowDown: () => zoom(1 / .7),
  "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2), "0": () => show(0, samples), Home: () => show(0, samples),
  n: () => choose(Math.min(chosen + 1, matches.length - 1)), p: () => choose(Math.max(chosen - 1, 0))};
view.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
  e.preventDefault();
  keys[e.key]();
});
document.querySelectorAll("[data-key]").forEach(b => b.addEventListener("click", () => keys[b.dataset.key]()));
document.querySelectorAll("tr[data-match]").forEach(row => row.addEventListener("click", () => choose(+row.dataset.match)));
document.getElementById("all")?.addEventListener("click", () => {
  const panels = [...document.querySelectorAll("details.match")], shut = panels.some(p => !p.open);
  for (const p of panels) p.open = shut;
});
fit.addEventListener("change", later);
data.labels.slice(0, 12).forEach((text, k) => {
  const item = document.createElement("li"), box = document.createElement("i");
  box.className = "note";
  box.style.setProperty("--h", hue(k));
  item.append(box, clampWidth(text) || "no label");
  document.getElementById("labels").append(item);
});
const target = () => { const e = location.hash.startsWith("#m") && document.getElementById(location.hash.slice(1)); if (e) choose(+e.id.slice(1) - 1); };
addEventListener("hashchange", target);
new ResizeObserver(later).observe(view);
// Canvases hold colours; they are drawn again where these change.
for (const query of ["print", "(prefers-color-scheme: dark)"]) matchMedia(query).addEventListener("change", draw);
addEventListener("beforeprint", draw);
addEventListener("afterprint", draw);
draw();
target();
})();
