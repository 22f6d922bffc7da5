/** A login of HTTP's Basic scheme (RFC 7617), decoded. */
interface Login {
  readonly user: string;
  readonly password: string;
}

/**
 * What identifies us at one indexer: our API key, the login in its address, or both. Both are "our key": requests for
 * operations and head polls always have them, passed-through requests and streams only with `PASSTHROUGH_SHARED_KEY`.
 */
export interface OurCredentials {
  /** The headers that have them, in the flat form. */
  readonly headers: readonly string[];
  readonly hasKey: boolean;
  /** If true, this indexer never gets the `Authorization` of a client. */
  readonly hasLogin: boolean;
  /** Each secret in all its forms, the longest first: none may be shown. */
  readonly secrets: readonly string[];
}

/** Shorter secrets are parts of ordinary words. */
const SHORTEST_SECRET = 3;

/** What the settings have for an indexer; `undefined` without any. `url` must be valid ({@link loginIn}). */
export function credentialsFor(url: string, apiKey: string | undefined): OurCredentials | undefined {
  const login = loginIn(url);
  if (login === undefined && apiKey === undefined) return undefined;
  const headers = apiKey === undefined ? [] : ['x-api-key', apiKey];
  const secrets = apiKey === undefined ? [] : [apiKey];
  if (login !== undefined) {
    const pair = Buffer.from(`${login.user}:${login.password}`);
    const { username, password } = new URL(url);
    headers.push('authorization', `Basic ${pair.toString('base64')}`);
    secrets.push(pair.toString('base64').replace(/=+$/, ''), pair.toString('base64url'), username, password);
    secrets.push(...[login.user, login.password].flatMap((text) => [text, encodeURIComponent(text), inJson(text)]));
  }
  return {
    headers,
    hasKey: apiKey !== undefined,
    hasLogin: login !== undefined,
    secrets: secrets.filter(({ length }) => length >= SHORTEST_SECRET).toSorted((a, b) => b.length - a.length),
  };
}

/**
 * The login in the address of an indexer, `undefined` without one. Throws for one that cannot be sent: it does not
 * decode, or has a colon in its user or a control character.
 */
export function loginIn(url: string): Login | undefined {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return undefined;
  const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  if (login.user.includes(':') || /\p{Cc}/u.test(login.user + login.password)) throw new Error('cannot be sent');
  return login;
}

/** The address of an indexer without its login, which is the place that requests go to. */
export function placeOf(url: string): string {
  return url.replace(/^(https?:\/\/)[^/]*@/i, '$1');
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
