// The controls tell the shop what a visitor wants, and show what holds.

const patience = 120; // milliseconds between two changes while a slider is dragged
const settling = 800; // after which a slider follows the shop again

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const presets = {
  "preset-overload": { load: 4, backend: "up" },
  "preset-outage": { load: 0.8, backend: "down" },
  "preset-calm": { load: 0.8, backend: "up" },
};

export class Controls {
  constructor() {
    this.pending = null;
    this.touched = 0;
    for (const name of ["load", "capacity"]) {
      byId(name).addEventListener("input", (event) => {
        this.touched = performance.now();
        this.label();
        this.wish({ [name]: Number(event.target.value) });
      });
    }
    for (const choice of document.querySelectorAll(".choice input")) {
      choice.addEventListener("change", () => this.wish({ [choice.name]: choice.value }));
    }
    for (const [id, wish] of Object.entries(presets)) {
      byId(id).addEventListener("click", () => this.wish(wish));
    }
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  // wish collects what is wanted, and sends it soon.
  wish(change) {
    this.touched = performance.now();
    if (this.pending === null) {
      this.pending = {};
      setTimeout(() => this.send(), patience);
    }
    Object.assign(this.pending, change);
  }

  async send() {
    const wanted = this.pending;
    this.pending = null;
    try {
      const response = await fetch("control", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(wanted),
      });
      const said = await response.json();
      this.refuse(response.ok ? "" : said.error);
      if (response.ok && this.pending === null) this.show(said);
    } catch {
      this.refuse("The storefront does not answer.");
    }
  }

  refuse(why) {
    byId("refusal").textContent = why;
    byId("refusal").hidden = why === "";
  }

  // follow shows the settings of a sample, unless a hand is on the controls.
  follow(settings) {
    if (this.pending !== null || performance.now() - this.touched < settling) return;
    this.show(settings);
  }

  show(settings) {
    byId("load").value = settings.load;
    byId("capacity").value = settings.capacity;
    for (const name of ["backend", "throttle", "policy"]) {
      const choice = byId(`${name}-${settings[name]}`);
      if (choice) choice.checked = true;
    }
    this.label();
  }

  label() {
    const load = Number(byId("load").value);
    const capacity = Number(byId("capacity").value);
    const calls = number.format(load * capacity);
    this.say("load", `${load.toFixed(1)}× capacity, ${calls} calls/s`);
    this.say("capacity", `${number.format(capacity)} calls/s`);
  }

  say(name, text) {
    byId(`${name}-value`).textContent = text;
    byId(name).setAttribute("aria-valuetext", text);
  }
}
