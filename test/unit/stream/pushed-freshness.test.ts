import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, KEY, ONE, StreamUnderTest, stretchedOn, traceHash } from './stream-under-test.ts';

let stream: StreamUnderTest;

beforeEach(() => {
  stream = new StreamUnderTest();
});

afterEach(() => stream[Symbol.dispose]());

const stretched = (said = {}) => stretchedOn(stream, said);

describe('an answer is stretched to 2 s', () => {
  test('when it was asked for after the acknowledgement', () => {
    stream.ask(KEY);
    stream.ask(KEY);
    vi.advanceTimersByTime(50);
    const mark = stream.mark();
    stream.server.socket.acknowledge();
    expect(stream.freshMs(stream.answer(KEY, {}, { mark }))).toBe(400);
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
  });

  test('when all that it lists is acknowledged too', () => {
    stream.watch(KEY);
    expect(stream.freshMs(stream.answer(KEY, ONE))).toBe(400);
    stream.subscribe();
    expect(stream.freshMs(stream.answer(KEY, ONE))).toBe(2000);
  });

  test('in memory alone: the entry itself is as without a stream', () => {
    stream.watch(KEY);
    const kept = stream.answer(KEY);
    expect(kept).toMatchObject({ lifetime: 400, memoryTtl: 2000 });
    expect(kept.watched?.unstretched?.freshUntil).toBe(kept.askedAt + 400);
  });

  test('and no longer: it has no stale window', () => {
    const kept = stretched();
    vi.advanceTimersByTime(1999);
    expect(stream.freshness(kept)).toBe('fresh');
    vi.advanceTimersByTime(1);
    expect(stream.freshness(kept)).toBe('stale-if-error');
  });

  test.each([
    ['without an event', () => {}],
    ['after an event', () => stream.event(account(1))],
  ])('and is a fallback until the instant at which it would be none without the stream, %s', (_, happens) => {
    const kept = stretched();
    vi.advanceTimersByTime(100);
    happens();
    expect(stream.usableMs(kept)).toBe(2400);
  });

  test.each([
    ['some of its changes are not announced', { isAnnounced: false }],
    ['it lists what is not acknowledged', { accounts: [account(7)] }],
  ])('but not when %s', (_, said) => {
    stream.watch(KEY);
    expect(stream.freshMs(stream.answer(KEY, said))).toBe(400);
  });

  test('but not when an event came since it was asked for', () => {
    stretched();
    const mark = stream.mark();
    stream.event(account(1));
    expect(stream.freshMs(stream.answer(KEY, {}, { mark }))).toBeLessThan(400);
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
  });

  test('after a trace has left it that was final, or of which an event came', () => {
    stretched({ ...ONE, isAnnounced: false });
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
    stream.answer(KEY, ONE);
    stream.event(traceHash(1));
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
  });

  test('but not within 10 s after a trace left it that was not final, and of which no event came', () => {
    stretched(ONE);
    expect(stream.freshMs(stream.answer(KEY))).toBe(400);
    vi.advanceTimersByTime(9999);
    stream.ask(KEY);
    expect(stream.freshMs(stream.answer(KEY))).toBe(400);
    vi.advanceTimersByTime(1);
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
  });

  test('but not within 10 s after a trace was invalidated that it lists still', () => {
    stretched(ONE);
    stream.invalidate(traceHash(1));
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
    expect(stream.freshMs(stream.answer(KEY, ONE))).toBe(400);
    vi.advanceTimersByTime(9_000);
    stream.ask(KEY);
    vi.advanceTimersByTime(1_000);
    expect(stream.freshMs(stream.answer(KEY, ONE))).toBe(2000);
  });

  test('but not when it lives longer anyway', () => {
    stream.watch(KEY);
    expect(stream.freshMs(stream.answer(KEY, {}, { lifetime: 3000 }))).toBe(3000);
  });

  test('by nothing that nobody polls', () => {
    stream.ask(KEY);
    expect(stream.answer(KEY).watched).toBeUndefined();
  });
});

describe('a lost connection', () => {
  test('ends the longer life of every answer at once', () => {
    const kept = stretched();
    stream.server.socket.handlers.onClose('reset');
    expect(stream.freshMs(kept)).toBe(400);
    vi.advanceTimersByTime(250);
    stream.server.socket.accept();
    stream.watch(KEY);
    expect(stream.freshMs(kept)).toBe(400);
    expect(stream.freshMs(stream.answer(KEY))).toBe(2000);
  });

  test('forgets what was acknowledged', () => {
    stretched();
    stream.server.socket.handlers.onClose('reset');
    vi.advanceTimersByTime(250);
    stream.server.socket.accept();
    stream.ask(KEY);
    stream.ask(KEY);
    vi.advanceTimersByTime(50);
    expect(stream.freshMs(stream.answer(KEY))).toBe(400);
  });
});

test('a jump of the clock ends all watches', () => {
  const kept = stretched();
  stream.onClockJump();
  expect([stream.watches, stream.freshMs(kept)]).toEqual([0, 400]);
});
