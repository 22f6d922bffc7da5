import { describe, expect, test } from 'vitest';
import type { Guard } from '../../../src/admission/guard.ts';
import { Pause } from '../../../src/admission/pause.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';

const [DURATION_MS, LATENCY_MS] = [120_000, 40];
const SEEDS = ['a', 'b', 'c'];

/** Random requests to a provider that answers some of them with 429, on a simulated clock. */
class Load {
  now = 0;
  readonly sentTo: string[] = [];
  readonly refused: string[] = [];
  readonly #random: SeededRandom;
  readonly #isLimited: (key: string, now: number) => boolean;
  /** The future events, the latest first. */
  readonly #events: { readonly at: number; readonly happen: () => void }[] = [];
  readonly #guard: Guard;

  constructor(seed: string, isLimited: (key: string, now: number) => boolean) {
    this.#random = new SeededRandom(seed);
    this.#isLimited = isLimited;
    const [onTransition, onKeyPaused] = [() => {}, () => {}];
    const now = () => this.now;
    this.#guard = new Pause({ now, onTransition, onKeyPaused, defaultMs: 1000, longestMs: 60_000 }).guard(true);
  }

  /** Adds requests for keys at random times, at this mean rate. */
  ask(perSecond: number, nextKey: (random: () => number) => string): this {
    const random = () => this.#random.next();
    const arrive = () => {
      this.#send(nextKey(random));
      this.#after((-Math.log(1 - random()) * 1000) / perSecond, arrive);
    };
    this.#after(0, arrive);
    return this;
  }

  run(): this {
    for (let next = this.#events.pop(); next !== undefined && next.at < DURATION_MS; next = this.#events.pop()) {
      this.now = next.at;
      next.happen();
    }
    return this;
  }

  #send(key: string): void {
    const pass = this.#guard.refusal(key) === undefined ? this.#guard.admit(key) : undefined;
    if (pass === undefined) {
      this.refused.push(key);
      return;
    }
    this.sentTo.push(key);
    const wayMs = (LATENCY_MS / 2) * (0.5 + this.#random.next());
    this.#after(wayMs, () => {
      const outcome = this.#isLimited(key, this.now) ? 'rate-limited' : 'answered';
      this.#after(wayMs, () => pass(outcome));
    });
  }

  #after(ms: number, happen: () => void): void {
    const at = this.now + ms;
    const place = this.#events.findLastIndex((each) => each.at > at);
    this.#events.splice(place + 1, 0, { at, happen });
  }
}

/** A provider that allows 10 requests a second, with bursts of 10. */
function tenPerSecond(): (key: string, now: number) => boolean {
  let [tokens, at] = [10, 0];
  return (_, now) => {
    tokens = Math.min(10, tokens + (now - at) / 100);
    at = now;
    if (tokens < 1) return true;
    tokens--;
    return false;
  };
}

let keys = 0;
const newKey = () => `key ${keys++}`;
const oneOf = (count: number) => (random: () => number) => `hot ${Math.floor(random() * count)}`;
const BAD = 'bad';

describe.each(SEEDS)('with seed %s', (seed) => {
  test.each([
    ['many other keys', 10, newKey],
    ['a few other keys', 10, oneOf(5)],
    ['another key every 3 s', 0.33, newKey],
  ])('a key that always gets 429, next to %s: no request for another key is refused', (_, perSecond, others) => {
    const load = new Load(seed, (key) => key === BAD)
      .ask(2.5, () => BAD)
      .ask(perSecond, others)
      .run();
    expect(load.refused.filter((key) => key !== BAD)).toEqual([]);
    const sent = load.sentTo.filter((key) => key === BAD).length;
    expect(sent).toBeGreaterThan(60);
    expect(sent).toBeLessThanOrEqual(121);
  });

  test.each([
    ['a new key each time', 30, newKey],
    ['a new key each time', 100, newKey],
    ['one of 50 keys', 100, oneOf(50)],
    ['one of 3 keys', 30, oneOf(3)],
  ])(
    'a provider that allows 10 requests a second gets 9 to 14.5 (%s, %i requests a second)',
    (_, perSecond, nextKey) => {
      const load = new Load(seed, tenPerSecond()).ask(perSecond, nextKey).run();
      const sentPerSecond = load.sentTo.length / (DURATION_MS / 1000);
      expect(sentPerSecond).toBeGreaterThan(9);
      expect(sentPerSecond).toBeLessThan(14.5);
    },
  );

  test('a provider that answers everything with 429 gets fewer than 25 requests in 2 minutes', () => {
    const load = new Load(seed, () => true).ask(100, newKey).run();
    expect(load.sentTo.length).toBeLessThan(25);
  });
});
