import { setTimeout as sleep } from 'node:timers/promises';
import type { Refusal } from '../admission/guard.ts';
import { FIRST_TRY } from '../admission/send-rules.ts';
import { ticketFor } from '../admission/ticket.ts';
import { type AskDependencies, askWith } from '../answer/ask.ts';
import type { Clock } from '../clock.ts';
import type { Flight } from '../once/single-flight.ts';
import type { Purges } from '../purge/purges.ts';
import { reasonOf } from '../reason-of.ts';
import type { Condition } from '../tell/episode.ts';
import type { Ms } from '../time-units.ts';
import { cacheKey } from '../ton/cache-key.ts';
import type { Operation } from '../ton/operations.ts';
import type { Call } from '../ton/parse-call.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexer } from './indexer.ts';
import type { OpenIndexers } from './indexers.ts';
import type { SharedRedis } from './redis.ts';
import { tryStream } from './stream-server.ts';

/** The facts that a trial of all services has shown, and the conditions, the worst first. */
export interface ServicesTried {
  /** In the order of the settings, backups last. */
  readonly indexers: readonly {
    /** Host and port. */
    readonly name: string;
    /** True if it named its newest block, and did not lack it. */
    readonly isUsable: boolean;
    readonly newestBlock: number;
    /** Of that block; `undefined` if unknown. */
    readonly ageMs: Ms | undefined;
  }[];
  /** `aheadMs`: the lead of its clock. */
  readonly redis: { readonly aheadMs: Ms } | undefined;
  /** `failure`: why it could not be opened. */
  readonly stream: { readonly host: string; readonly failure: string | undefined } | undefined;
  readonly conditions: readonly Condition[];
}

/** Sends the cheap question of an operation to one indexer. Conditions tell the result. Never rejects. */
type TryOperation = (indexer: OpenIndexer, operation: Operation) => Promise<void>;

const NO_OTHER: Refusal = { reason: 'no-free-slot', retryAfterMs: 0 };

/** Sends questions as clients' requests are sent, but to the named indexer alone, once, and at its rate. */
export function operationTrial({ settings }: AppContext, dependencies: AskDependencies): TryOperation {
  const admission = { enter: () => NO_OTHER, refusal: () => NO_OTHER };
  const ask = askWith({ ...dependencies, admission, pollHeads: () => {}, hedging: undefined, proofs: undefined });
  return async ({ takeNext, route }, operation) => {
    if (!(await takeNext())) return;
    const call: Call = { operation, request: { query: operation.cheapQuery, headers: [] }, tags: [] };
    const key = cacheKey(settings.network, call);
    // Nobody can leave it.
    const { signal } = new AbortController();
    const flight: Flight = { isAbandoned: false, signal, clients: new Set(), depart: () => {} };
    const request = { ...FIRST_TRY, at: route.index, operation: operation.name, key, clients: [], sentFor: flight };
    // Operations are tried side by side: failures of some of them in a row say nothing about the indexer's health.
    const own = { ...route, health: undefined };
    const ticket = ticketFor(request, { route: own, refusal: () => undefined, onSent: () => {}, onFree: () => {} });
    await ask({ call, request, flight, trace: [], ticket, known: undefined }, () => {});
  };
}

export interface TrialDependencies {
  readonly indexers: OpenIndexers;
  readonly tryOperation: TryOperation;
  /** Absent without Redis. */
  readonly redis: Pick<SharedRedis, 'connection' | 'tryOut'> | undefined;
  readonly purges: Pick<Purges, 'exchange'>;
  readonly clock: Pick<Clock, 'aheadOfWallMs'>;
  /** Brings the conditions up to date. */
  readonly tell: () => void;
}

/**
 * Tries all services in the settings once: each indexer with its key, chain, newest block and operations, Redis with
 * all that an instance does with it, and the stream. Each question has a timeout. Never rejects.
 */
export async function tryServices(context: AppContext, dependencies: TrialDependencies): Promise<ServicesTried> {
  const { settings, conditions } = context;
  const { indexers, redis, clock, tell } = dependencies;
  const { url } = settings.stream;
  const opened = url === undefined ? undefined : tryStream(context);
  // First, because the time of Redis counts from then on.
  if (redis !== undefined) await tryRedis(context, redis, dependencies.purges);
  const usable = await tryIndexers(context, dependencies);
  const failure = await opened;
  const { heads } = indexers;
  for (const { name, route } of indexers.all) {
    const lag = heads?.lag(route.index) ?? 0;
    conditions.say('behind', { upstream: name }, { why: `${lag.toLocaleString('en')} blocks` });
  }
  tell();
  return {
    indexers: indexers.all.map(({ name, head }, index) => ({
      name,
      isUsable: usable[index] === true,
      newestBlock: head.newestBlock,
      ageMs: head.lastWord?.ageMs,
    })),
    redis: redis && { aheadMs: clock.aheadOfWallMs },
    stream: url === undefined ? undefined : { host: new URL(url).host, failure },
    conditions: conditions.active,
  };
}

/** Resolves with whether each indexer can be used. */
async function tryIndexers(
  { settings, operations }: AppContext,
  { indexers: { all, heads }, tryOperation }: TrialDependencies,
): Promise<readonly boolean[]> {
  const checked = all.map(async ({ head, polls }) => {
    await polls.check(settings.upstream.timeout);
    return head.newestBlock >= 0;
  });
  const asked = all.map(async (indexer, index) => {
    if (await checked[index]) await Promise.all(operations.all.map((operation) => tryOperation(indexer, operation)));
  });
  const usable = await Promise.all(checked);
  // Polled together, as heads are compared.
  await Promise.all([heads?.ask(), ...asked]);
  return usable;
}

/** The client connects again after its first READONLY, and so loses this answer: the next connection shows it. */
const AGAIN_AFTER_MS: Ms = 250;

/** A Redis that can only be read counts as connected, and so does one that takes no purges. */
async function tryRedis(
  { events }: AppContext,
  { connection, tryOut }: Pick<SharedRedis, 'connection' | 'tryOut'>,
  purges: Pick<Purges, 'exchange'>,
): Promise<void> {
  const why = (error: unknown) => reasonOf(error) ?? 'Redis failed';
  const tryAgain = () => sleep(AGAIN_AFTER_MS).then(tryOut);
  const works = () =>
    tryOut()
      .catch(tryAgain)
      .then(() => purges.exchange(), why);
  const reason = (await connection.ready()) ? await works() : 'no response';
  if (reason !== undefined) events.report({ name: 'redis-available', operation: 'write', available: false, reason });
}
