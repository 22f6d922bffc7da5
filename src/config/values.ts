import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { loginIn, placeOf } from '../indexer/credentials.ts';
import { parseRedisUrl } from '../redis/redis-url.ts';

const MS_BY_UNIT = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const BYTES_BY_UNIT = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** The schema's data about a setting in addition to its type, for `docs/reference/settings.md` and the loader. */
export interface SettingMeta {
  readonly description: string;
  /** The environment variable that sets it; settings without one are policy and can only be set in the file. */
  readonly env?: string;
  /** Never read from the file, because the value is or may contain a secret. */
  readonly envOnly?: boolean;
  /** True if a part of the value may be a secret, so that the value may also come from a file of its own. */
  readonly mayHoldSecret?: boolean;
}

/** A setting of a type, its description, and its variable if it has one. */
export function setting<T extends z.ZodType>(
  type: T,
  description: string,
  rest: Omit<SettingMeta, 'description'> = {},
): T {
  return type.meta({ description, ...rest });
}

export function group<T extends z.ZodRawShape>(settings: T): z.ZodPrefault<z.ZodObject<T, z.core.$strict>> {
  // zod expects a whole object here, and reads `{}` like a file: the members have defaults of their own.
  return z.strictObject(settings).prefault({} as never);
}

function quantity<U extends string>(
  units: Readonly<Record<U, number>>,
  example: string,
  /** The units that a number without one probably has, the smallest first. */
  meant: readonly NoInfer<U>[],
  minimum: string,
  maximum: string,
) {
  const names = Object.keys(units) as U[];
  const pattern = new RegExp(`^([0-9]+(?:\\.[0-9]+)?) ?(${names.join('|')})$`);
  const read = (text: string): number | undefined => {
    const [, amount, unit] = pattern.exec(text) ?? [];
    return amount === undefined ? undefined : Math.round(Number(amount) * units[unit as U]);
  };
  const [least = 0, most = Number.POSITIVE_INFINITY] = [read(minimum), read(maximum)];
  const isAccepted = (value: number | undefined) => value !== undefined && value >= least && value <= most;
  const problem = (text: string): string => {
    const accepted = `must be ${minimum} to ${maximum}, written like "${example}" (units: ${names.join(', ')})`;
    if (!/^[0-9]+(?:\.[0-9]+)?$/.test(text)) return accepted;
    const suggested = meant
      .map((unit) => Number(text) * units[unit])
      .filter((value) => Number.isInteger(value) && isAccepted(value))
      .map((value) => inLargestUnit(units, value));
    return `has no unit; ${suggested.length > 0 ? `write ${suggested.join(' or ')}` : accepted}`;
  };
  // A number in the file is the same mistake as digits in a variable.
  return z
    .string({ error: ({ input }) => (typeof input === 'number' ? problem(String(input)) : undefined) })
    .transform((text, ctx): number => {
      const value = read(text.trim());
      if (value !== undefined && isAccepted(value)) return value;
      ctx.addIssue(problem(text.trim()));
      return z.NEVER;
    });
}

/** A quantity in the largest unit in which it is a whole number, as people write it. */
function inLargestUnit(units: Readonly<Record<string, number>>, value: number): string {
  const [unit, amount] = Object.entries(units).findLast(([, each]) => value % each === 0) ?? ['', 1];
  return `${value / amount}${unit}`;
}

/** A duration as people write it, such as `400ms`; parsed to milliseconds. The bounds are inclusive. */
export function duration(minimum: string, maximum: string) {
  return quantity(MS_BY_UNIT, '400ms', ['ms', 's'], minimum, maximum);
}

/** A size as people write it, such as `256MiB`; parsed to bytes. The bounds are inclusive. */
export function size(minimum: string, maximum: string) {
  return quantity(BYTES_BY_UNIT, '256MiB', ['B', 'MiB'], minimum, maximum);
}

/** A whole number, as a JSON number in the file or as digits in the environment. */
export function integer(minimum: number, maximum: number) {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return numberOf(/^[0-9]+$/, message).pipe(z.int(message).min(minimum, message).max(maximum, message));
}

/**
 * A URL of one of two schemes, without query and fragment, and without userinfo unless `mayHaveLogin`: keys come from
 * separate variables.
 */
function plainUrl(
  schemes: readonly [string, string],
  example: string,
  { keyVariable, mayHaveLogin }: { readonly keyVariable: string; readonly mayHaveLogin: boolean },
  render: (url: URL) => string,
) {
  const parts = mayHaveLogin ? 'query and fragment' : 'userinfo, query and fragment';
  return z.string().transform((text, ctx): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !schemes.includes(url.protocol.slice(0, -1))) {
      ctx.addIssue(`must be a URL of ${schemes.join(' or ')}, like "${example}"`);
    } else if ((!mayHaveLogin && url.username + url.password !== '') || /[?#]/.test(text)) {
      // The text is tested: an empty query or fragment leaves only its mark, which `URL` does not show.
      ctx.addIssue(`must be without ${parts} (a key goes into ${keyVariable})`);
    } else if (url.hostname.includes(',')) {
      ctx.addIssue(`must be one URL, like "${example}"`);
    } else if (mayHaveLogin && !isLoginValid(url)) {
      ctx.addIssue(LOGIN_ERROR);
    } else {
      return render(url);
    }
    return z.NEVER;
  });
}

const LOGIN_ERROR =
  'must have its login in percent-encoding, like "https://user:p%40ssword@indexer": an @ is %40, a slash %2F, a comma %2C; the user is without a colon';

/** False for a login that cannot be sent, or whose second half is in the path, because a slash in it is not encoded. */
function isLoginValid({ href, pathname }: URL): boolean {
  try {
    loginIn(href);
    return !pathname.includes('@');
  } catch {
    return false;
  }
}

/**
 * The address of an indexer, perhaps with a login: with or without a trailing `/api/v3`, which is removed, but where the rest would end in
 * `/v3`: such an address is the place of API v3, and stays (`indexer/path-at.ts`). That of another API is refused.
 */
const upstreamUrl = plainUrl(
  ['http', 'https'],
  'http://indexer:8081',
  { keyVariable: 'UPSTREAM_API_KEY', mayHaveLogin: true },
  ({ username, password, protocol, host, pathname }) => {
    const login = username + password === '' ? '' : `${username}:${password}@`;
    return `${protocol}//${login}${host}${pathname.replace(/\/+$/, '').replace(/(?<!\/v3)\/api\/v3$/i, '')}`;
  },
).refine((url) => !/\/api\/v(?!3$)[0-9]+$|\/api\/v3\/api\/v3$/i.test(url), {
  error: 'must lead to API v3: give the URL with /api/v3 at its end, or without it',
});

/**
 * The beginning of paths, in lower case. Without a slash at its end `/api/v2` would also match `/api/v22`, and `/`
 * alone would match toncache's own paths.
 */
const pathPrefix = z
  .string()
  .regex(/^(?:\/(?!\.{1,2}\/)[A-Za-z0-9._~-]+)+\/$/, {
    error:
      'must be paths with a slash at both ends, and something between, separated by commas, like "/api/v3/, /api/v2/"',
  })
  .toLowerCase();

/** Values separated by commas, to a list of at least one. */
export function listOf(item: z.ZodType<string, string>) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.tuple([item], item));
}

const METHOD_NAMES =
  'must be off, or names of get-methods, separated by commas, like "get_wallet_data, get_jetton_data"';

/** Names of get-methods, separated by commas, to a list, which is empty for `off`. */
export const methodNames = z.union(
  [z.literal('off').transform((): readonly string[] => []), listOf(z.string().regex(/^[A-Za-z_]\w*$/))],
  METHOD_NAMES,
);

/** Addresses of indexers, separated by commas, to a list. */
export const upstreamUrls = listOf(upstreamUrl).refine((urls) => new Set(urls.map(placeOf)).size === urls.length, {
  error: 'must name each address once',
});

/** Beginnings of paths, separated by commas, to a list. */
export const pathPrefixes = listOf(pathPrefix);

/** The Streaming API's address. Without a path, it gets the path of the server that belongs to the indexer. */
export const streamUrl = plainUrl(
  ['ws', 'wss'],
  'ws://indexer:8085',
  { keyVariable: 'STREAM_API_KEY', mayHaveLogin: false },
  ({ origin, pathname, href }) => (pathname === '/' ? `${origin}/api/streaming/v2/ws` : href),
);

/** The address of Redis, unchanged. Never echoed: it may contain a password. */
export const redisUrl = z.string().superRefine((text, ctx) => {
  try {
    parseRedisUrl(text);
  } catch (error) {
    ctx.addIssue(error instanceof Error ? error.message : 'is no URL');
  }
});

/** A file of certificates in PEM, read immediately: the value is its text. */
export const certificateFile = z.string().transform((path, ctx): string => {
  try {
    const pem = readFileSync(path, 'utf8');
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
    for (const certificate of certificates) new X509Certificate(certificate);
    if (certificates.length > 0) return certificates.join('\n');
  } catch {
    // It cannot be read, or one of its certificates is invalid.
  }
  ctx.addIssue('must name a file that can be read and holds certificates in PEM');
  return z.NEVER;
});

/** A word that can be part of a cache key. */
export const word = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, {
  error: 'must be 1 to 32 characters of a-z, 0-9 and -, like "mainnet"',
});

/** A value that can be sent in a header, without spaces. */
export const headerValue = z.string().regex(/^[\x21-\x7e]+$/, { error: 'must be printable ASCII without spaces' });

/** One API key, not a list of several, which would be sent as one. */
export const apiKey = headerValue.refine((text) => !/[,;]/.test(text), {
  error: 'must be one key, without a comma or semicolon',
});

export const listenHost = z.union([z.ipv4(), z.ipv6(), z.hostname()], {
  error: 'must be an IP address or a host name',
});

/** Host names without ports, to a list in lower case; also names of containers, which may contain underscores. */
export const hostNames = listOf(
  z
    .string()
    .toLowerCase()
    .refine((name) => z.hostname().safeParse(name.replaceAll('_', '-')).success, {
      error: 'must be host names without ports, separated by commas',
    }),
);

/** True for a browser's `Origin` (RFC 6454 6.2), byte for byte: in lower case, without a path, a slash at its end or a usual port. */
function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._~:[\]-]+$/.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

/** A star for the first of at least three labels of a host: any label may stand there. */
const ANY_LABEL = /^([a-z0-9+.-]+:\/\/)\*(?=(?:\.[a-z0-9_-]+){2,}(?::[0-9]+)?$)/;

/** An origin, or all whose hosts differ in the first label alone. */
const origin = z.string().refine((text) => isOrigin(text.replace(ANY_LABEL, '$1a')), {
  error:
    'must be origins as browsers send them, separated by commas, like "https://app.example, https://*.example.org, capacitor://localhost": in lower case, without a path, a slash at the end or the usual port, a star for the first label alone, with two labels or more after it',
});

export const origins = listOf(origin);

/** IP addresses and networks, to a list. */
export const networks = listOf(
  z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
    error: 'must be IP addresses or networks, separated by commas, like "10.0.0.0/8, 192.168.1.7"',
  }),
);

/** On or off: a JSON boolean in the file, a word in the environment. */
export const flag = z.union([z.boolean(), z.stringbool()], { error: 'must be on or off (or true or false)' });

/** A flag as people write it. */
export const onOrOff = (isOn: boolean): string => (isOn ? 'on' : 'off');

const SHARE_ERROR = 'must be a number from 0 to 1';

/** A part of a whole, 0 to 1; in the environment in digits. */
export const share = numberOf(/^[0-9]*\.?[0-9]+$/, SHARE_ERROR).pipe(
  z.number(SHARE_ERROR).min(0, SHARE_ERROR).max(1, SHARE_ERROR),
);

/** A JSON number in the file, digits in the environment. */
function numberOf(digits: RegExp, message: string) {
  return z.union([z.number(), z.string().regex(digits).transform(Number)], { error: message });
}
