import type { Admission } from '../admission/admission.ts';
import type { IndexerAnswer, Indexers } from '../answer/indexers.ts';
import type { Entry } from '../cache/entry.ts';
import { ProxyError } from '../errors.ts';
import { ofLoad } from '../fleet/lanes.ts';
import type { Flight } from '../once/single-flight.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';

export interface AskPastCacheDependencies {
  readonly network: string;
  readonly indexers: Pick<Indexers, 'ask'>;
  readonly admission: Pick<Admission, 'enter'>;
  /** Called for each answer of the indexer that is not a failure. */
  readonly onAnswered: () => void;
}

/**
 * Sends a call to the indexer, whatever the cache holds. `keep` gets the answer before its slot is free. `undefined`
 * without a ticket, and for an answer of another chain.
 */
export async function askPastCache(
  { network, indexers, admission, onAnswered }: AskPastCacheDependencies,
  call: Call,
  keep: (answer: IndexerAnswer) => void = () => {},
): Promise<Entry | ProxyError | undefined> {
  const flight = newFlight();
  const key = cacheKey(network, call);
  const lane = ofLoad(false, seqnoOf(call));
  const request = { operation: call.operation.name, key, lane, clients: flight.clients, sentFor: flight };
  const ticket = await admission.enter(request);
  if ('reason' in ticket) return undefined;
  const question = { call, request, flight, trace: [], ticket, known: undefined };
  const answer = await indexers.ask(question, (answered) => {
    keep(answered);
    return answered.entry;
  });
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
