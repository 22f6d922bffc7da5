/** Reports of the stream, for metrics and log. */
export type StreamEvent =
  | { readonly name: 'stream-connected' }
  /** A connection was lost, or could not be opened. */
  | { readonly name: 'stream-disconnected'; readonly reason: string }
  /** The server refused a subscription, or sent another error. */
  | { readonly name: 'stream-refused'; readonly error: string }
  /** The server announced a change. */
  | { readonly name: 'stream-event' }
  /** A message could not be read and was dropped. */
  | { readonly name: 'stream-bad-frame' }
  /** An empty answer got the longer life, the next one has rows, and no event announced them. */
  | { readonly name: 'stream-missed-event' };

/** Receives reports; must not throw. */
export type ReportStream = (event: StreamEvent) => void;
