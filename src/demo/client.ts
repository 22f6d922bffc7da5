import { setTimeout as delay } from 'node:timers/promises';
import type { ClientAnswer } from './check-answer.ts';
import { type ClientCall, headersOf, type Spelling, targetOf } from './client-call.ts';

/** An answer with what is shown of it. */
export interface HeardAnswer extends ClientAnswer {
  readonly client: string;
  readonly url: string;
  readonly tookMs: number;
  /** Empty when there was none. */
  readonly cacheStatus: string;
}

/** What a client of the demo is made from. */
export interface ClientOptions {
  readonly name: string;
  readonly spelling: Spelling;
  /** `http://host:port` of the proxy. */
  readonly proxyUrl: string;
  /** Ends the client: whatever it waits for then rejects. */
  readonly signal: AbortSignal;
  /** Told of every answer; says whether it was right. */
  readonly heard: (answer: HeardAnswer) => boolean;
}

/** One program that uses the API, with its own way of writing. */
export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Asks the proxy and waits for the whole answer: undefined when it was wrong, for nobody can go on from there. Rejects
   * only at the client's end; that no answer came is an answer too, with status 0.
   */
  async ask(call: ClientCall): Promise<HeardAnswer | undefined> {
    const { name, spelling, proxyUrl, signal, heard } = this.#options;
    const url = proxyUrl + targetOf(call, spelling);
    const sentAt = Date.now();
    const startedAt = performance.now();
    const received = await fetchText(url, headersOf(call), signal);
    signal.throwIfAborted();
    const tookMs = performance.now() - startedAt;
    const answer = { client: name, call, url, sentAt, receivedAt: Date.now(), tookMs, ...received };
    return heard(answer) ? answer : undefined;
  }

  /** Does nothing for about that long, ms; rejects at the client's end. */
  async pause(aboutMs: number): Promise<void> {
    await delay(aboutMs * (0.75 + Math.random() / 2), undefined, { signal: this.#options.signal });
  }
}

async function fetchText(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Pick<HeardAnswer, 'status' | 'text' | 'cacheStatus'>> {
  try {
    const response = await fetch(url, { headers, signal });
    const text = await response.text();
    return { status: response.status, text, cacheStatus: response.headers.get('cache-status') ?? '' };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { status: 0, text: String(cause), cacheStatus: '' };
  }
}
