// The connection. It is made anew when it breaks, and when it says nothing for too long.

const silence = 6000; // milliseconds
const longestStart = 120000; // for a snapshot of megabytes on a slow line
const longestPause = 15; // seconds

class Stream {
  constructor(page) {
    this.page = page;
    this.failures = 0;
    this.connect();
    setInterval(() => this.watch(), 1000);
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.retryNow(); });
  }

  connect() {
    this.retryAt = null;
    this.heard = performance.now();
    this.live = false;
    this.source = new EventSource(location.pathname + "?format=stream");
    this.source.addEventListener("snapshot", (e) => this.hear(() => this.page.hear("begin", JSON.parse(e.data))));
    this.source.addEventListener("sample", (e) => this.hear(() => this.page.hear("follow", JSON.parse(e.data))));
    this.source.addEventListener("error", () => this.fail());
    this.page.connection();
  }

  hear(then) {
    this.heard = performance.now();
    this.failures = 0;
    this.live = true;
    then();
    this.page.connection();
  }

  fail() {
    this.source.close();
    this.live = false;
    this.failures++;
    const seconds = Math.min(longestPause, 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    this.retryAt = performance.now() + seconds * 1000;
    this.page.connection();
  }

  restart() {
    this.source.close();
    this.connect();
  }

  retryNow() { if (this.retryAt !== null) this.connect(); }

  watch() {
    if (this.retryAt !== null && performance.now() >= this.retryAt) this.connect();
    else if (this.retryAt === null && performance.now() - this.heard > (this.live ? silence : longestStart)) this.fail();
    else this.page.connection();
  }

  // words say how the connection is.
  words() {
    if (this.live) return ["live", "live"];
    if (this.retryAt === null) return ["connecting", this.failures > 0 ? "reconnecting" : "connecting"];
    return ["lost", "disconnected, next try in " + Math.max(1, Math.ceil((this.retryAt - performance.now()) / 1000)) + " s"];
  }
}
