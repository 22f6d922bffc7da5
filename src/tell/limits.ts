import type { EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { duration, type MonotonicMs } from '../time-units.ts';
import { type Counted, FEWEST, limitedIn, MINUTE_MS, type Span } from './counted.ts';
import { LimitedClients } from './limited-clients.ts';
import { percent } from './percent.ts';
import type { Conditions } from './present-conditions.ts';

/** The maximum number of limited networks that are named. */
const MOST_NETWORKS = 3;

export interface LimitsDependencies {
  readonly events: EventHub;
  readonly conditions: Conditions;
  readonly counted: Counted;
  readonly now: () => MonotonicMs;
}

/** Says that clients exceed their limits: some of them, or most, which is a fault of the settings. */
export class Limits {
  readonly #dependencies: LimitsDependencies;
  readonly #clients: LimitedClients;
  #seen = 0;
  #at: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: LimitsDependencies) {
    this.#dependencies = dependencies;
    this.#clients = new LimitedClients(dependencies.now);
    dependencies.events.on('client-limited', ({ client }) => this.#clients.count(client));
  }

  /** Sets and clears both, from the counts of the last 10 s. Call about once a second. */
  tell(lately: Span): void {
    const { conditions, counted, now } = this.#dependencies;
    const limited = limitedIn(lately);
    const { asked } = lately.sums;
    const isMost = limited >= FEWEST && limited > asked;
    const isNew = counted.totals.limited > this.#seen;
    this.#seen = counted.totals.limited;
    if (isNew) this.#at = now();
    const share = (of: Span) => percent(limitedIn(of) + of.sums.failed, limitedIn(of) + of.sums.asked);
    const who = this.#who();
    if (isMost && isNew) conditions.set('limited-most', {}, `${share(lately)} of requests are limited: ${who}`);
    else if (this.#seen > 0) {
      const minute = counted.within(MINUTE_MS);
      const quiet = duration(1000 * Math.round((now() - this.#at) / 1000));
      const words = `${share(minute)} of the requests of the last minute were limited, none for ${quiet}: ${who}`;
      if (limitedIn(minute) > 0) conditions.say('limited-most', {}, words);
      conditions.clear('limited-most');
    }
    conditions.turn(limited >= FEWEST && !isMost, 'client-limited', {}, who);
  }

  /** `10.0.7.0/24 exceeds its limit`. */
  #who(): string {
    const limited = this.#clients.names();
    const [first, ...others] = limited;
    if (first === undefined) return sentenceOf(FAILURES['too-many-requests']);
    if (others.length === 0) return `${first} exceeds its limit`;
    const shown = limited.slice(0, MOST_NETWORKS);
    const rest = limited.length - shown.length;
    const names =
      rest === 0 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : `${shown.join(', ')} and ${rest} more`;
    return `${names} exceed their limits`;
  }
}
