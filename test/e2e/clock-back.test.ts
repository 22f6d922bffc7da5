import { afterEach, describe, expect, it } from 'vitest';
import { Fleet, someChildren } from '../support/fleet.ts';
import { children, type JsonAnswer } from '../support/json-upstream.ts';

const START = 1_800_000_000_000;
const BACK_MS = 20_000;

let fleet: Fleet | undefined;
let answer: JsonAnswer;
let now: number;

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
  fleet = undefined;
});

/** The clock of both instances, as that of Redis is. */
async function start(): Promise<Fleet> {
  now = START;
  answer = children('a', 'b');
  fleet = await Fleet.start(() => answer, { instances: 2, now: () => now });
  await fleet.learnHeads();
  return fleet;
}

const textOf = async (proxy: { reply: (target: string) => Promise<{ text: string }> }, target: string) =>
  (await proxy.reply(target)).text;

describe('after the clock was set back, an answer from Redis that is dated ahead', () => {
  it.each([
    ['more complete', children('a', 'b', 'c')],
    ['less complete', children('a')],
  ])('is neither served nor compared with a %s answer, and is overwritten', async (_, next) => {
    const { proxies } = await start();
    const [one, other] = proxies as [(typeof proxies)[number], (typeof proxies)[number]];
    const target = someChildren();
    await one.reply(target);
    await one.untilRedisHasAll();
    now -= BACK_MS;
    answer = next;
    expect(await textOf(other, target)).toBe(JSON.stringify(next.body));
    await other.untilRedisHasAll();
    answer = children('x');
    expect(await textOf(one, target)).toBe(JSON.stringify(next.body));
    now += BACK_MS;
    expect(await textOf(one, target)).toBe(JSON.stringify(next.body));
  });
});
