import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ABANDONED, type EntryRequest } from '../../../src/admission/guard.ts';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { sentFor } from '../../support/sent-for.ts';
import { come, FakeGuard, openAdmission, PATIENCE_MS, said, settle, slotsInUse } from './open-admission.ts';

function request(options: Partial<EntryRequest> = {}): EntryRequest {
  return { operation: 'any', key: 'key', clients: ['one'], ...FIRST_TRY, sentFor: sentFor(), ...options };
}

const rateOf = (perSecond: number) =>
  new RateLimit({ now: () => performance.now(), perSecond, longestWaitMs: PATIENCE_MS });
/** One request in ten seconds: a second request would wait longer than the patience. */
const oneInAWhile = () => rateOf(0.1);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('a request whose client has left gets no ticket and takes no slot', async () => {
  const admission = openAdmission({ max: 1 });
  expect(await admission.enter(request({ sentFor: sentFor(AbortSignal.abort()) }))).toEqual(ABANDONED);
  const [holder] = await come(admission, 1);
  expect(await admission.enter(request({ sentFor: sentFor(AbortSignal.abort()) }))).toEqual(ABANDONED);
  expect([holder?.said, slotsInUse(admission), admission.waiting]).toEqual(['ticket', 1, 0]);
});

test('once a slot that another operation never lent may be lent, it goes to a waiting request and not to a new one', async () => {
  const admission = openAdmission({ max: 10, shares: { pending: 0.4, adjacent: 0.3, shards: 0.2 } });
  await come(admission, 1, 'pending').then(([client]) => client?.ticket.free());
  await vi.advanceTimersByTimeAsync(59_000);
  const [holder, ...others] = await come(admission, 10, 'shards');
  await vi.advanceTimersByTimeAsync(1000);
  const [newcomer] = await come(admission, 1, 'shards');
  expect([others.at(-1)?.said, newcomer?.said, slotsInUse(admission)]).toEqual(['ticket', undefined, 10]);
  holder?.ticket.free();
  await settle();
  expect([others.at(-1)?.said, newcomer?.said]).toEqual(['ticket', 'ticket']);
});

describe('a request is refused in the same tick of the event loop', () => {
  let memory: { refusesLoads: boolean };
  let pause: FakeGuard;
  let breaker: FakeGuard;

  beforeEach(() => {
    memory = { refusesLoads: false };
    pause = new FakeGuard('paused');
    breaker = new FakeGuard('breaker-open');
  });

  const open = (options = {}) => openAdmission({ guards: [pause, breaker], memory, max: 1, ...options });

  test.each<[string, () => void, unknown]>([
    [
      'memory',
      () => {
        memory.refusesLoads = true;
        pause.isOpen = true;
      },
      { reason: 'memory', retryAfterMs: 0 },
    ],
    [
      'the pause',
      () => Object.assign(pause, { isOpen: true, retryAfterMs: 700 }),
      { reason: 'paused', retryAfterMs: 700 },
    ],
    [
      'the breaker',
      () => Object.assign(breaker, { isOpen: true, retryAfterMs: 3 }),
      { reason: 'breaker-open', retryAfterMs: 3 },
    ],
    [
      'both',
      () => [pause, breaker].map((guard) => Object.assign(guard, { isOpen: true })),
      { reason: 'paused', retryAfterMs: 0 },
    ],
  ])('by %s', async (_, close, refusal) => {
    const admission = open();
    close();
    let ticks = 0;
    setImmediate(() => ticks++);
    expect(admission.refusal(request())).toEqual(refusal);
    expect([await admission.enter(request()), ticks]).toEqual([refusal, 0]);
    expect([slotsInUse(admission), admission.waiting, vi.getTimerCount()]).toEqual([0, 0, 1]);
  });

  test('by the rate limit, before it takes a slot or waits for one', async () => {
    const rate = oneInAWhile();
    const admission = open({ rate });
    void rate.take();
    const refusal = { reason: 'rate-limit', retryAfterMs: 10_000 };
    expect([admission.refusal(request()), await admission.enter(request())]).toEqual([refusal, refusal]);
    expect([slotsInUse(admission), admission.waiting]).toEqual([0, 0]);
  });

  test('by the rate limit, when requests that wait for a slot will use its reservations first', async () => {
    const admission = open({ rate: rateOf(2) });
    const clients = await come(admission, 6);
    // The ticket has used a reservation. The next ones come after 0.5, 1 and 1.5 s: the fifth client would wait too
    // long.
    expect(said(clients)).toEqual(['ticket', undefined, undefined, undefined, 'rate-limit', 'rate-limit']);
  });

  test('by the backlog, with the expected wait', async () => {
    const admission = open();
    const clients = await come(admission, 10);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 9);
    expect(said(clients).slice(0, 3)).toEqual(['ticket', 'waited-too-long', undefined]);
    const refusal = { reason: 'expected-wait', retryAfterMs: 2 * PATIENCE_MS };
    expect([admission.refusal(request()), admission.enter(request())]).toEqual([refusal, refusal]);
    expect([admission.waiting, admission.expectedWaitMs('any')]).toEqual([8, 2 * PATIENCE_MS]);
  });

  test('by a full backlog', async () => {
    const clients = await come(open({ maxWaiting: 1 }), 3);
    expect(said(clients)).toEqual(['ticket', undefined, 'queue-full']);
  });

  test('but not by the rate limit when it is sent with its own API key', async () => {
    const rate = oneInAWhile();
    const admission = open({ rate });
    void rate.take();
    const entered = await admission.enter(request({ ...FIRST_TRY, isOurs: false, rate: 'none' }));
    if ('reason' in entered) throw new Error('refused');
    expect(entered.send()).toBe('go');
  });
});

describe('send', () => {
  test('ends the passes already taken as unknown and frees the ticket when the next guard refuses', async () => {
    const [pause, breaker] = [new FakeGuard('paused'), new FakeGuard('breaker-open')];
    const admission = openAdmission({ guards: [pause, breaker] });
    const [client] = await come(admission, 1);
    Object.assign(breaker, { refusesTickets: true, retryAfterMs: 70 });
    client?.send();
    await settle();
    expect(client?.sent).toEqual({ reason: 'breaker-open', retryAfterMs: 70 });
    expect(pause.ended).toEqual([['unknown', undefined]]);
    expect([admission.inFlight, slotsInUse(admission)]).toEqual([0, 0]);
  });

  test.each<[string, Partial<FakeGuard>, boolean]>([
    ['the pause', { isOpen: true }, false],
    ['an open breaker', { isOpen: true }, false],
    ['memory', {}, true],
  ])('gives the reservation back if %s refuses', async (_, closed, isMemoryFull) => {
    const guard = new FakeGuard('paused');
    const rate = oneInAWhile();
    const memory = { refusesLoads: false };
    const admission = openAdmission({ guards: [guard], rate, memory });
    const [client] = await come(admission, 1);
    Object.assign(guard, closed);
    memory.refusesLoads = isMemoryFull;
    client?.send();
    await settle();
    expect([client?.sent, rate.expectedWaitMs(0)]).toEqual([expect.objectContaining({ retryAfterMs: 0 }), 0]);
    expect(slotsInUse(admission)).toBe(0);
  });

  test.each(['without a rate', 'with a rate'])(
    'frees the slot and sends nothing for a client that has left: %s',
    async (which) => {
      const admission = openAdmission({ rate: which === 'with a rate' ? oneInAWhile() : undefined });
      const [client] = await come(admission, 1);
      client?.leave();
      client?.send();
      await settle();
      expect([client?.sent, admission.inFlight, slotsInUse(admission)]).toEqual([ABANDONED, 0, 0]);
    },
  );
});

describe('a limited rate', () => {
  test('gives a waiting request no slot, and drops it when its client leaves', async () => {
    const admission = openAdmission({ rate: rateOf(1) });
    const [first, second] = await come(admission, 2);
    first?.send();
    await settle();
    expect([second?.said, slotsInUse(admission), admission.waiting]).toEqual([undefined, 1, 1]);
    second?.leave();
    await settle();
    expect([second?.entered, admission.inFlight, slotsInUse(admission)]).toEqual([ABANDONED, 1, 1]);
  });

  test('gives the reservation of a ticket that is freed unsent to the next request immediately', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const [first, second, third] = await come(admission, 3);
    first?.ticket.free();
    await settle();
    expect([second?.said, third?.said]).toEqual(['ticket', undefined]);
    second?.send();
    await settle();
    second?.ticket.free();
    await vi.advanceTimersByTimeAsync(96);
    expect(third?.said).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(third?.said).toBe('ticket');
  });

  test('gives a refresh a reservation only while no client waits for one', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const refresh = (operation: string) =>
      admission.enter(request({ operation, clients: [], ...FIRST_TRY, waits: false }));
    expect(await refresh('any')).toHaveProperty('send');
    await vi.advanceTimersByTimeAsync(100);
    const [holder, waiting] = await come(admission, 2);
    expect([holder?.said, waiting?.said]).toEqual(['ticket', undefined]);
    await vi.advanceTimersByTimeAsync(50);
    expect(await refresh('other')).toEqual({ reason: 'rate-limit', retryAfterMs: 0 });
    await vi.advanceTimersByTimeAsync(50);
    expect(waiting?.said).toBe('ticket');
    await vi.advanceTimersByTimeAsync(100);
    expect(await refresh('other')).toHaveProperty('send');
  });

  test('gives a second try a reservation only when no other request waits for one', async () => {
    const admission = openAdmission({ rate: rateOf(10), max: 100 });
    const order: string[] = [];
    const ask = (name: string, options: Partial<EntryRequest> = {}) =>
      void Promise.resolve(admission.enter(request(options))).then(() => order.push(name));
    ask('first');
    ask('again', { ...FIRST_TRY, isSecondTry: true });
    for (let n = 0; n < 3; n++) ask(`waits ${n}`);
    await vi.advanceTimersByTimeAsync(1000);
    expect(order).toEqual(['first', 'waits 0', 'waits 1', 'waits 2', 'again']);
  });

  test('does not delay a request with its own API key', async () => {
    const admission = openAdmission({ rate: rateOf(1), max: 1 });
    const [holder, waiting] = await come(admission, 2);
    const keyed = admission.enter(request({ ...FIRST_TRY, isOurs: false, rate: 'none' }));
    holder?.send();
    await settle();
    holder?.ticket.free();
    expect(await keyed).toHaveProperty('send');
    expect([waiting?.said, admission.waiting]).toEqual([undefined, 1]);
  });
});
