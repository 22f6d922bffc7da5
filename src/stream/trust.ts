import type { ReportStream } from './events.ts';

/** So many missed events within the window end the trust. */
const MOST_MISSED = 3;
const WINDOW_MS = 10_000;
const DISTRUST_MS = 30_000;

/**
 * Whether the absence of events is believed: events get lost without a sign, and a stalled server still answers pings.
 * Three missed events within 10 s end it for 30 s.
 */
export class Trust {
  readonly #monotonic: () => number;
  readonly #report: ReportStream;
  #missedAt: number[] = [];
  #regain: NodeJS.Timeout | undefined;

  constructor({ monotonic, report }: { readonly monotonic: () => number; readonly report: ReportStream }) {
    this.#monotonic = monotonic;
    this.#report = report;
  }

  get isGiven(): boolean {
    return this.#regain === undefined;
  }

  /** An answer had changed without an event. */
  missed(): void {
    const now = this.#monotonic();
    this.#report({ name: 'stream-missed-event' });
    this.#missedAt = [...this.#missedAt.filter((at) => now - at < WINDOW_MS), now];
    if (this.#missedAt.length < MOST_MISSED || !this.isGiven) return;
    this.#regain = setTimeout(() => {
      this.#regain = undefined;
      this.#missedAt = [];
      this.#report({ name: 'stream-stretching', on: true });
    }, DISTRUST_MS).unref();
    this.#report({ name: 'stream-stretching', on: false });
  }

  close(): void {
    clearTimeout(this.#regain);
  }
}
