import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ProxyProcess } from '../support/proxy-process.ts';

const WORKERS = 20;
const SERVICE_MS = 50;
const PER_SECOND = 400;
/** As shipped. */
const MAX_CONCURRENCY = 64;
/** `breaker.minimumThroughput`, as shipped: the slots of so many that time out are used again before the breaker opens. */
const COUNTED_BEFORE_OPEN = 20;
const TICK_MS = 25;

/** An indexer of few workers whose queries go on when their client has left, as a database's do. */
class HangingIndexer {
  readonly server = createServer((_, response) => {
    this.#waiting.push(() => response.setHeader('Content-Type', 'application/json').end('{"traces":[]}'));
    this.mostInHand = Math.max(this.mostInHand, this.#waiting.length + this.#busy);
    this.#work();
  });
  mostInHand = 0;
  #hangs = false;
  #busy = 0;
  readonly #waiting: (() => void)[] = [];
  #stuck: (() => void)[] = [];

  set hangs(hangs: boolean) {
    this.#hangs = hangs;
    if (hangs) return;
    for (const end of this.#stuck.splice(0)) end();
    this.#work();
  }

  #work(): void {
    while (!this.#hangs && this.#busy < WORKERS && this.#waiting.length > 0) {
      const answer = this.#waiting.shift();
      this.#busy++;
      const end = () => {
        this.#busy--;
        answer?.();
        this.#work();
      };
      setTimeout(() => (this.#hangs ? this.#stuck.push(end) : end()), SERVICE_MS);
    }
  }
}

it('an indexer that hangs never has more requests than the limit and a trial a second, and gets requests again when it is back', async () => {
  const indexer = new HangingIndexer();
  await once(indexer.server.listen(0, '127.0.0.1'), 'listening');
  const { port } = indexer.server.address() as AddressInfo;
  await using proxy = await ProxyProcess.start({ NETWORK: 'test', UPSTREAM_URL: `http://127.0.0.1:${port}` });
  const agent = new Agent({ keepAlive: true });
  const statuses = new Map<number, number>();
  let asked = 0;
  const load = setInterval(() => {
    for (let n = 0; n < (PER_SECOND * TICK_MS) / 1000; n++) {
      const hash = String(asked++).padStart(64, '0');
      get(`${proxy.url}/api/v3/pendingTraces?ext_msg_hash=${hash}`, { agent }, (response) => {
        response.resume();
        const { statusCode = 0 } = response;
        statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      }).on('error', () => statuses.set(0, (statuses.get(0) ?? 0) + 1));
    }
  }, TICK_MS);
  onTestFinished(() => {
    clearInterval(load);
    agent.destroy();
    indexer.server.closeAllConnections();
    indexer.server.close();
  });
  const answered = () => statuses.get(200) ?? 0;

  await expect.poll(answered, { timeout: 60_000 }).toBeGreaterThan(5 * PER_SECOND);
  indexer.hangs = true;
  indexer.mostInHand = 0;
  // That is when it has forgotten the good answers, after more than one timeout.
  await proxy.untilLogged('circuit breaker opened');
  expect(statuses.get(504)).toBeGreaterThan(0);
  expect(indexer.mostInHand).toBeLessThanOrEqual(MAX_CONCURRENCY + COUNTED_BEFORE_OPEN);

  indexer.hangs = false;
  const before = answered();
  await expect.poll(answered, { timeout: 60_000 }).toBeGreaterThan(before + 5 * PER_SECOND);
  expect(indexer.mostInHand).toBeLessThanOrEqual(MAX_CONCURRENCY + COUNTED_BEFORE_OPEN);
  expect([...statuses.keys()].sort()).toEqual([200, 503, 504]);
});
