import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Admission, Ticket } from '../../../src/admission/admission.ts';
import type { EntryRequest } from '../../../src/admission/guard.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { type Purges, TieredCache } from '../../../src/cache/tiered-cache.ts';
import { ProxyError } from '../../../src/errors.ts';
import { AnswerBodyReader } from '../../../src/proxy/answer-body-reader.ts';
import { AnswerClassifier } from '../../../src/proxy/answer-classifier.ts';
import type { Report } from '../../../src/proxy/events.ts';
import { EntryFetcher, type Fetched } from '../../../src/proxy/fetch-entry.ts';
import { RetryBudget } from '../../../src/upstream/retry-budget.ts';
import type { UpstreamAnswer } from '../../../src/upstream/upstream-client.ts';
import { openAdmission, settle } from '../../support/open-admission.ts';
import { TABLE } from '../ton/table-of-lifetimes.ts';
import { OUT } from './classified.ts';

const NOW = 1_780_000_000_000;
const HOUR_AGO = NOW / 1000 - 3600;
const CHILDREN = `{"transactions":[{"hash":"a","now":${HOUR_AGO},"mc_block_seqno":7,"emulated":false,"account":"x"}]}`;
const BUG = new Error('a bug');

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A fetcher with one slot, whose indexer answers when told to. */
class OneSlot {
  readonly admission: Admission = openAdmission({ max: 1 });
  readonly head = { learn: () => {}, chainTime: Date.now };
  readonly asked: PromiseWithResolvers<UpstreamAnswer>[] = [];
  readonly purges: Purges = { applyBans: (entry) => entry, purgedUntil: () => 0, isCurrent: true };
  report: Report = () => {};
  readonly #body: string;
  readonly #fetcher: EntryFetcher;

  constructor(body: string) {
    this.#body = body;
    const report: Report = (event) => this.report(event);
    const memory = new MemoryTier({ now: Date.now }, { maxSizeBytes: 1e6, maxEntries: 10 });
    const cache = new TieredCache(
      { memory, redis: undefined, purges: this.purges, now: Date.now },
      { retryRedisMs: 0 },
    );
    const monotonic = () => performance.now();
    this.#fetcher = new EntryFetcher({
      cache,
      admission: this.admission,
      bodies: new AnswerBodyReader(() => {}),
      classifier: new AnswerClassifier({ head: this.head, random: () => 0, report }, TABLE),
      retries: new RetryBudget(monotonic),
      pushed: undefined,
      upstream: { fetch: this.#ask },
      pauseMs: () => 0,
      random: () => 0,
      monotonic,
      report,
    });
  }

  async fetch(call: typeof OUT): Promise<Fetched | ProxyError> {
    const request: EntryRequest = {
      ...{ operation: call.operation.name, key: 'the key', priority: 'miss', clients: [] },
      signal: new AbortController().signal,
    };
    const ticket = (await this.admission.enter(request)) as Ticket;
    const flight = { signal: request.signal, clients: new Set<string>(), depart: () => {} };
    return this.#fetcher.fetch({
      call,
      request,
      flight,
      traceparent: undefined,
      ticket,
      lease: undefined,
      known: undefined,
    });
  }

  answer(): void {
    const instants = { askedAt: Date.now() - 50, receivedAt: Date.now() };
    const head = { status: 200, contentType: 'application/json', apiVersion: undefined, retryAfter: undefined };
    this.asked.at(-1)?.resolve({ ...head, ...instants, body: Buffer.from(this.#body) });
  }

  readonly #ask = (): Promise<UpstreamAnswer> => {
    const asked = Promise.withResolvers<UpstreamAnswer>();
    this.asked.push(asked);
    return asked.promise;
  };
}

describe('the slot is free again after a bug', () => {
  const fail = (): never => {
    throw BUG;
  };

  test.each<[string, (world: OneSlot) => void]>([
    ['in what hears of an answer', (world) => Object.assign(world, { report: fail })],
    ['in the chain time', (world) => vi.spyOn(world.head, 'chainTime').mockImplementation(fail)],
    ['in the bans of the store', (world) => vi.spyOn(world.purges, 'applyBans').mockImplementation(fail)],
  ])('%s', async (_, breakIt) => {
    const world = new OneSlot(CHILDREN);
    breakIt(world);
    const fetched = expect(world.fetch(OUT)).rejects.toBe(BUG);
    await settle();
    world.answer();
    await fetched;
    await vi.advanceTimersByTimeAsync(1000);
    expect([world.admission.slotsInUse, world.admission.inFlight]).toEqual([0, 0]);
  });

  test('in what hears of a failure', async () => {
    const world = new OneSlot(CHILDREN);
    world.report = fail;
    const fetched = expect(world.fetch(OUT)).rejects.toBe(BUG);
    await settle();
    world.asked[0]?.reject(new ProxyError('upstream-timeout', 'no answer'));
    await fetched;
    await vi.advanceTimersByTimeAsync(1000);
    expect([world.admission.slotsInUse, world.admission.inFlight]).toEqual([0, 0]);
  });
});
