// The page shows the samples of the stream, four per second, and changes the load.

import { Chart, niceTop, priorities } from "./chart.js";
import { listen } from "./stream.js";

const maxSamples = 480;
const sendDelay = 120; // milliseconds in which changes are collected while the slider is dragged
const followDelay = 800; // milliseconds without a change until the slider follows the program again
const lateLoad = 20; // milliseconds by which the load may be late before the page says so
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const highest = (samples, value) => samples.reduce((most, s) => Math.max(most, value(s)), 0);
const presets = document.querySelectorAll("[data-load]");
const sides = { with: (s) => s.protected, without: (s) => s.bare };

const charts = [
  new Chart(byId("chart-good"), {
    lines: [
      { label: "capacity", colour: "--capacity", width: 1, value: (s) => s.capacity },
      { label: "without", colour: "--without", dash: [6, 4], width: 2.5, value: (s) => s.bare.good },
      { label: "Spillway", colour: "--with", fill: "--wash", width: 2.75, value: (s) => s.protected.good },
    ],
    top: (samples) => 20 * Math.ceil(highest(samples, (s) => Math.max(s.capacity, s.protected.good, s.bare.good)) / 18),
    format: (v) => whole.format(v),
  }),
  new Chart(byId("chart-wait"), {
    lines: [{ colour: "--with", fill: "--wash", width: 2.5, value: (s) => s.protected.wait }],
    top: (samples) => niceTop(Math.max(50, 1.08 * highest(samples, (s) => s.protected.wait ?? 0))),
    format: (v) => whole.format(v),
  }),
  new Chart(byId("chart-shed"), {
    lines: priorities.map((p, i) => ({ label: p.label, colour: `--${p.name}`, dash: p.dash, value: (s) => s.protected.shed[i] })),
    top: (samples) => niceTop(Math.max(10, highest(samples, (s) => Math.max(...s.protected.shed)))),
    format: (v) => whole.format(v),
  }),
];

let samples = [];
let drawn = 0;
let touched = -followDelay;
let pending = null;
let load = Number(byId("load").value); // a flag sets values between the steps of the slider

// put shows a number, or a dash for null.
function put(id, value, text) {
  const node = byId(id);
  const known = value !== null && value !== undefined;
  node.dataset.value = known ? String(value) : "";
  node.textContent = known ? text(value) : "–";
}

const rate = (v) => `${whole.format(v)} /s`;
const duration = (ms) => (ms < 1000 ? `${whole.format(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function show(sample) {
  byId("handler").textContent = sample.handler;
  byId("capacity").textContent = whole.format(sample.capacity);
  byId("processors").textContent = sample.processors === 1 ? "1 processor" : `${sample.processors} processors`;
  for (const [name, of] of Object.entries(sides)) {
    const side = of(sample);
    put(`${name}-good`, side.good, (v) => whole.format(v));
    put(`${name}-wait`, side.wait, duration);
    put(`${name}-p99`, side.p99, duration);
    put(`${name}-shed`, side.shed.reduce((a, b) => a + b), rate);
    put(`${name}-late`, side.late, rate);
    priorities.forEach((p, i) => {
      const success = side.success[i];
      put(`${name}-${p.name}`, success === null ? null : 100 * success, (v) => `${Math.round(v)} %`);
      byId(`${name}-${p.name}`).parentNode.querySelector("b").style.width = `${100 * (success ?? 0)}%`;
    });
  }
  const text = describe(sample);
  if (byId("story").textContent !== text) byId("story").textContent = text;
  const disturbed = disturbance(sample);
  byId("disturbed").textContent = disturbed;
  byId("disturbed").hidden = disturbed === "";
  if (pending === null && performance.now() - touched > followDelay) {
    load = sample.load;
    byId("load").value = load;
  }
  label(sample.capacity);
}

// describe says in a sentence what happens. It has no numbers: screen readers read it when it
// changes, which must not be at each sample.
function describe(sample) {
  const lost = sample.bare.late > 0.2 * (sample.bare.late + sample.bare.good);
  if (sample.load > 1.05) {
    if (!lost) return "There are more requests than the servers can answer.";
    if (sample.bare.good > 0.2 * sample.capacity) return "Requests wait longer and longer in the server without Spillway.";
    return "Without Spillway, a server works for clients that have left. With it, the less important requests are shed at once, and the others are quick.";
  }
  if (lost) return "The overload is over. The server without Spillway still works for clients that have left.";
  if (sample.protected.shed.some((s) => s > 0)) return "There were more requests at once than the servers can answer in time.";
  return "Both servers answer all requests.";
}

// disturbance says why the figures may be wrong.
function disturbance(sample) {
  if (sample.protected.failed + sample.bare.failed > 0) return "Some requests fail in another way, such as a broken connection.";
  if (sample.lag > lateLoad) return "Requests are sent late: this machine has too little processor for them. Try a lower load, or a longer -handler.";
  return "";
}

function label(capacity) {
  const text = `${load.toFixed(1)}× its capacity: ${whole.format(load * capacity)} a second`;
  byId("load-value").textContent = text;
  byId("load").setAttribute("aria-valuetext", text);
  for (const button of presets) button.setAttribute("aria-pressed", String(Number(button.dataset.load) === load));
}

// slide sends the load of the slider.
function slide() {
  load = Number(byId("load").value);
  change({ load });
  if (samples.length > 0) label(samples[samples.length - 1].capacity);
}

// change collects changes, and sends them together after a delay.
function change(fields) {
  touched = performance.now();
  if (pending === null) {
    pending = {};
    setTimeout(send, sendDelay);
  }
  Object.assign(pending, fields);
}

async function send() {
  const fields = pending;
  pending = null;
  let refusal = "";
  try {
    const response = await fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields) });
    if (!response.ok) refusal = (await response.json()).error;
  } catch {
    refusal = "The program does not answer. The load was not changed.";
  }
  byId("refusal").textContent = refusal;
  byId("refusal").hidden = refusal === "";
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

byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("load").addEventListener("input", slide);
for (const button of presets) {
  button.addEventListener("click", () => {
    byId("load").value = button.dataset.load;
    slide();
  });
}
byId("burst").addEventListener("click", () => change({ burst: true }));
dark.addEventListener("change", redraw);
listen((history) => {
  samples = history;
  if (samples.length > 0) show(samples[samples.length - 1]);
  redraw();
}, take);
