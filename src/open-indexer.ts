import { Admission, type AdmissionDependencies } from './admission/admission.ts';
import { Backlog } from './admission/backlog.ts';
import { operationBreakers } from './admission/operation-breakers.ts';
import { Pause } from './admission/pause.ts';
import { ProcessGuard } from './admission/process-guard.ts';
import { RateLimit } from './admission/rate-limit.ts';
import { SharedRate } from './admission/shared-rate.ts';
import { Slots } from './admission/slots.ts';
import { AnswerBodyReader } from './answer/answer-body-reader.ts';
import type { AppContext } from './app-context.ts';
import { IndexerHead } from './indexer/indexer-head.ts';
import { UpstreamClient } from './indexer/upstream-client.ts';
import type { RedisScripting } from './redis/connect.ts';
import { withinBudget } from './redis/within-budget.ts';
import { OPERATION_NAMES } from './ton/operations.ts';

/** How long an idle connection is kept, in milliseconds: shorter than any usual server keeps it. */
const KEEP_ALIVE_MS = 4000;

/** After this a connection is replaced, so that a changed DNS record is followed. */
const CONNECTION_LIFETIME_MS = 300_000;

/** The signal of a request that does not wait. */
const NEVER = new AbortController().signal;

/** The way to the indexer. Get a ticket from an admission before using the client. */
export interface OpenIndexer {
  /** For the three operations. */
  readonly admission: Admission;
  /** For pass-through. */
  readonly passThroughAdmission: Admission;
  readonly client: UpstreamClient;
  readonly head: IndexerHead;
  readonly answerBodies: AnswerBodyReader;
  /** Whether this process is nearly out of memory. */
  readonly isMemoryFull: () => boolean;
  /** Milliseconds until the pause ends that the indexer asked for; 0 when there is none. */
  readonly pauseMs: () => number;
  /** Closes all connections; requests under way fail. */
  close(): Promise<void>;
}

export interface OpenIndexerDependencies {
  /** Runs the scripts by which instances share the rate limit; absent without Redis. */
  readonly scripting: RedisScripting | undefined;
  /** Frees memory; called while the process is nearly out of it. */
  readonly makeRoom: () => void;
}

/** Builds the client and its admissions; nothing connects before the first request. */
export function openIndexer(context: AppContext, { scripting, makeRoom }: OpenIndexerDependencies): OpenIndexer {
  const { settings, events, now, monotonic, random } = context;
  const { report } = events;
  const { upstream, admission, passThrough } = settings;
  const client = openClient(context);
  const answerBodies = new AnswerBodyReader(events.reportBug, settings.stream.url !== undefined);
  const processGuard = new ProcessGuard({ now: monotonic, makeRoom }, { maxMemory: admission.maxMemory });
  const pause = new Pause(
    {
      now: monotonic,
      wallNow: now,
      onTransition: (transition) =>
        report(
          transition.state === 'open'
            ? { name: 'pause', state: 'begun', ms: transition.openMs }
            : { name: 'pause', state: 'ended' },
        ),
    },
    { defaultMs: upstream.pause, longestMs: upstream.longestPause },
  );
  const breakers = operationBreakers(
    OPERATION_NAMES,
    {
      now: monotonic,
      random,
      onTransition: (operation, state) => report({ name: 'breaker', operation, state }),
    },
    settings.breaker,
  );
  const rate = openRateLimit(context, scripting);
  const head = new IndexerHead({
    upstream: client,
    maySend: async () => pause.retryAfterMs === 0 && (rate === undefined || (await rate.take(NEVER, 0)) === 'go'),
    onRateLimited: (retryAfter) => pause.admit()?.('rate-limited', retryAfter),
    now,
    report,
  });
  // A request may spend half of its timeout in the backlog; the other half is for the indexer's answer.
  const patienceMs = Math.min(admission.patience, upstream.timeout / 2);
  const shared = {
    isMemoryFull: () => processGuard.isFull || client.readingBytes + answerBodies.pendingBytes > upstream.maxReading,
    rate,
  };
  const openAdmission = (
    max: number,
    shares: Readonly<Record<string, number>>,
    guardsOf: AdmissionDependencies['guardsOf'],
  ) => {
    const slots = new Slots({ now: monotonic }, { max, shares, patienceMs });
    const backlog = new Backlog(
      { slots },
      {
        patienceMs,
        shortPatienceMs: Math.min(admission.overloadedPatience, patienceMs),
        maxWaiting: admission.maxQueue,
      },
    );
    return new Admission({ ...shared, slots, backlog, guardsOf }, { patienceMs });
  };
  return {
    admission: openAdmission(upstream.maxConcurrency, admission.shares, ({ operation }) => [
      pause,
      ...(breakers.get(operation) ?? []),
    ]),
    passThroughAdmission: openAdmission(passThrough.maxConcurrency, {}, ({ withClientKey }) =>
      withClientKey === true ? [] : [pause],
    ),
    client,
    head,
    answerBodies,
    isMemoryFull: () => processGuard.isFull,
    pauseMs: () => pause.retryAfterMs,
    close: async () => {
      await client.close();
      await answerBodies.close();
    },
  };
}

function openClient({ now, settings: { upstream, passThrough } }: AppContext): UpstreamClient {
  return new UpstreamClient(
    { now },
    {
      baseUrl: new URL(upstream.url),
      apiKey: upstream.apiKey,
      timeoutMs: upstream.timeout,
      // One for each slot, and one for the question for the head, which takes none.
      maxConnections: upstream.maxConcurrency + 1,
      maxForwardConnections: passThrough.maxConcurrency + passThrough.maxTransfers,
      maxBodyBytes: upstream.maxBodySize,
      keepAliveMs: KEEP_ALIVE_MS,
      connectionLifetimeMs: CONNECTION_LIFETIME_MS,
    },
  );
}

function openRateLimit(
  { settings, monotonic, events }: AppContext,
  scripting: RedisScripting | undefined,
): RateLimit | undefined {
  const { upstream, redis, network } = settings;
  const perSecond = upstream.requestsPerSecond;
  if (perSecond === undefined) return undefined;
  const shared =
    scripting &&
    new SharedRate(
      {
        runScript: (...script) => withinBudget(redis.budget, () => scripting.runScript(...script)),
        now: monotonic,
        onShared: (isShared) => events.report({ name: 'rate-shared', shared: isShared }),
      },
      {
        key: `toncache:rate:${network}`,
        failuresToOpen: redis.failuresToOpen,
        openMs: redis.retryAfter,
      },
    );
  return new RateLimit({ reserveShared: shared?.reserve, now: monotonic }, { perSecond });
}
