// The event stream. It reconnects if the connection breaks or no event arrives in time.

const eventTimeout = 6000; // milliseconds without an event
const snapshotTimeout = 120000; // milliseconds for a snapshot, which may have megabytes
const maxRetryDelay = 15; // seconds

class Stream {
  constructor(page) {
    this.page = page;
    this.failures = 0;
    this.connect();
    setInterval(() => this.check(), 1000);
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.retryNow(); });
  }

  connect() {
    this.retryAt = null;
    this.lastEventAt = performance.now();
    this.live = false;
    this.source = new EventSource(location.pathname + "?format=stream");
    this.source.addEventListener("snapshot", (e) => this.receive(() => this.page.receive("snapshot", JSON.parse(e.data))));
    this.source.addEventListener("sample", (e) => this.receive(() => this.page.receive("sample", JSON.parse(e.data))));
    this.source.addEventListener("error", () => this.fail());
    this.page.showConnection();
  }

  receive(handle) {
    this.lastEventAt = performance.now();
    this.failures = 0;
    this.live = true;
    handle();
    this.page.showConnection();
  }

  fail() {
    this.source.close();
    this.live = false;
    this.failures++;
    const seconds = Math.min(maxRetryDelay, 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    this.retryAt = performance.now() + seconds * 1000;
    this.page.showConnection();
  }

  restart() {
    this.source.close();
    this.connect();
  }

  retryNow() { if (this.retryAt !== null) this.connect(); }

  check() {
    if (this.retryAt !== null && performance.now() >= this.retryAt) this.connect();
    else if (this.retryAt === null && performance.now() - this.lastEventAt > (this.live ? eventTimeout : snapshotTimeout)) this.fail();
    else this.page.showConnection();
  }

  // status returns the state of the connection and a text for it.
  status() {
    if (this.live) return ["live", "live"];
    if (this.retryAt === null) {
      const held = performance.now() - this.lastEventAt > eventTimeout; // a process answers within a second
      return ["connecting", (this.failures > 0 ? "reconnecting" : "connecting") + (held ? ": no data yet, does a proxy buffer it?" : "")];
    }
    return ["lost", "disconnected, retrying in " + Math.max(1, Math.ceil((this.retryAt - performance.now()) / 1000)) + " s"];
  }
}
