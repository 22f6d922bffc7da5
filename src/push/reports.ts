/** What the stream reports, to be counted and logged. */
export type StreamEvent =
  | { readonly name: 'stream-connected' }
  /** A connection was lost, or could not be made. */
  | { readonly name: 'stream-disconnected'; readonly reason: string }
  /** The server refused a subscription, or said another error. */
  | { readonly name: 'stream-refused'; readonly error: string }
  /** The server said that something changed. */
  | { readonly name: 'stream-event' }
  /** A message could not be read and was dropped. */
  | { readonly name: 'stream-bad-frame' }
  /** An empty answer was given the longer life, the next one lists something, and no event said so. */
  | { readonly name: 'stream-missed-event' };

/** Is called with what happens; must not throw. */
export type ReportStream = (event: StreamEvent) => void;
