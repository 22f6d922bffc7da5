import { request } from 'undici';
import { UnavailableError } from './command.ts';

interface RequestOptions {
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What the admin port answered. */
export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

export interface AdminClientOptions {
  /** `http://host:port` */
  readonly url: string;
  /** The value of `ADMIN_TOKEN`, where there is one. */
  readonly token: string | undefined;
}

const TIMEOUT_MS = 10_000;

/**
 * Asks the admin port of a running toncache. Rejects with an {@link UnavailableError} if nothing answers or access is
 * refused. Statuses 200, 422 and 503 are answers.
 */
export class AdminClient {
  readonly url: string;
  readonly #token: string | undefined;

  constructor({ url, token }: AdminClientOptions) {
    this.url = url;
    this.#token = token;
  }

  get(path: string): Promise<AdminAnswer> {
    return this.#ask(path, {});
  }

  post(path: string, body: object): Promise<AdminAnswer> {
    const headers = { 'Content-Type': 'application/json' };
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async #ask(path: string, { headers, ...options }: RequestOptions): Promise<AdminAnswer> {
    const authorization = this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` };
    // Not by `fetch`, which refuses some ports.
    const asked = request(this.url + path, {
      ...options,
      headers: { ...headers, ...authorization },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const read = asked.then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text() }));
    const { status, text } = await this.#reach(read);
    if (status === 200 || status === 422 || status === 503) return { status, text };
    const help = status === 401 ? '; set ADMIN_TOKEN to the token of that instance' : '';
    throw new UnavailableError(`${this.url} refuses (${status}): ${errorIn(text)}${help}`);
  }

  async #reach<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new UnavailableError(
        `no toncache answers at ${this.url} (${cause instanceof Error ? cause.message : cause}): start it, or name its admin port by --admin`,
      );
    }
  }
}

function errorIn(text: string): string {
  try {
    const { error }: { error?: unknown } = JSON.parse(text);
    if (typeof error === 'string') return error;
  } catch {
    // Something other than toncache listens there.
  }
  return 'this is not the admin port of a toncache';
}
