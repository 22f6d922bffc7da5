import type { EventType } from './frame.ts';

/** What the stream reports, to be counted and logged. */
export type StreamEvent =
  /** Once each time that it changes. */
  | { readonly name: 'stream-connected' }
  | { readonly name: 'stream-disconnected'; readonly reason: string }
  /** The server acknowledged a subscription, or refused one. */
  | { readonly name: 'stream-subscribed' }
  | { readonly name: 'stream-refused'; readonly error: string }
  /** The server said that something changed. */
  | { readonly name: 'stream-event'; readonly type: EventType }
  /** A message could not be read and was dropped. */
  | { readonly name: 'stream-bad-frame'; readonly reason: string }
  /** A stretched answer had changed, and no event said so. */
  | { readonly name: 'stream-missed-event' }
  /** Watched answers are stretched from now on, or no longer. */
  | { readonly name: 'stream-stretching'; readonly on: boolean };

/** Is called with what happens; must not throw. */
export type ReportStream = (event: StreamEvent) => void;
