// The page shows the samples of the stream, four per second.

import { Chart, niceTop, priorities } from "./chart.js";
import { Controls } from "./controls.js";
import { listen } from "./stream.js";

const maxSamples = 480;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

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
  new Chart(byId("chart-latency"), {
    lines: [
      { label: "Slow", colour: "--capacity", width: 1, value: (s) => s.slow },
      { label: "without", colour: "--without", dash: [6, 4], width: 2.25, value: (s) => s.twin.latency },
      { label: "with", colour: "--with", fill: "--wash", width: 2.5, value: (s) => s.kinds[0].latency },
    ],
    top: (samples) => niceTop(1.08 * highest(samples, (s) => Math.max(s.slow, s.twin.latency ?? 0, s.kinds[0].latency ?? 0))),
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

// put shows a number, or a dash for null.
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
  putRate("latency-high", sample.kinds[0].latency);
  putRate("twin-latency", sample.twin.latency);
  sample.kinds.forEach((kind) => {
    putPercent(`success-${kind.priority}`, kind.success);
    putRate(`shed-${kind.priority}`, kind.shed);
    put(`probability-${kind.priority}`, kind.probability, (v) => v.toFixed(2));
  });
  putRate("cached", sample.kinds[3].cached);
  const text = describe(sample);
  if (byId("story").textContent !== text) byId("story").textContent = text;
  byId("goodput-label").textContent = off(sample) ? "throttle off" : "with the throttle";
  byId("probability-note").textContent = off(sample) ? "if the throttle were on" : "the next call";
  controls.follow(sample.settings);
}

// describe says in a sentence what happens. It has no numbers: screen readers read it when it
// changes, which must not be at each sample.
function describe(sample) {
  const on = sample.settings.throttle === "on";
  const shedding = sample.shed > 0.01 * sample.offered + 1;
  if (sample.settings.backend === "down") {
    return on
      ? "The backend is down. The throttle sends only a few calls, to notice when it is back."
      : "The backend is down. All calls are sent to it and fail.";
  }
  if (sample.settings.backend === "slow") {
    if (!on) return "Calls take ten times as long. They wait in the queue of the backend until their callers give up.";
    if (shedding && sample.goodput < 0.5) return "Calls take ten times as long. The throttle sheds calls until the queue of the backend is short.";
    return "Calls take ten times as long. The throttle keeps the queue of the backend short, so that the most important calls are quick.";
  }
  if (sample.offered > 1.05 * sample.available) {
    if (!on) return "The throttle is off. The backend spends its time on rejections, and serves few calls.";
    if (shedding && sample.goodput < 0.6) {
      return "The backend rejected nearly all calls, so the throttle sends few. It needs some seconds to find out what the backend can serve.";
    }
    if (!shedding) return "The load is above the capacity of the backend.";
    return "The throttle sheds the calls above the capacity, least important first. The backend does useful work only.";
  }
  if (shedding) return "The load is below the capacity again. The throttle sheds fewer calls, and soon none.";
  return on
    ? "The backend can serve all calls. The throttle only counts them."
    : "The backend can serve all calls. The throttle is off.";
}

function redraw() {
  drawn = performance.now();
  for (const chart of charts) chart.draw(samples);
}

// take adds a sample. If the browser asks for reduced motion, the page changes once per second.
function take(sample) {
  samples.push(sample);
  if (samples.length > maxSamples) samples = samples.slice(-maxSamples);
  if (calm.matches && performance.now() - drawn < 900) return;
  show(sample);
  redraw();
}

dark.addEventListener("change", redraw);
listen((history) => {
  samples = history;
  if (samples.length > 0) show(samples[samples.length - 1]);
  redraw();
}, take);
