import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type PausePass, type PauseTransition, UpstreamPause } from '../../../src/upstream/upstream-pause.ts';

const DEFAULT_MS = 1000;
const LONGEST_MS = 60_000;
const START = Date.UTC(2026, 0, 1);

let now = START;
let pause: UpstreamPause;
let transitions: PauseTransition[] = [];
const onTransition = (transition: PauseTransition) => void transitions.push(transition);

beforeEach(() => {
  now = START;
  transitions = [];
  pause = new UpstreamPause({ defaultMs: DEFAULT_MS, longestMs: LONGEST_MS, now: () => now, onTransition });
});

function admitted(): PausePass {
  const pass = pause.admit();
  if (pass === 'paused') throw new Error('nothing may be sent');
  return pass;
}

/** Ends the pause that lasts and takes the trial. */
function trialAfterPause(): PausePass {
  now += pause.remainingMs;
  const trial = admitted();
  expect(pause.admit()).toBe('paused');
  return trial;
}

describe('without a 429', () => {
  test('everything is sent, and nothing of it is a trial', () => {
    expect(Array.from({ length: 100 }, admitted)).toHaveLength(100);
    expect(pause.isPaused).toBe(false);
    expect(pause.remainingMs).toBe(0);
  });
});

describe('a 429', () => {
  test.each<[string, string | undefined, number]>([
    ['seconds', '7', 7000],
    ['seconds among spaces', ' 7 ', 7000],
    ['a date', new Date(START + 7000).toUTCString(), 7000],
    ['nothing', undefined, DEFAULT_MS],
    ['no time at all', '0', DEFAULT_MS],
    ['a date that has passed', new Date(START - 7000).toUTCString(), DEFAULT_MS],
    ['words', 'soon', DEFAULT_MS],
    ['a fraction of the year 2001', '1.5', DEFAULT_MS],
    ['a minus', '-5', DEFAULT_MS],
    ['a week', '604800', LONGEST_MS],
    ['a number beyond numbers', '9'.repeat(400), LONGEST_MS],
  ])('that asks for %s pauses everything for as long as can be believed', (_, retryAfter, ms) => {
    admitted().limited(retryAfter);
    expect(pause.remainingMs).toBe(ms);
    now += ms - 1;
    expect(pause.admit()).toBe('paused');
    expect(pause.isPaused).toBe(true);
    now += 1;
    expect(pause.isPaused).toBe(false);
    expect(pause.remainingMs).toBe(0);
  });

  test('that asks for less than another does not shorten the pause, and one that asks for more prolongs it', () => {
    const [first, second, third] = [admitted(), admitted(), admitted()];
    first.limited('10');
    second.limited('2');
    expect(pause.remainingMs).toBe(10_000);
    third.limited('20');
    expect(pause.remainingMs).toBe(20_000);
  });

  test('of each of many calls under way is one pause, not one after the other', () => {
    const passes = Array.from({ length: 64 }, admitted);
    for (const pass of passes) pass.limited(undefined);
    expect(pause.remainingMs).toBe(DEFAULT_MS);
  });
});

describe('after a pause', () => {
  test('one trial is sent, and nothing else while it is under way', () => {
    admitted().limited(undefined);
    trialAfterPause();
    expect(Array.from({ length: 100 }, () => pause.admit())).toEqual(Array(100).fill('paused'));
    expect(pause.isPaused).toBe(true);
    expect(pause.remainingMs).toBe(0);
  });

  test('a trial that was answered ends it', () => {
    admitted().limited(undefined);
    trialAfterPause().answered();
    expect([admitted(), admitted()]).toHaveLength(2);
    expect(pause.isPaused).toBe(false);
  });

  test('a trial that met another 429 begins a longer one, up to the longest, and then again one trial is sent', () => {
    admitted().limited(undefined);
    const lengths = Array.from({ length: 14 }, () => {
      trialAfterPause().limited(undefined);
      return pause.remainingMs;
    });
    expect(lengths.slice(0, 3)).toEqual([1500, 2250, 3375]);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(lengths.at(-1)).toBe(LONGEST_MS);
    trialAfterPause().answered();
    admitted().limited(undefined);
    expect(pause.remainingMs).toBe(DEFAULT_MS);
  });

  test('a trial is believed when it is told to wait longer than that', () => {
    admitted().limited(undefined);
    trialAfterPause().limited('30');
    expect(pause.remainingMs).toBe(30_000);
  });

  test('a trial without an answer leaves the next one to try', () => {
    admitted().limited(undefined);
    trialAfterPause().unanswered();
    admitted();
    expect(pause.admit()).toBe('paused');
  });

  test('a trial that is never ended does not pause for ever', () => {
    admitted().limited(undefined);
    trialAfterPause();
    now += 59_999;
    expect(pause.admit()).toBe('paused');
    now += 1;
    admitted();
    expect(pause.admit()).toBe('paused');
  });

  test('an hour later the first call is still the only trial', () => {
    admitted().limited(undefined);
    now += 3_600_000;
    admitted();
    expect(pause.admit()).toBe('paused');
  });
});

describe('the transitions', () => {
  test('are the begin of the first of several pauses, and the answer after the last', () => {
    admitted().limited('3');
    trialAfterPause().limited(undefined);
    trialAfterPause().unanswered();
    expect(transitions).toEqual([{ state: 'begun', ms: 3000 }]);
    const trial = admitted();
    trial.answered();
    trial.answered();
    admitted().answered();
    expect(transitions).toEqual([{ state: 'begun', ms: 3000 }, { state: 'ended' }]);
  });
});

describe('a call that was sent before the pause', () => {
  test('does not end it by its success', () => {
    const early = admitted();
    admitted().limited('10');
    early.answered();
    expect(pause.remainingMs).toBe(10_000);
    const trial = trialAfterPause();
    early.answered();
    expect(pause.admit()).toBe('paused');
    trial.answered();
    expect(pause.isPaused).toBe(false);
  });

  test('does not make the next one longer by its 429', () => {
    const early = admitted();
    admitted().limited(undefined);
    now += DEFAULT_MS;
    early.limited(undefined);
    expect(pause.remainingMs).toBe(DEFAULT_MS);
  });
});

test('a pass is ended once: what is said later is not heard', () => {
  admitted().limited(undefined);
  const trial = trialAfterPause();
  trial.limited(undefined);
  trial.answered();
  trial.limited('50');
  expect(pause.remainingMs).toBe(1500);
});

test('however calls end, no pause is broken, one trial at most is out, and none lasts beyond the longest', () => {
  const step = fc.record({
    waitMs: fc.nat(3000),
    act: fc.constantFrom('admit', 'answered', 'limited', 'unanswered'),
    retryAfter: fc.option(fc.integer({ min: 0, max: 100 }).map(String), { nil: undefined }),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      now = START;
      transitions = [];
      pause = new UpstreamPause({ defaultMs: DEFAULT_MS, longestMs: LONGEST_MS, now: () => now, onTransition });
      const out: { pass: PausePass; at: number; isTrial: boolean }[] = [];
      for (const { waitMs, act, retryAfter, which } of steps) {
        now += waitMs;
        const wasPausedFor = pause.remainingMs;
        expect(wasPausedFor).toBeLessThanOrEqual(LONGEST_MS);
        if (act === 'admit') {
          const pass = pause.admit();
          if (pass === 'paused') continue;
          expect(wasPausedFor).toBe(0);
          const isTrial = transitions.at(-1)?.state === 'begun';
          if (isTrial) expect(out.filter((other) => other.isTrial && now - other.at < 60_000)).toEqual([]);
          out.push({ pass, at: now, isTrial });
          continue;
        }
        const [ended] = out.splice(which % Math.max(1, out.length), 1);
        if (act === 'limited') ended?.pass.limited(retryAfter);
        else ended?.pass[act]();
      }
    }),
  );
});
