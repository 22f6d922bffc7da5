/** How the simulated Streaming API fails: read anew for each connection, message and event, so that all may change while it runs. */
export class StreamFaults {
  /** Handshakes are ended by TCP: the server restarts. */
  refusesConnections = false;
  /** More addresses in a subscription are refused. Hashes never count. */
  maxAddresses = Number.POSITIVE_INFINITY;
  /** The key that a handshake must bring as `X-API-Key`, else 401. */
  apiKey: string | undefined;
  /** Types of events that are refused, beside those that no server knows. */
  readonly refusedTypes = new Set<string>();
  /** Whether subscriptions are answered; pings are in any case. */
  answersSubscriptions = true;
  /** Pings and subscriptions are answered, but no event goes out until it ends; then those of the traces that are left do. */
  stalled = false;
  /** Share (0..1) of events that are lost without a sign. */
  lostShare = 0;
  /** Share (0..1) of events that are sent twice. */
  duplicatedShare = 0;
  /** How long after a step of a trace it is classified, ms; `undefined` for never: no `trace` and no `actions` then. */
  classifierDelayMs: number | undefined = 100;
}
