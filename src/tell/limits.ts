import type { Requester } from '../clients/client-addresses.ts';
import { FAILURES } from '../failures/codes.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { MonotonicMs } from '../time-units.ts';
import { FEWEST, MINUTE_MS, type Span } from './counted.ts';
import type { CountedConditionsDependencies } from './counted-conditions.ts';
import { ageOf } from './episode-words.ts';
import { LimitedClients } from './limited-clients.ts';
import { percent } from './percent.ts';

/** The maximum number of limited networks that are named. */
const MOST_NETWORKS = 3;

/**
 * Reports that clients exceed their limits. If they are more than all others, and name clients in a header that is not
 * read, that is a fault of the settings: a proxy is not trusted, so its clients count as one.
 */
export class Limits {
  readonly #dependencies: CountedConditionsDependencies;
  readonly #clients: LimitedClients;
  #seen = 0;
  #at: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: CountedConditionsDependencies) {
    this.#dependencies = dependencies;
    this.#clients = new LimitedClients(dependencies.now);
    const { events, shownClient } = dependencies;
    const count = ({ client, unreadHeader }: Requester) =>
      this.#clients.count(shownClient(client), unreadHeader !== undefined);
    events.on('refused', ({ code, requester }) => {
      if (code === 'too-many-requests' && requester !== undefined) count(requester);
    });
    events.on('failed', ({ error, requester }) => {
      if (error.code === 'too-many-requests') count(requester);
    });
  }

  /** Sets and clears both, from the counts of the last 10 s. Call about once a second. */
  tell(lately: Span): void {
    const { conditions, counted, now } = this.#dependencies;
    const { limited } = lately;
    const { asked } = lately.sums;
    const isMost = limited >= FEWEST && limited > asked && this.#clients.nameOthers;
    const isNew = counted.totals.limited > this.#seen;
    this.#seen = counted.totals.limited;
    if (isNew) this.#at = now();
    const share = percent(limited + lately.sums.failed, limited + asked);
    const who = this.#who();
    if (isMost && isNew) conditions.set('limited-most', {}, who, { effect: `${share} of requests are limited` });
    else if (this.#seen > 0) {
      const quietMs = now() - this.#at;
      if (quietMs >= 5000 && quietMs <= MINUTE_MS)
        conditions.say('limited-most', {}, { effect: `no request was limited for ${ageOf(quietMs)}` });
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
