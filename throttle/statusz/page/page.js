// Connects the parts: events of the stream update the model, and each sample draws it once.

class Page {
  constructor() {
    this.model = null;
    this.paused = false;
    this.queue = []; // events received while paused; null if there were too many
    this.frameRequested = false;
    this.tooltip = new Tooltip();
    this.header = new Header(this);
    this.control = new Control(this);
    this.list = new List(this);
    this.sources = new Sources();
    byId("columns").append(element("span", { class: "title" }, "Throttle"), element("table", { class: "lines" }, columnGroup(), element("thead", {}, headingRow())));
    this.addListeners();
    this.readQuery();
    this.stream = new Stream(this);
  }

  addListeners() {
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("tools").addEventListener("submit", (e) => e.preventDefault());
    byId("search").addEventListener("input", () => this.applyFilter());
    byId("sort").addEventListener("change", () => this.applyFilter());
    byId("search").addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      e.preventDefault();
      e.target.value === "" ? e.target.blur() : e.target.value = "";
      this.applyFilter();
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

  // readQuery reads filter and order from the address, so that runbooks can link to a view:
  // ?q=orders&sort=name.
  readQuery() {
    const query = new URLSearchParams(location.search);
    byId("search").value = query.get("q") ?? "";
    if (Object.hasOwn(orders, query.get("sort") ?? "")) byId("sort").value = query.get("sort");
    this.applyFilter();
  }

  applyFilter() {
    this.list.filter = byId("search").value.trim().toLowerCase();
    this.list.order = byId("sort").value;
    const query = new URLSearchParams(location.search);
    const keep = (name, value) => (value ? query.set(name, value) : query.delete(name));
    keep("q", byId("search").value.trim());
    keep("sort", this.list.order === "shed" ? "" : this.list.order);
    const search = query.toString();
    history.replaceState(null, "", location.pathname + (search ? "?" + search : "") + location.hash);
    if (this.model) this.list.reorder();
  }

  pause(paused) {
    this.paused = paused;
    setAttribute(byId("pause"), "aria-pressed", String(paused));
    setText(byId("pause"), paused ? "Resume" : "Pause");
    this.showConnection();
    if (!paused) this.replay();
    this.draw();
  }

  showConnection() {
    const [state, words] = this.stream ? this.stream.status() : ["connecting", "connecting"];
    if (this.paused && state === "live") this.header.setConnection("paused", "paused");
    else this.header.setConnection(state, words);
  }

  // receive handles an event, or queues it while the page is paused. If a pause is longer than the
  // history, the queue is dropped and the stream restarts after it.
  receive(kind, message) {
    if (!this.paused) return this[kind](message);
    if (kind === "snapshot") this.queue = [];
    if (this.queue?.length === historyLength) this.queue = null;
    this.queue?.push([kind, message]);
  }

  replay() {
    const queue = this.queue;
    this.queue = [];
    if (queue === null) this.stream.restart();
    else for (const [kind, message] of queue) this[kind](message);
  }

  snapshot(snapshot) {
    const before = this.model?.process;
    this.model = new Model(snapshot);
    if (before && before.started + before.pid !== snapshot.process.started + snapshot.process.pid) this.list.reset();
    this.draw();
  }

  sample(sample) {
    this.model.addSample(sample);
    this.draw();
  }

  // draw draws the model before the next frame, unless the page is hidden or paused.
  draw() {
    if (this.frameRequested || this.paused || document.hidden || !this.model) return;
    this.frameRequested = true;
    requestAnimationFrame(() => {
      this.frameRequested = false;
      byId("main").hidden = false;
      this.header.update(this.model);
      this.list.update();
      this.sources.update(this.model);
    });
  }
}

new Page();
