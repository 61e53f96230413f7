// The controls of throttles, if the page has a control. What is in force is read every two seconds.

const controlInterval = 2000; // milliseconds

class Control {
  constructor(page) {
    this.page = page;
    this.url = location.pathname + "?format=control";
    this.enabled = document.body.hasAttribute("data-control");
    this.settings = new Map(); // of throttles by name; empty without permission
    if (!this.enabled) return;
    this.read();
    setInterval(() => { if (!document.hidden) this.read(); }, controlInterval);
  }

  async read() {
    try {
      const response = await fetch(this.url);
      const { things } = response.ok ? await response.json() : { things: [] };
      this.settings = new Map(things.filter((t) => t.kind === "throttle").map((t) => [t.name, t.settings]));
      this.page.draw();
    } catch { /* the stream shows that the process is away */ }
  }

  // overridden returns the settings of a throttle that are not those of the code.
  overridden(name) { return (this.settings.get(name) ?? []).filter((s) => s.source !== "code"); }

  // send changes the line of a throttle; null ends it. It returns the text of an error, or "".
  async send(name, line) {
    const body = JSON.stringify({ throttles: { [name]: line } });
    try {
      const response = await fetch(this.url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
      if (!response.ok) return (await response.text()).trim();
      await this.read();
      return "";
    } catch (e) { return "not sent: " + e.message; }
  }
}

// valueOf returns the value of a setting from its text: a number, true or false, or the text of a mode or a duration.
function valueOf(text) {
  try { return JSON.parse(text); } catch { return text; }
}

// overrideTexts returns a text for each source of overrides: what it sets, until when, the operator, and why.
function overrideTexts(settings) {
  const bySource = new Map(); // Map.groupBy is missing in browsers from before 2024
  for (const s of settings) {
    const key = JSON.stringify([s.source, s.by, s.until, s.reason]);
    bySource.set(key, [...(bySource.get(key) ?? []), s]);
  }
  return [...bySource.values()].map((group) => {
    const { source, by, until, reason } = group[0];
    const values = group.map((s) => `${s.name.replace("_", " ")} ${s.value} (code: ${s.code})`).join(", ");
    const terms = [`by ${by ?? source}`, by ? `over ${source}` : "", until ? `until ${clockText(Date.parse(until))}` : "until it is removed"];
    return printable(`${values}, ${terms.filter(Boolean).join(", ")}${reason ? ": " + reason : ""}`);
  });
}

// ControlForm changes the settings of one throttle.
class ControlForm {
  constructor(row, control) {
    this.row = row;
    this.control = control;
    const input = (name, attributes) => element("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });
    const field = (label, node) => element("label", { class: "field" }, element("span", {}, label), node);
    this.mode = element("select", { name: "mode" }, ...["", "enforce", "shadow", "off"].map((m) => element("option", { value: m }, m || "as it is")));
    this.numbers = ["ratio", "minimum_rate"].map((name) => input(name, { type: "number", step: "any" }));
    this.slow = input("slow", { placeholder: "200ms" });
    this.time = input("for", { value: "10m", required: "" });
    this.reason = input("reason", { required: "", maxlength: "500", placeholder: "such as INC-7" });
    this.end = element("button", { type: "button", class: "button" }, "End");
    this.result = element("p", { class: "result", role: "status" });
    this.node = element("form", { class: "control", "aria-label": "Change settings of " + row.label.slice(0, 80) },
      element("h3", {}, "Change, in this process"), field("Mode", this.mode), field("Ratio", this.numbers[0]), field("Minimum rate", this.numbers[1]),
      field("Slow", this.slow), field("For", this.time), field("Reason", this.reason),
      element("p", { class: "actions" }, element("button", { type: "submit", class: "button" }, "Apply"), this.end), this.result);
    this.node.addEventListener("submit", (e) => { e.preventDefault(); this.send(this.line(), "Applied."); });
    this.end.addEventListener("click", () => this.send(null, "Ended."));
  }

  // line returns the line of the document, which replaces that of an earlier request. Fields without a value stay as they are.
  line() {
    const line = { for: this.time.value.trim(), reason: this.reason.value.trim() };
    for (const { name, value, source } of this.control.settings.get(this.row.name) ?? []) {
      if (source === "http") line[name] = valueOf(value);
    }
    if (this.mode.value) line.mode = this.mode.value;
    for (const { name, value } of this.numbers) if (value !== "") line[name] = Number(value);
    if (this.slow.value.trim()) line.slow = this.slow.value.trim();
    return line;
  }

  async send(line, done) {
    setText(this.result, "Sending.");
    const error = await this.control.send(this.row.name, line);
    setText(this.result, error || done);
    this.result.classList.toggle("error", error !== "");
  }

  // update shows the values in force.
  update(row) {
    this.row = row;
    const settings = this.control.settings.get(row.name) ?? [];
    this.node.hidden = settings.length === 0;
    for (const node of this.numbers) setAttribute(node, "placeholder", settings.find((s) => s.name === node.name)?.value ?? "");
    this.end.hidden = !settings.some((s) => s.source === "http");
  }
}
