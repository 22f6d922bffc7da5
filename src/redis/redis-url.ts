/** The address of one server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Both are undefined if the URL does not contain them. */
export interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** The contents of a `REDIS_URL`. The credentials and the database belong to the servers that hold the keys. */
export type RedisAddress = Credentials & {
  /** At least one: the server itself, some nodes of the Cluster, or the sentinels. */
  readonly endpoints: readonly Endpoint[];
  readonly database: number;
} & (
    | { readonly topology: 'server'; readonly tls: boolean }
    | { readonly topology: 'cluster' }
    | {
        readonly topology: 'sentinel';
        /** The name under which the sentinels know the primary. */
        readonly primaryName: string;
        readonly sentinelCredentials: Credentials;
      }
  );

const EXAMPLES = [
  'redis://host:6379/0',
  'rediss://user:password@host:6379/0',
  'redis-cluster://a:6379,b:6379',
  'redis-sentinel://a:26379,b:26379/0?name=primary',
].join(', ');

const SCHEMES = {
  redis: { topology: 'server', tls: false, defaultPort: 6379 },
  rediss: { topology: 'server', tls: true, defaultPort: 6379 },
  'redis-cluster': { topology: 'cluster', tls: false, defaultPort: 6379 },
  'redis-sentinel': { topology: 'sentinel', tls: false, defaultPort: 26379 },
} as const;

const SENTINEL_PARAMETERS = ['name', 'sentinelUsername', 'sentinelPassword'];

/**
 * Reads a URL of the schemes `redis`, `rediss`, `redis-cluster` and `redis-sentinel`. Throws an error that names what
 * is accepted and repeats nothing of the text, which may contain a password.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const { scheme, userinfo, hosts, path, query } = partsOf(text);
  const { topology, tls, defaultPort } = SCHEMES[scheme];
  if (topology !== 'server' && userinfo?.includes('@')) {
    throw new Error('must have user and password once, before the first host (an @ in a password is %40)');
  }
  const endpoints = hosts.split(',').map((host) => endpointOf(host, defaultPort));
  const database = databaseOf(path);
  const common = { endpoints, database, ...credentialsOf(userinfo) };
  // URLSearchParams would read a plus in a password as a space.
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'));
  if (topology === 'sentinel') return { topology, ...common, ...sentinelOf(parameters) };
  if (parameters.size > 0) throw new Error('must have no query: only redis-sentinel:// takes parameters');
  if (topology === 'cluster') {
    if (database !== 0) throw new Error('must not name a database: a Cluster has only database 0');
    return { topology, ...common };
  }
  if (endpoints.length > 1) {
    throw new Error('must name one host: several are for redis-cluster:// and redis-sentinel://');
  }
  return { topology, tls, ...common };
}

/** The URL for people: scheme, hosts and path, without the credentials and the query. Throws like `parseRedisUrl`. */
export function describeRedisUrl(text: string): string {
  const { scheme, hosts, path } = partsOf(text);
  return `${scheme}://${hosts}${path}`;
}

function partsOf(text: string) {
  const [, scheme = '', userinfo, hosts = '', path = '', query = ''] =
    /^([a-z-]+):\/\/(?:([^/?#]*)@)?([^/?#@]+)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text) ?? [];
  if (!isScheme(scheme)) {
    throw new Error(`must be like ${EXAMPLES} (percent-encode special characters in a user or a password)`);
  }
  return { scheme, userinfo, hosts, path, query };
}

function isScheme(text: string): text is keyof typeof SCHEMES {
  return Object.hasOwn(SCHEMES, text);
}

function endpointOf(text: string, defaultPort: number): Endpoint {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new Error(
      'must name its hosts as host, host:port or [IPv6 address]:port, with commas between them (a / in a password is %2F)',
    );
  }
  return { host, port };
}

function databaseOf(path: string): number {
  const [, digits] = /^\/?([0-9]{0,9})$/.exec(path) ?? [];
  if (digits === undefined) throw new Error('must have no path but the number of a database, like /0');
  return Number(digits);
}

function credentialsOf(userinfo = ''): Credentials {
  const colon = userinfo.indexOf(':');
  const [username, password] = colon < 0 ? [userinfo, ''] : [userinfo.slice(0, colon), userinfo.slice(colon + 1)];
  return credentials(decoded(username), decoded(password));
}

function sentinelOf(parameters: URLSearchParams) {
  const primaryName = parameters.get('name');
  if (!primaryName || [...parameters.keys()].some((name) => !SENTINEL_PARAMETERS.includes(name))) {
    throw new Error(
      'must have the name of the primary, as in ?name=primary; the only other parameters are sentinelUsername and sentinelPassword',
    );
  }
  const sentinelCredentials = credentials(
    parameters.get('sentinelUsername') ?? '',
    parameters.get('sentinelPassword') ?? '',
  );
  return { primaryName, sentinelCredentials };
}

/** A user without a password gets an empty one: such a user accepts any (`nopass`). */
function credentials(username: string, password: string): Credentials {
  return { username: username || undefined, password: password || (username ? '' : undefined) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have a percent sign only where something is percent-encoded (a percent sign itself is %25)');
  }
}
