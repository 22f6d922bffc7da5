import type { Admission } from '../admission/admission.ts';
import { FIRST_TRY } from '../admission/send-rules.ts';
import type { Ask, IndexerAnswer } from '../answer/ask.ts';
import { askedIndexer, type Load, type Loader } from '../answer/load.ts';
import { Wait } from '../answer/wait.ts';
import type { Entry } from '../cache/entry.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { Flight, SingleFlight } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';

export interface AskPastCacheDependencies {
  readonly network: string;
  readonly ask: Ask;
  readonly admission: Pick<Admission, 'enter'>;
  /** Called for each answer of the indexer that is not a failure. */
  readonly onAnswered: () => void;
  /** Called for each answer, or failure, for which this instance or another one has sent a request. */
  readonly onNeeded: () => void;
}

export interface AskThroughCacheDependencies extends AskPastCacheDependencies {
  readonly cache: Pick<TieredCache, 'lookInMemory' | 'set'>;
  readonly flights: Pick<SingleFlight<Load>, 'join' | 'hasWaitingFlight'>;
  /** Loads with the admission of the follower. */
  readonly load: Loader;
  /** The timeout of an answer. */
  readonly timeoutMs: Ms;
}

/** An answer, and whether this instance or another one has requested it for the follower. */
export interface Got {
  readonly entry: Entry;
  readonly isNeeded: boolean;
}

/**
 * The entry of a call from the cache, or loaded for all instances. `pastCache`: sends the request in any case. A failure
 * that the indexer reported is a {@link ProxyError}.
 */
export async function askThroughCache(
  dependencies: AskThroughCacheDependencies,
  call: Call,
  pastCache = false,
): Promise<Got | ProxyError | undefined> {
  const { network, cache, flights, load, timeoutMs, onAnswered, onNeeded } = dependencies;
  const key = cacheKey(network, call);
  const found = cache.lookInMemory(key, call.tags);
  if (!pastCache && found.state === 'fresh' && isOfOurChain(found.entry))
    return { entry: found.entry, isNeeded: false };
  // Does not wait for a client's flight in the backlog: the follower goes first.
  if (pastCache || found.state === 'fresh' || flights.hasWaitingFlight(key)) {
    const entry = await askPastCache(dependencies, call, (answer) => cache.set(answer.entry, call.tags));
    return entry === undefined || entry instanceof ProxyError ? entry : { entry, isNeeded: true };
  }
  const wait = new Wait(timeoutMs);
  const end = await flights.join(key, wait, (flight) => load(call, key, flight, false));
  wait.close();
  if (end.state === 'left') return undefined;
  const { value } = end;
  const isTaken = !end.collapsed && value.kind === 'hit' && value.tier === 'redis';
  const isNeeded = isTaken || askedIndexer(end);
  if (isNeeded) onNeeded();
  if (value.kind === 'failed') return value.error;
  if (!isOfOurChain(value.entry)) return undefined;
  if (value.kind === 'loaded') onAnswered();
  return { entry: value.entry, isNeeded };
}

/**
 * Sends a call to the indexer, whatever the cache holds. `keep` gets the answer before its slot is free. `seqno`: an
 * indexer that has this masterchain block is asked. `undefined` without a ticket, and for an answer of another chain.
 */
export async function askPastCache(
  { network, ask, admission, onAnswered, onNeeded }: AskPastCacheDependencies,
  call: Call,
  keep: (answer: IndexerAnswer) => unknown = () => {},
  seqno = seqnoOf(call),
): Promise<Entry | ProxyError | undefined> {
  const flight = newFlight();
  const key = cacheKey(network, call);
  const to = { ...FIRST_TRY, seqno };
  const request = { ...to, operation: call.operation.name, key, clients: flight.clients, sentFor: flight };
  const ticket = await admission.enter(request);
  if ('reason' in ticket) return undefined;
  const question = { call, request, flight, trace: [], ticket, known: undefined };
  const answer = await ask(question, (answered) => {
    keep(answered);
    return answered.entry;
  });
  onNeeded();
  if (answer instanceof ProxyError) return answer;
  if (!isOfOurChain(answer)) return undefined;
  onAnswered();
  return answer;
}

/** An indexer that had not named its chain may follow another one. One that follows another gives no answers. */
export function isOfOurChain({ meta }: Entry): boolean {
  return meta.isLocal !== true;
}

/** A load that nobody follows. */
function newFlight(): Flight {
  return { isAbandoned: false, signal: new AbortController().signal, clients: new Set(), depart: () => {} };
}
