import type { Logger } from 'pino';
import { passesStreams } from '../config/passed-paths.ts';
import type { Settings } from '../config/schema.ts';
import { EventHub } from '../event-hub.ts';
import { reasonOf } from '../reason-of.ts';
import { ClientShare } from '../tell/client-share.ts';
import { askedOf, Counted, MINUTE_MS } from '../tell/counted.ts';
import type { Condition } from '../tell/episode.ts';
import { Episodes } from '../tell/episodes.ts';
import { countEvents } from '../tell/event-counts.ts';
import { IndexerErrors } from '../tell/indexer-errors.ts';
import { episodeLog } from '../tell/log.ts';
import { Metrics } from '../tell/metrics.ts';
import { Conditions } from '../tell/present-conditions.ts';
import { tellRedis } from '../tell/redis-outage.ts';
import { Served, type ServedDependencies, slowMsOf } from '../tell/served.ts';
import { type StatesDependencies, statesTeller } from '../tell/states.ts';
import type { MonotonicMs } from '../time-units.ts';
import type { OperationsInUse } from '../ton/operations.ts';
import { VERSION } from '../version.ts';
import { indexersIn } from './indexers-in.ts';

/** The conditions are told this often, and whenever somebody looks. */
const TELL_EVERY_MS = 1000;

export interface OpenTellingDependencies {
  readonly settings: Settings;
  readonly operations: OperationsInUse;
  readonly logger: Logger;
  /** The destination of the log, which may be full. */
  readonly logOutput: StatesDependencies['logOutput'];
  readonly monotonic: () => MonotonicMs;
}

/** The components that tell operators by themselves nothing about states that grow with time. */
type ToldParts = Pick<StatesDependencies, 'indexers' | 'clock' | 'hasRedis'> &
  Pick<ServedDependencies, 'crowd' | 'shownClient'>;

/** Builds the parts that tell operators the state of the others, to which they are given: events, metrics, conditions. */
export function openTelling({ settings, operations, logger, logOutput, monotonic: now }: OpenTellingDependencies) {
  const { timeout } = settings.upstream;
  const indexers = indexersIn(settings);
  const slowMs = slowMsOf(timeout);
  const events = new EventHub();
  const metrics = new Metrics(events);
  const { enabled } = settings.passThrough;
  const requested = [
    ...operations.names,
    ...(enabled === false ? [] : ['passthrough' as const]),
    ...(passesStreams(enabled) ? ['streaming' as const] : []),
  ];
  const counts = countEvents({ metrics, events, operations: requested, timeoutMs: timeout, slowMs });
  const share = new ClientShare(now);
  const counted = new Counted(counts, now);
  const conditions = new Conditions(now, indexers);
  const episodes = new Episodes({ now, ...episodeLog(logger, indexers.length) });
  const errors = new IndexerErrors({ events, conditions, now, indexers });
  events.on('bug', ({ error }) => conditions.set('bug', {}, reasonOf(error)));
  metrics.gauge('build_info', 'The running versions of toncache and Node, as labels.', () => 1, {
    version: VERSION,
    node: process.version,
  });
  metrics.gauge('verdict', 'How clients are served: 0 OK, 1 DEGRADED, 2 FAILING.', () => conditions.level);
  metrics.add({
    name: 'condition',
    help: '1 while a condition is present, 0 once it is over. docs/incidents.md lists all conditions.',
    type: 'gauge',
    labelNames: ['name', 'level', 'upstream', 'operation'],
    read: () => conditions.samples,
  });
  metrics.add({
    name: 'log_lines_dropped_total',
    help: 'Log lines dropped because they cannot be written to standard output: the disk is full, or the reader is slow or gone.',
    type: 'counter',
    labelNames: [],
    read: () => [{ value: logOutput.dropped, labels: {} }],
  });
  return {
    events,
    metrics,
    counted,
    conditions,
    episodes,
    errors,
    share,
    isRedisUsed: tellRedis(events, conditions, now),
    /** Call once everything is built: from then on the states that grow with time are told. */
    begin: ({ crowd, shownClient, ...told }: ToldParts) => {
      const tellStates = statesTeller({ conditions, errors, logOutput, now, ...told });
      const used = { crowd, share, shownClient };
      const served = new Served({ events, conditions, errors, now, indexers, counted, slowMs, ...used });
      /** Brings conditions and episodes up to date. */
      const tell = (): void => {
        tellStates();
        served.tell();
        // Operations without requests in the last minute tell nothing: their breakers opened for the others.
        const lately = counted.within(MINUTE_MS);
        const isTold = ({ name, operation }: Condition): boolean =>
          name !== 'breaker-open' || operation === undefined || askedOf(lately.operation(operation)) > 0;
        episodes.turn(conditions.active.filter(isTold), counted.within(TELL_EVERY_MS).clients > 0);
      };
      const telling = setInterval(tell, TELL_EVERY_MS).unref();
      return { tell, tellStates, end: (): void => clearInterval(telling) };
    },
  };
}
