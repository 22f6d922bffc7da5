import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { ask } from '../support/http-client.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import type { Asks, Scene } from './scene.ts';

const EVERY_MS = 50;
const CRAWLER_EVERY_MS = 40;

/** From this status on an indexer's gateway sends it; passed on, it is no failure of toncache. */
const OF_GATEWAYS = 502;

/** A client's request, and what it got: `limited`: above its own limit; `passed-on`: a 502 or above of the indexer itself. */
export interface ClientRequest {
  /** When it was answered, by `performance.now()`. */
  readonly at: number;
  readonly isPassed: boolean;
  readonly got: 'answer' | 'failure' | 'limited' | 'passed-on';
}

/** Requests of a hundred clients, at the instances of a scene in turns, and of its crawler. */
export class Traffic {
  /** Since it was cleared. */
  readonly requests: (ClientRequest & { readonly instance: ProxyProcess })[] = [];
  readonly #scene: Scene;
  readonly #timers: readonly NodeJS.Timeout[];
  #sent = 0;

  constructor(
    scene: Scene,
    { asks = [], isQuiet = false }: { readonly asks?: readonly Asks[]; readonly isQuiet?: boolean },
  ) {
    this.#scene = scene;
    const more = asks.map((each) => {
      let place = 0;
      const send = () => {
        const { client = `10.1.${place % 100}.1`, target, isStream = false } = each;
        this.#send(target(place++), client, isStream);
      };
      if (each.everyMs > 1000) send();
      return setInterval(send, each.everyMs);
    });
    const usual = [
      setInterval(() => this.#sendUsual(`10.0.${this.#sent % 100}.1`), EVERY_MS),
      setInterval(() => scene.crawler && this.#sendUsual(scene.crawler), CRAWLER_EVERY_MS),
    ];
    if (isQuiet) for (const timer of usual) clearInterval(timer);
    this.#timers = [...more, ...usual];
  }

  /** For each instance, how many of its requests failed: no response, or a 5xx. */
  get failed(): string {
    const counts = new Map<ProxyProcess, [failed: number, all: number]>();
    for (const { instance, got } of this.requests) {
      const [failed, all] = counts.get(instance) ?? [0, 0];
      counts.set(instance, [failed + Number(got === 'failure' || got === 'passed-on'), all + 1]);
    }
    return [...counts.values()].map(([failed, all]) => `${failed} of ${all}`).join(', ');
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #sendUsual(client: string): void {
    const { indexers } = this.#scene;
    const hash = Buffer.from(`${this.#sent}`.padEnd(32, '.')).toString('base64url');
    const targets = [
      `masterchainBlockShards?seqno=${(indexers[0]?.chain.headSeqno ?? 0) - 5 - (this.#sent % 40)}`,
      `adjacentTransactions?hash=${hash}`,
      `pendingTraces?ext_msg_hash=${hash}`,
    ];
    this.#send(`/api/v3/${targets[this.#sent % 3]}`, client, false);
  }

  #send(target: string, client: string, isStream: boolean): void {
    const { instances } = this.#scene;
    const sent = this.#sent++;
    // By turns of three requests: each instance gets each of the targets.
    const instance = instances[Math.floor(sent / 3) % instances.length];
    if (instance === undefined) return;
    const isPassed = isStream || target.includes('/nft/');
    const headers = { 'X-Forwarded-For': client };
    const count = (got: ClientRequest['got']) =>
      void this.requests.push({ at: performance.now(), isPassed, got, instance });
    const asked = isStream ? headOf(instance.url, target, headers) : ask(instance.url, target, { headers });
    asked.then((answer) => count(gotIn(answer, isPassed))).catch(() => count('failure'));
  }
}

type Head = Pick<IncomingMessage, 'headers'> & { readonly status: number };

function gotIn({ status, headers }: Head, isPassed: boolean): ClientRequest['got'] {
  const cacheStatus = String(headers['cache-status']);
  if (status === 429) return cacheStatus.includes('too-many-requests') ? 'limited' : 'failure';
  if (status < 500) return status === 402 ? 'failure' : 'answer';
  return isPassed && status >= OF_GATEWAYS && !cacheStatus.includes('detail=') ? 'passed-on' : 'failure';
}

/** The head of an answer that does not end. */
async function headOf(origin: string, target: string, headers: Readonly<Record<string, string>>): Promise<Head> {
  const sending = request(`${origin}${target}`, { headers, agent: false }).end();
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  answer.on('error', () => {}).destroy();
  return { status: answer.statusCode ?? 0, headers: answer.headers };
}
