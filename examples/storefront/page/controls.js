// The controls send changes to the shop, and show its settings.

const sendDelay = 120; // milliseconds in which changes are collected while a slider is dragged
const followDelay = 800; // milliseconds without a change until a slider follows the shop again

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const presets = {
  "preset-overload": { load: 4, backend: "up" },
  "preset-outage": { load: 0.8, backend: "down" },
  "preset-slow": { load: 0.8, backend: "slow" },
  "preset-calm": { load: 0.8, backend: "up" },
};

export class Controls {
  constructor() {
    this.pending = null;
    this.touched = 0;
    this.shown = { load: Number(byId("load").value), capacity: Number(byId("capacity").value) }; // flags set values between the steps of a slider
    for (const name of ["load", "capacity"]) {
      byId(name).addEventListener("input", (event) => {
        this.touched = performance.now();
        this.shown[name] = Number(event.target.value);
        this.label();
        this.change({ [name]: this.shown[name] });
      });
    }
    for (const choice of document.querySelectorAll(".choice input")) {
      choice.addEventListener("change", () => this.change({ [choice.name]: choice.value }));
    }
    for (const [id, preset] of Object.entries(presets)) {
      byId(id).addEventListener("click", () => this.change(preset));
    }
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  // change collects changes, and sends them together after a delay.
  change(fields) {
    this.touched = performance.now();
    if (this.pending === null) {
      this.pending = {};
      setTimeout(() => this.send(), sendDelay);
    }
    Object.assign(this.pending, fields);
  }

  async send() {
    const fields = this.pending;
    this.pending = null;
    try {
      const response = await fetch("control", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(fields),
      });
      const answer = await response.json();
      this.showError(response.ok ? "" : answer.error);
      if (response.ok && this.pending === null) this.show(answer);
    } catch {
      this.showError("The storefront does not answer. The settings were not changed.");
    }
  }

  showError(text) {
    byId("refusal").textContent = text;
    byId("refusal").hidden = text === "";
  }

  // follow shows the settings of a sample, unless the visitor has just used the controls.
  follow(settings) {
    if (this.pending !== null || performance.now() - this.touched < followDelay) return;
    this.show(settings);
  }

  show(settings) {
    this.shown = { load: settings.load, capacity: settings.capacity };
    byId("load").value = settings.load;
    byId("capacity").value = settings.capacity;
    for (const name of ["backend", "throttle", "policy"]) {
      const choice = byId(`${name}-${settings[name]}`);
      if (choice) choice.checked = true;
    }
    this.label();
  }

  label() {
    const { load, capacity } = this.shown;
    const calls = number.format(load * capacity);
    this.showValue("load", `${load.toFixed(1)}× capacity, ${calls} calls/s`);
    this.showValue("capacity", `${number.format(capacity)} calls/s`);
  }

  showValue(name, text) {
    byId(`${name}-value`).textContent = text;
    byId(name).setAttribute("aria-valuetext", text);
  }
}
