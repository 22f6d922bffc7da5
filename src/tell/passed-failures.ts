import { askedOf, MINUTE_MS, PASSED } from './counted.ts';
import { areEnough, type CountedConditionsDependencies, QUIET_MS, WINDOWS } from './counted-conditions.ts';
import { FailedRequests } from './failed-requests.ts';
import { percent } from './percent.ts';

/** If more than this part of the requests of a kind gets a failure of the indexer itself, clients are not served as usual. */
const BAD_PART = 0.5;

const WORDS = {
  passthrough: ['the indexer', 'passed-through requests'],
  streaming: ['the Streaming API', 'requests for streams'],
} as const;

/**
 * Reports that most passed-through requests, or most streams, get a 502 or above that the indexer itself sends. A
 * smaller part may be that of a few paths, which clients choose.
 */
export class PassedFailures {
  readonly #dependencies: CountedConditionsDependencies;
  readonly #failed: Readonly<Record<(typeof PASSED)[number], FailedRequests>>;

  constructor(dependencies: CountedConditionsDependencies) {
    this.#dependencies = dependencies;
    const { events, now, share } = dependencies;
    const failed = { passthrough: new FailedRequests(now, share), streaming: new FailedRequests(now, share) };
    this.#failed = failed;
    events.on('failure-passed', ({ status, ...request }) => {
      const operation = request.operation === 'streaming' ? 'streaming' : 'passthrough';
      const cause = { condition: 'indexer-error', upstream: undefined, operation, says: String(status) } as const;
      failed[operation].add({ cause, request, isForLoad: false });
    });
  }

  /** Sets and clears the condition. Call about once a second. */
  tell(): void {
    for (const operation of PASSED) this.#tell(operation);
  }

  #tell(operation: (typeof PASSED)[number]): void {
    const { conditions, counted } = this.#dependencies;
    const failed = this.#failed[operation];
    const hasFailed = failed.turn();
    // Each operation is counted for a minute only.
    const looks = WINDOWS.filter(([ms]) => ms <= MINUTE_MS).map(([ms, fewest]) => {
      const causes = failed.causes(ms).toSorted((a, b) => b.count - a.count);
      const count = causes.reduce((sum, cause) => sum + cause.count, 0);
      const asked = askedOf(counted.within(ms).operation(operation));
      return {
        ms,
        count,
        asked,
        status: causes[0]?.says,
        isBad: areEnough(count, asked, fewest) && count > BAD_PART * asked,
      };
    });
    const bad = looks.find(({ isBad }) => isBad);
    if (bad === undefined || !hasFailed) {
      if (failed.quietMs >= QUIET_MS) conditions.clear('passed-fails', { operation });
    } else if (failed.areWide(bad.ms, counted.sums(bad.ms).asked)) {
      const [who, what] = WORDS[operation];
      const why = `${who} answers ${bad.status} to ${percent(bad.count, bad.asked)} of the ${what}`;
      conditions.set('passed-fails', { operation }, why);
    }
  }
}
