import { ask } from '../support/http-client.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import type { Scene } from './situations.ts';

const EVERY_MS = 50;
const CRAWLER_EVERY_MS = 40;

/** Requests of a hundred clients, at the instances of a scene in turns, and of its crawler. */
export class Traffic {
  /** By instance, since the map was cleared. */
  readonly counts = new Map<ProxyProcess, { answered: number; failed: number }>();
  readonly #scene: Scene;
  readonly #timers: readonly NodeJS.Timeout[];
  #sent = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#timers = [
      setInterval(() => this.#send(`10.0.${this.#sent % 100}.1`), EVERY_MS),
      setInterval(() => scene.crawler && this.#send(scene.crawler), CRAWLER_EVERY_MS),
    ];
  }

  /** For each instance, how many of its requests failed: no response, or a 5xx. */
  get failed(): string {
    return [...this.counts.values()].map(({ answered, failed }) => `${failed} of ${answered + failed}`).join(', ');
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #send(client: string): void {
    const { instances, indexers } = this.#scene;
    const sent = this.#sent++;
    // By turns of three requests: each instance gets each of the targets.
    const instance = instances[Math.floor(sent / 3) % instances.length];
    if (instance === undefined) return;
    const hash = Buffer.from(`${sent}`.padEnd(32, '.')).toString('base64url');
    const targets = [
      `masterchainBlockShards?seqno=${(indexers[0]?.chain.headSeqno ?? 0) - 5 - (sent % 40)}`,
      `adjacentTransactions?hash=${hash}`,
      `pendingTraces?ext_msg_hash=${hash}`,
    ];
    const asked = ask(instance.url, `/api/v3/${targets[sent % 3]}`, { headers: { 'X-Forwarded-For': client } });
    const count = (isAnswered: boolean) => {
      const counts = this.counts.get(instance) ?? { answered: 0, failed: 0 };
      this.counts.set(instance, counts);
      counts[isAnswered ? 'answered' : 'failed']++;
    };
    asked.then(({ status }) => count(status < 500)).catch(() => count(false));
  }
}
