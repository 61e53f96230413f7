// The page shows what the stream tells, four times a second.

import { Chart, niceTop } from "./chart.js";
import { Controls } from "./controls.js";
import { tell } from "./story.js";

const maxSamples = 480;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const priorities = [
  { name: "high", label: "High", dash: [] },
  { name: "important", label: "Important", dash: [9, 4] },
  { name: "medium", label: "Medium", dash: [3, 3] },
  { name: "low", label: "Low", dash: [9, 3, 2, 3] },
];

const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const percent = (value) => `${Math.round(100 * value)} %`;
const byPriority = (value) => priorities.map((p, i) => ({
  label: p.label, colour: `--${p.name}`, dash: p.dash, value: (sample) => value(sample.kinds[i]),
}));
const highest = (samples, value) => samples.reduce((most, s) => Math.max(most, value(s)), 0);

const off = (sample) => sample.settings.throttle === "off";
const charts = [
  new Chart(byId("chart-goodput"), {
    lines: [
      { label: "capacity", colour: "--capacity", width: 1, value: (s) => s.available },
      { label: "without", colour: "--without", dash: [6, 4], width: 2.25, value: (s) => s.twin.served },
      { label: "with", colour: "--with", fill: "--wash", width: 2.5, value: (s) => s.served },
    ],
    top: (samples) => niceTop(1.08 * highest(samples, (s) => Math.max(s.available, s.served, s.twin.served))),
    format: (v) => whole.format(v),
    band: off,
  }),
  new Chart(byId("chart-success"), { lines: byPriority((k) => k.success), top: () => 1, format: percent, band: off }),
  new Chart(byId("chart-shed"), {
    lines: byPriority((k) => k.shed),
    top: (samples) => niceTop(Math.max(10, highest(samples, (s) => Math.max(...s.kinds.map((k) => k.shed))))),
    format: (v) => whole.format(v),
    band: off,
  }),
  new Chart(byId("chart-probability"), { lines: byPriority((k) => k.probability), top: () => 1, format: (v) => v.toFixed(1), band: off }),
];

const controls = new Controls();
let samples = [];
let drawn = 0;

// put shows a number; null is shown as a dash.
function put(id, value, text) {
  const node = byId(id);
  const known = value !== null && value !== undefined;
  node.dataset.value = known ? String(value) : "";
  node.textContent = known ? text(value) : "–";
}

const putPercent = (id, ratio) => put(id, ratio === null ? null : Math.round(1000 * ratio) / 10, (v) => String(Math.round(v)));
const putRate = (id, rate) => put(id, rate, (v) => whole.format(v));

function show(sample) {
  putPercent("goodput", sample.goodput);
  putPercent("twin-goodput", sample.twin.goodput);
  putRate("offered", sample.offered);
  putRate("served", sample.served);
  putRate("sent", sample.sent);
  putRate("shed-rate", sample.shed);
  sample.kinds.forEach((kind) => {
    putPercent(`success-${kind.priority}`, kind.success);
    putRate(`shed-${kind.priority}`, kind.shed);
    put(`probability-${kind.priority}`, kind.probability, (v) => v.toFixed(2));
  });
  putRate("cached", sample.kinds[3].cached);
  const story = tell(sample);
  if (byId("story").textContent !== story) byId("story").textContent = story;
  byId("goodput-label").textContent = off(sample) ? "throttle off" : "with the throttle";
  byId("probability-note").textContent = off(sample) ? "if the throttle were on" : "the next call";
  controls.follow(sample.settings);
}

function redraw() {
  drawn = performance.now();
  for (const chart of charts) chart.draw(samples);
}

// take takes a sample in. Whoever wants little motion gets one change a second.
function take(sample) {
  samples.push(sample);
  if (samples.length > maxSamples) samples = samples.slice(-maxSamples);
  if (calm.matches && performance.now() - drawn < 900) return;
  show(sample);
  redraw();
}

function connect(state, text) {
  byId("connection").dataset.state = state;
  byId("connection").textContent = text;
}

function listen() {
  const source = new EventSource("stream");
  source.addEventListener("history", (event) => {
    connect("live", "live");
    samples = JSON.parse(event.data);
    if (samples.length > 0) show(samples[samples.length - 1]);
    redraw();
  });
  source.addEventListener("sample", (event) => take(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    connect("lost", "connection lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000); // refused: the browser does not try again by itself
  });
}

dark.addEventListener("change", redraw);
listen();
