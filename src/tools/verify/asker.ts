import { Agent, request } from 'undici';
import { shownUrl } from '../../config/shown-url.ts';
import { pathAt } from '../../indexer/path-at.ts';
import { connectorBy } from '../../names/connector.ts';
import { systemNames } from '../../names/names.ts';
import { reasonOf } from '../../reason-of.ts';
import type { MonotonicMs } from '../../time-units.ts';
import type { UpstreamTraffic } from './upstream-traffic.ts';

/** Longer than any request may take: a head poll can take 40 s. */
const TIMEOUT_MS = 60_000;

const MOST_ATTEMPTS = 4;
const LONGEST_PAUSE_MS = 30_000;

/** One answer, read to its end. */
export interface Answered {
  /** The request target without `/api/v3/`. */
  readonly target: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The parsed body; `undefined` if it is not JSON. */
  readonly body: unknown;
  /** The number of requests to the indexer for answers during this one. */
  readonly upstreamRequests: number;
}

/** The answers to requests that were sent at the same time. */
export interface AnsweredAtOnce {
  readonly answers: readonly Answered[];
  /** The instants of the requests to the indexer for answers during them. */
  readonly upstreamAt: readonly MonotonicMs[];
}

/** There was no answer, or none in an indexer's form. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** The server, and the way to send requests to it. */
export interface AskerOptions {
  /** The server's address, without `/api/v3`. */
  readonly baseUrl: string;
  /** Sent with each request, in the flat form. */
  readonly headers: readonly string[];
  readonly traffic: UpstreamTraffic;
}

/** Sends requests to one server, toncache or the indexer itself, never faster than the indexer allows. */
export class Asker {
  readonly #options: AskerOptions;
  readonly #dispatcher = new Agent({ connect: connectorBy(systemNames(), TIMEOUT_MS) });

  constructor(options: AskerOptions) {
    this.#options = options;
  }

  /**
   * Sends a request when the rate allows it, up to four times while it gets 429 or 503. Throws an {@link
   * UnreachableError}.
   */
  async ask(target: string): Promise<Answered> {
    const { traffic } = this.#options;
    for (let attempt = 1; ; attempt++) {
      await traffic.slot();
      const answer = await this.#send(target);
      const isRefused = answer.status === 429 || answer.status === 503;
      if (!isRefused || attempt === MOST_ATTEMPTS) return answer;
      const seconds = Number(answer.headers.get('retry-after') ?? 1);
      traffic.pause(Number.isFinite(seconds) ? Math.min(seconds * 1000, LONGEST_PAUSE_MS) : 1000);
    }
  }

  /** Requests several targets at the same time. */
  async askAtOnce(targets: readonly string[]): Promise<AnsweredAtOnce> {
    const { traffic } = this.#options;
    await traffic.slot();
    const before = traffic.answersAt.length;
    const answers = await Promise.all(targets.map((target) => this.#send(target)));
    return { answers, upstreamAt: traffic.answersAt.slice(before) };
  }

  async #send(target: string): Promise<Answered> {
    const { baseUrl, headers: sent, traffic } = this.#options;
    const before = traffic.answersAt.length;
    try {
      // Not `fetch`, which refuses some ports.
      const { origin, pathname } = new URL(baseUrl);
      const response = await request(origin + pathAt(pathname, `/api/v3/${target}`), {
        // Encodings differ in length and tag, and the choice depends on earlier requests.
        headers: ['accept-encoding', 'identity', ...sent],
        signal: AbortSignal.timeout(TIMEOUT_MS),
        dispatcher: this.#dispatcher,
      });
      const bytes = Buffer.from(await response.body.arrayBuffer());
      const headers = new Headers(response.headers as Record<string, string>);
      const upstreamRequests = traffic.answersAt.length - before;
      return { target, status: response.statusCode, headers, bytes, body: parseJson(bytes), upstreamRequests };
    } catch (cause) {
      throw new UnreachableError(`cannot reach ${shownUrl(baseUrl)}: ${reasonOf(cause) ?? cause}`, { cause });
    }
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
