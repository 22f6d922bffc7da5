import { Agent, get } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import type { Chain } from '../../../src/simulator/chain.ts';
import { SeededRandom } from '../../../src/simulator/seeded-random.ts';
import { nextTarget } from './questions.ts';

export interface LoadOptions {
  /** Requests go to each in turn. */
  readonly urls: readonly string[];
  readonly chain: Chain;
  readonly perSecond: number;
  readonly seconds: number;
}

/** Latencies in milliseconds from the moment at which a request was due. */
export interface Heard {
  readonly latenciesMs: readonly number[];
  /** Answers that were neither 200 nor 404. */
  readonly failed: number;
}

const TICK_MS = 2;

/** Sends requests when they are due, however many are unanswered; resolves when all are answered. */
export async function offerLoad({ urls, chain, perSecond, seconds }: LoadOptions): Promise<Heard> {
  using agent = new KeptConnections();
  const random = new SeededRandom('fleet');
  const startedAt = performance.now();
  const answers: Promise<number>[] = [];
  const latenciesMs: number[] = [];
  for (let dueMs = 0; dueMs < seconds * 1000; ) {
    while (performance.now() - startedAt < dueMs) await after(TICK_MS);
    chain.advanceTo(Date.now());
    const url = urls[answers.length % urls.length] ?? '';
    const dueAt = startedAt + dueMs;
    const answer = statusOf(url + nextTarget(chain, random), agent).finally(() => {
      latenciesMs.push(performance.now() - dueAt);
    });
    answers.push(answer);
    dueMs -= (Math.log(1 - random.next()) * 1000) / perSecond;
  }
  const statuses = await Promise.all(answers);
  return { latenciesMs, failed: statuses.filter((status) => status !== 200 && status !== 404).length };
}

class KeptConnections extends Agent implements Disposable {
  constructor() {
    super({ keepAlive: true });
  }

  [Symbol.dispose](): void {
    this.destroy();
  }
}

/** 0 where there is no answer. */
function statusOf(url: string, agent: Agent): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  get(url, { agent }, (response) => {
    response.resume().once('close', () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
  }).once('error', () => resolve(0));
  return promise;
}
