import { expect, test } from 'vitest';
import { Admission } from '../../../src/admission/admission.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { Slots } from '../../../src/admission/slots.ts';
import type { Ticket } from '../../../src/admission/ticket.ts';
import { type AskableIndexer, askWith } from '../../../src/answer/ask.ts';
import { factsOf } from '../../../src/answer/body-facts.ts';
import { refusalErrorWith } from '../../../src/answer/refusal-error.ts';
import { failure, ProxyError } from '../../../src/errors.ts';
import type { Hedging } from '../../../src/fleet/hedging.ts';
import { Routes } from '../../../src/fleet/routes.ts';
import type { UpstreamAnswer } from '../../../src/indexer/upstream-client.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { sentFor } from '../../support/sent-for.ts';
import { ASKED_AT, SHARDS } from './classified.ts';

const SEQNO = 7;

const answered = (blocks: number): UpstreamAnswer => ({
  status: blocks > 0 ? 200 : 404,
  contentType: 'application/json',
  apiVersion: undefined,
  retryAfterMs: undefined,
  ageValueSeconds: 0,
  body: Buffer.from(JSON.stringify(blocks > 0 ? { blocks: [{ workchain: -1, seqno: SEQNO }] } : { error: 'no' })),
  askedAt: ASKED_AT,
  receivedAt: ASKED_AT,
});

/** The ends of a request. A block that its indexer reports to have, and lacks, is a doubtful answer. */
const ENDS = {
  answer: ({ resolve }: Asked) => resolve(answered(1)),
  doubt: ({ resolve }: Asked) => resolve(answered(0)),
  failure: ({ reject }: Asked) => reject(failure('upstream-reset')),
  bug: ({ reject }: Asked) => reject(new Error('a bug')),
};

type End = keyof typeof ENDS;
type Asked = PromiseWithResolvers<UpstreamAnswer>;

/** Two indexers that answer when the test lets them, and a request that is hedged immediately. */
function openAsking() {
  const requests: Asked[] = [];
  const bugs: unknown[] = [];
  const indexers = [0, 1].map((index): AskableIndexer => {
    const head = { newestBlock: 9, chainTime: ASKED_AT, isOfOurChain: true, hasBlock: () => true };
    const fetch = () => {
      const asked = Promise.withResolvers<UpstreamAnswer>();
      requests.push(asked);
      return asked.promise;
    };
    return {
      name: `indexer ${index}`,
      client: { fetch },
      head: { ...head, show: () => {}, refute: () => {} },
      polls: { hear: () => {}, askIfDue: () => {} },
      pause: { refusal: () => undefined },
      route: { isBackup: false },
    };
  });
  const now = () => 0;
  const slots = indexers.map(() => new Slots({ now, max: 2, shares: {}, patienceMs: 1500 }));
  const routes = new Routes(
    () => 0,
    slots.map((each, index) => ({ index, isBackup: false, slots: each, rate: undefined, guards: new Map() })),
  );
  const waits = { patienceMs: 1500, shortPatienceMs: 100, maxWaiting: 10 };
  const admission = new Admission({ now, routes, memory: { refusesLoads: false }, ...waits });
  const budget = { countCall: () => {}, tryTake: () => true };
  const askQuestion = askWith({
    indexers,
    heads: { lag: () => 0 } as never,
    hedging: { budget, isOverdue: async () => true, answered: () => {} } as unknown as Hedging,
    hasReached: () => true,
    pollHeads: () => {},
    admission,
    refusalError: refusalErrorWith(() => 0),
    bodies: { read: (call: Call, { status, body }: UpstreamAnswer) => factsOf(call, status, body) } as never,
    retries: budget as never,
    random: () => 0,
    monotonic: now,
    report: () => {},
    proofs: undefined,
    reportBug: (bug) => bugs.push(bug),
    policies: POLICIES,
  });
  const flight = { ...sentFor(), clients: new Set<string>(), depart: () => {} };
  const request = { operation: SHARDS.operation.name, key: 'key', clients: ['one'], sentFor: flight, ...FIRST_TRY };
  const inUse = () => slots.reduce((sum, each) => sum + each.inUse, 0);
  /** The number of taken slots while the answer is stored. */
  const whileStored: number[] = [];
  return {
    requests,
    bugs,
    inUse,
    whileStored,
    ask: () => {
      const ticket = admission.enter(request) as Ticket;
      const question = { call: SHARDS, request, flight, trace: [], ticket, known: undefined };
      return askQuestion(question, ({ entry }) => {
        whileStored.push(inUse());
        return entry.meta.status;
      });
    },
  };
}

const turn = () => new Promise(setImmediate);

test.each(
  Object.keys(ENDS).flatMap((first) => Object.keys(ENDS).map((hedge) => [first as End, hedge as End] as const)),
)('a request with %s and its hedge with %s end in the same turn, and both slots are free', async (first, hedge) => {
  for (const order of [[0, 1] as const, [1, 0] as const]) {
    const { ask, requests, bugs, inUse, whileStored } = openAsking();
    const result = ask();
    await turn();
    expect([requests.length, inUse()]).toEqual([2, 2]);
    for (const index of order) ENDS[[first, hedge][index] as End](requests[index] as Asked);
    const ended = await result;
    await turn();
    expect(inUse()).toBe(0);
    if ([first, hedge].includes('answer')) expect(ended).toBe(200);
    else if ([first, hedge].includes('doubt')) expect(ended).toBe(404);
    else expect(ended).toBeInstanceOf(ProxyError);
    // The slot of the answer that counts is taken until it is stored.
    for (const taken of whileStored) expect(taken).toBeGreaterThan(0);
    expect(bugs.length).toBe([first, hedge].filter((each) => each === 'bug').length);
  }
});

test.each(Object.keys(ENDS) as End[])('a request that ends with %s after its hedge frees its own slot', async (end) => {
  const { ask, requests, inUse } = openAsking();
  const result = ask();
  await turn();
  ENDS.answer(requests[1] as Asked);
  expect(await result).toBe(200);
  await turn();
  expect(inUse()).toBe(1);
  ENDS[end](requests[0] as Asked);
  await turn();
  expect(inUse()).toBe(0);
});
