import { Agent, request } from 'undici';
import { adminUrlOf } from '../config/http-settings.ts';
import type { Settings } from '../config/schema.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { reasonOf } from '../reason-of.ts';
import { UnavailableError, UsageError } from './command.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

/** The parts of a request in addition to its path. */
interface AdminRequest {
  /** Sent as JSON by a POST; without it a GET is sent. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 10_000;

/** With an error of toncache. 400, 422: refused. 501: the request has no cached form. 503: purged in this instance only. */
const ANSWERS: readonly number[] = [400, 422, 501, 503];

/** Sends requests to the admin port of a running toncache, with `ADMIN_TOKEN` if it is set. */
export class AdminClient {
  /** `http://host:port` */
  readonly url: string;
  /** Node's own dispatcher might use HTTP_PROXY (NODE_USE_ENV_PROXY=1). */
  readonly #dispatcher = new Agent();
  readonly #token: string | undefined;
  readonly #option: string;

  /**
   * `given`: the address in this option, instead of the port in the settings. Throws a {@link UsageError} for an invalid
   * address.
   */
  constructor(given: string | undefined, { http }: Settings, option = '--admin') {
    this.#option = option;
    this.url = given === undefined ? adminUrlOf(http) : originOf(given, option);
    this.#token = http.adminToken;
  }

  /**
   * Resolves with a 200, or with one of {@link ANSWERS}. Rejects with an {@link UnavailableError} for any other status,
   * without an answer, or if another program answers.
   */
  async ask(path: string, asked: AdminRequest = {}): Promise<AdminAnswer> {
    const { status, text } = await this.#send(path, asked).catch((error: unknown) => {
      const reason = reasonOf(error) ?? String(error);
      throw new UnavailableError(
        `no toncache answers at ${this.url} (${reason}): start it, or name its admin port by ${this.#option}`,
      );
    });
    const error = errorIn(text);
    if (status === 200 || (ANSWERS.includes(status) && error !== undefined)) return { status, text };
    const help = status === 401 ? '; set ADMIN_TOKEN to the token of that instance' : '';
    throw new UnavailableError(`${this.url} refuses (${status}): ${error ?? NOT_TONCACHE}${help}`);
  }

  /** Like {@link ask}, for an answer that is a JSON object. Also rejects if another program sends something else. */
  async askJson<T>(path: string, asked?: AdminRequest): Promise<AdminAnswer & { readonly reply: T }> {
    const answer = await this.ask(path, asked);
    const reply = objectIn(answer.text);
    if (reply === undefined) throw new UnavailableError(`${this.url} answers ${answer.status}: ${NOT_TONCACHE}`);
    // The cast: instances of other versions may leave out members, which the callers allow for.
    return { ...answer, reply: reply as T };
  }

  async #send(path: string, { body, headers }: AdminRequest): Promise<AdminAnswer> {
    // Not `fetch`, which refuses some ports.
    const response = await request(this.url + path, {
      dispatcher: this.#dispatcher,
      headers: {
        ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
        ...headers,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.statusCode, text: await response.body.text() };
  }
}

function originOf(text: string, option: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '') {
    return url.origin;
  }
  throw new UsageError(`${option} is not valid; accepted: an address like http://127.0.0.1:9464`);
}

const NOT_TONCACHE = 'this is not the admin port of toncache';

function errorIn(text: string): string | undefined {
  const error = objectIn(text)?.['error'];
  return typeof error === 'string' ? error : undefined;
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}
