// The page puts the parts together: what the stream tells goes into the model, and once per sample the model is drawn.

class Page {
  constructor() {
    this.model = null;
    this.paused = false;
    this.held = []; // what came while paused
    this.due = false;
    this.readout = new Readout();
    this.header = new Header(this);
    this.list = new List(this);
    this.sources = new Sources();
    byId("columns").append(element("span", { class: "who" }, "Throttle"), element("table", { class: "lines" }, columnGroup(), element("thead", {}, headingRow())));
    this.listen();
    this.recall();
    this.stream = new Stream(this);
  }

  listen() {
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("tools").addEventListener("submit", (e) => e.preventDefault());
    byId("search").addEventListener("input", () => this.choose());
    byId("sort").addEventListener("change", () => this.choose());
    byId("search").addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      e.preventDefault();
      e.target.value === "" ? e.target.blur() : e.target.value = "";
      this.choose();
    });
    document.addEventListener("keydown", (e) => {
      const typing = e.target.closest?.("input, select, textarea");
      if (e.key !== "/" || typing || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      byId("search").select();
      byId("search").focus();
    });
    document.addEventListener("visibilitychange", () => this.draw());
  }

  // recall takes the choices from the address, so that a runbook can link to them: ?q=orders&sort=name.
  recall() {
    const query = new URLSearchParams(location.search);
    byId("search").value = query.get("q") ?? "";
    if (Object.hasOwn(orders, query.get("sort") ?? "")) byId("sort").value = query.get("sort");
    this.choose();
  }

  choose() {
    this.list.wanted = byId("search").value.trim().toLowerCase();
    this.list.order = byId("sort").value;
    const query = new URLSearchParams(location.search);
    const keep = (name, value) => (value ? query.set(name, value) : query.delete(name));
    keep("q", byId("search").value.trim());
    keep("sort", this.list.order === "shed" ? "" : this.list.order);
    const search = query.toString();
    history.replaceState(null, "", location.pathname + (search ? "?" + search : "") + location.hash);
    if (this.model) this.list.arrange();
  }

  pause(paused) {
    this.paused = paused;
    setAttribute(byId("pause"), "aria-pressed", String(paused));
    setText(byId("pause"), paused ? "Resume" : "Pause");
    this.connection();
    if (!paused) this.catchUp();
    this.draw();
  }

  connection() {
    const [state, words] = this.stream ? this.stream.words() : ["connecting", "connecting"];
    if (this.paused && state === "live") this.header.connection("paused", "paused");
    else this.header.connection(state, words);
  }

  // hear takes what the stream tells, or keeps it until the pause is over: then all is as if there had been none. What comes in a
  // pause longer than the history is dropped, and the stream begun anew.
  hear(kind, message) {
    if (!this.paused) return this[kind](message);
    if (kind === "begin") this.held = [];
    if (this.held?.length === historyLength) this.held = null;
    this.held?.push([kind, message]);
  }

  catchUp() {
    const held = this.held;
    this.held = [];
    if (held === null) this.stream.restart();
    else for (const [kind, message] of held) this[kind](message);
  }

  begin(snapshot) {
    const before = this.model?.process;
    this.model = new Model(snapshot);
    if (before && before.started + before.pid !== snapshot.process.started + snapshot.process.pid) this.list.reset();
    this.draw();
  }

  follow(sample) {
    this.model.follow(sample);
    this.draw();
  }

  // draw draws the model before the next frame, unless nobody sees it.
  draw() {
    if (this.due || this.paused || document.hidden || !this.model) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      byId("main").hidden = false;
      this.header.update(this.model);
      this.list.update();
      this.sources.update(this.model);
    });
  }
}

new Page();
