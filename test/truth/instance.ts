import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Launched, launch } from '../support/launch.ts';
import { metricAt } from '../support/metric.ts';
import type { Written } from './call.ts';

/** The answer, or the error of a failed request: status 0. */
export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const GUARD_MS = 30_000;

/** One process of toncache, `toncache start` with its defaults. */
export class Instance implements AsyncDisposable {
  readonly #process: Launched;
  readonly #url: URL;
  readonly #adminUrl: URL;
  readonly #agent = new Agent({ keepAlive: true });
  #isKilled = false;

  private constructor(process: Launched, publicUrl: string, adminUrl: string) {
    this.#process = process;
    this.#url = new URL(publicUrl);
    this.#adminUrl = new URL(adminUrl);
  }

  /** @param root The folder that contains `src`, as a URL that ends in a slash. Resolves when both ports listen. */
  static async start(root: URL, environment: Readonly<Record<string, string>>): Promise<Instance> {
    const process = launch(new URL('src/cli/main.ts', root), {
      args: ['start'],
      environment: { PORT: '0', ADMIN_PORT: '0', ...environment },
    });
    const [publicUrl, adminUrl] = await process.next((line) => {
      if (typeof line !== 'object' || line === null || !('publicUrl' in line && 'adminUrl' in line)) return undefined;
      return [String(line.publicUrl), String(line.adminUrl)] as const;
    });
    return new Instance(process, publicUrl, adminUrl);
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** Sends a request as a client does, path and query byte for byte. Never rejects. */
  ask({ target, headers, body }: Written): Promise<Received> {
    return this.#exchange(this.#url, body === undefined ? 'GET' : 'POST', target, headers, body);
  }

  /**
   * Purges as an operator does: in all instances; in this one only if Redis did not take it; or not at all if no answer
   * came.
   */
  async purge(selector: Readonly<Record<string, string>>): Promise<'everywhere' | 'here' | 'nowhere'> {
    const headers = { 'Content-Type': 'application/json' };
    const { status } = await this.#exchange(this.#adminUrl, 'POST', '/purge', headers, JSON.stringify(selector));
    return status === 200 ? 'everywhere' : status === 503 ? 'here' : 'nowhere';
  }

  /** How many answers older than an earlier one it has served, by its own metric. */
  olderAnswers(): Promise<number> {
    return metricAt(this.#adminUrl.origin, 'toncache_older_answers_served_total');
  }

  /** The smallest possible request. */
  async probe(): Promise<void> {
    await this.#exchange(this.#adminUrl, 'GET', '/healthz', {});
  }

  /** Its wall clock was set, see `settableClock`. */
  stepClock(): void {
    this.#process.signal('SIGUSR2');
  }

  kill(): void {
    this.#isKilled = true;
    this.#process.signal('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#process[Symbol.asyncDispose]();
  }

  async #exchange(
    { hostname, port }: URL,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Received> {
    const signal = AbortSignal.timeout(GUARD_MS);
    const sending = request({ agent: this.#agent, hostname, port, method, path, headers, signal });
    const answered = new Promise<Received>((resolve, reject) => {
      sending.on('error', reject);
      sending.on('response', (response) => {
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: bytes.toString() }),
          reject,
        );
      });
    });
    sending.end(body);
    return answered.catch((error: Error) => ({ status: 0, headers: {}, text: error.message }));
  }
}
