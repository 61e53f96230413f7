// The story says in words what is going on. It has no numbers, so that it changes, and is read out, only when something has changed.

export function tell(sample) {
  const { settings } = sample;
  const on = settings.throttle === "on";
  const shedding = sample.shed > 0.01 * sample.offered + 1;
  if (settings.backend === "down") {
    return on
      ? "The backend is down. The throttle lets only a few calls through, to find out when it is back."
      : "The backend is down, and every call runs into it.";
  }
  if (sample.offered > 1.05 * sample.available) {
    if (!on) return "The throttle is off: the backend spends its time on rejecting calls, and hardly anybody is served.";
    if (shedding && sample.goodput < 0.6) {
      return "The throttle has just seen nearly everything rejected. It sends little, until the backend is seen to keep up: some seconds.";
    }
    if (!shedding) return "More is coming in than the backend can serve.";
    return "The throttle sheds what the backend could not serve, least important first. The backend does useful work only.";
  }
  if (shedding) return "The load fits again, and the throttle lets the calls back in.";
  return on
    ? "Everything fits: the throttle does nothing but count."
    : "Everything fits, so the throttle is not missed.";
}
