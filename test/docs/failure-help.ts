import type { DETAILS } from '../../src/answer/cache-status.ts';
import type { ErrorCode } from '../../src/errors.ts';
import type { RefusedReason } from '../../src/failures/refusals.ts';

/** The cause of an event, and the remedy: Markdown for a page in docs/reference. */
interface Help {
  readonly cause: string;
  readonly help: string;
}

/** For each code of a failure. */
export const FAILURE_HELP: Readonly<Record<ErrorCode, Help>> = {
  'invalid-request': {
    cause: '[a wrong parameter](requests.md#which-requests-are-refused-with-422)',
    help: 'tell the client: the text names each wrong parameter and the accepted values',
  },
  'bad-request': {
    cause:
      'the request is not HTTP, has two `Host` headers, or is a WebSocket upgrade outside the [Streaming API](stream.md). Or it would be passed through, but two servers could read its path differently, or its path is another spelling of a cached operation',
    help: "check the client's URL and method, and the [routes of the ingress](../how-to/routes.md)",
  },
  'body-too-large': {
    cause: 'the body of the request is larger than `passThrough.maxBodySize`',
    help: 'raise `passThrough.maxBodySize` if clients need it',
  },
  'head-too-large': {
    cause: 'the headers are larger than `http.maxHeaderSize`, or there are more than 100',
    help: 'let the client request fewer values at once, or raise `http.maxHeaderSize`. More than 100 headers are never accepted',
  },
  'request-timeout': {
    cause: 'the request did not arrive within `http.requestTimeout`',
    help: "check the client's network",
  },
  'unsupported-encoding': {
    cause: 'a `Transfer-Encoding` other than `chunked`, or one in HTTP/1.0',
    help: 'update or replace the client',
  },
  'unsupported-expectation': {
    cause: 'an `Expect` other than `100-continue`',
    help: 'update or replace the client',
  },
  'unsupported-version': {
    cause: 'HTTP/0.9, or HTTP/2 without negotiation',
    help: 'update or replace the client',
  },
  'not-found': {
    cause: 'the path is outside the API',
    help: "check the client's URL, and the [routes of the ingress](../how-to/routes.md)",
  },
  'not-served': {
    cause:
      'no indexer serves the operation, or the path below `/api/` is not [passed through](../how-to/pass-through.md). The status is not 404, because wallets would read that as "nothing there"',
    help: 'if `Cache-Status` has `fwd`: [serving without an operation](../incidents.md#serving-without-an-operation). Otherwise `toncache explain` names the settings that allow the path, and so does the log, once a minute for each path',
  },
  'not-cacheable': {
    cause:
      'this form of a [further operation](requests.md#further-operations) is not cached, and its path is not [passed through](../how-to/pass-through.md)',
    help: 'let the client use the form that the error names, set `PASSTHROUGH=on`, or add the path to its list',
  },
  'origin-not-allowed': {
    cause:
      'a page whose origin `ALLOWED_ORIGINS` does not list sent a preflight, a passed-through request, or a request for a stream',
    help: 'add the origin to `ALLOWED_ORIGINS`, exactly as the browser sends it',
  },
  'method-not-allowed': {
    cause: 'the method is not accepted; the `Allow` header lists the accepted methods',
    help: "check the client's method",
  },
  'too-many-requests': {
    cause:
      'the client exceeds [its limit](overload.md#clients), or has opened its maximum number of [streams](stream.md)',
    help: 'raise `clients.requestsPerSecond` or `clients.missesPerSecond`; for streams `passThrough.maxStreamsPerClient`',
  },
  overloaded: {
    cause: 'toncache refused the request for one of [these reasons](#reasons-for-a-refusal)',
    help: 'it depends on the reason; see [ToncacheRefusing](../incidents.md#toncacherefusing)',
  },
  'shutting-down': {
    cause: 'the process is shutting down',
    help: 'let the load balancer remove the instance earlier: `http.shutdownDelay`',
  },
  'upstream-reset': {
    cause:
      'the connection broke after the request was sent, or the headers of the response are not HTTP or exceed 64 KiB. A repeat also failed, or there was no retry budget',
    help: 'read the logs of toncache, the indexer and every proxy between them. Something closes connections during requests: a crash, a firewall, or a TCP proxy whose server is stopped',
  },
  'upstream-error': {
    cause: 'the indexer answered with a 4xx or 5xx. Its body is passed on if it is a JSON object',
    help: "read the body: it is the indexer's own error",
  },
  'upstream-invalid': {
    cause:
      'the response does not follow the API: it is broken, truncated, from another server, or a `masterchainInfo` without a block',
    help: 'send the request to the indexer itself: either another server answers in its place, or its responses are truncated',
  },
  'upstream-rate-limited': {
    cause:
      'the indexer answered 429. toncache sends no request for this cache key until `Retry-After` is over ([pauses](overload.md)), and no request at all if several keys get 429',
    help: 'ask for a higher rate, or set `UPSTREAM_RPS` to the rate that you have',
  },
  'upstream-redirect': {
    cause: 'the indexer answered with a redirect',
    help: 'set `UPSTREAM_URL` to the target of the redirect',
  },
  'upstream-unauthorized': {
    cause: "401, 402 or 403: the indexer refuses toncache's key, not the client's",
    help: 'set `UPSTREAM_API_KEY` to a key that the indexer accepts, or wait for the [quota](../how-to/quota.md)',
  },
  'upstream-timeout': {
    cause: 'the indexer did not respond within `UPSTREAM_TIMEOUT`',
    help: 'find out why the indexer is slow. Raise `UPSTREAM_TIMEOUT` only if such responses are worth the wait',
  },
  'upstream-too-large': {
    cause:
      'the body is larger than `upstream.maxBodySize`, compressed or not. With `PASSTHROUGH=on`, a request for a [further operation](requests.md#further-operations) is passed through instead',
    help: 'let the client request less (`limit`), or raise `upstream.maxBodySize`',
  },
  'upstream-unreachable': {
    cause: 'no connection could be opened. A repeat also failed, or there was no retry budget',
    help: 'check `UPSTREAM_URL`, DNS, TLS, and that the indexer runs',
  },
  'client-closed-request': {
    cause: 'the client disconnected before it got its response. Only the log has this code',
    help: 'if this is frequent, clients time out before the indexer responds',
  },
  internal: {
    cause: 'a bug in toncache, which is logged and never cached; or an entry in Redis that another program wrote',
    help: 'report it with the stack trace from the log. If a stored response cannot be decompressed, [purge](../how-to/purge.md) it',
  },
};

/** For each reason for which toncache refuses to send a request. */
export const REASON_HELP: Readonly<Record<RefusedReason, Help>> = {
  'breaker-open': {
    cause: 'too many requests for the operation failed',
    help: '[repair the indexer](../incidents.md#the-indexer-fails)',
  },
  deadline: {
    cause: "the client's deadline passed before the request could be sent",
    help: 'see `expected-wait`',
  },
  'expected-wait': {
    cause: 'the wait would be longer than the [patience](overload.md)',
    help: 'a faster indexer, more slots if the indexer has capacity, or fewer misses',
  },
  'key-paused': {
    cause: 'the indexer answered 429 for this key or path',
    help: "ask the indexer's operator for the reason",
  },
  memory: { cause: 'the process is nearly out of memory', help: 'more memory, or a smaller `MEMORY_MAX_SIZE`' },
  sockets: {
    cause: 'no connection can be opened: the machine has no descriptors, local ports or memory left',
    help: '[these steps](../incidents.md#this-process-can-open-no-more-connections)',
  },
  'no-free-slot': {
    cause: 'a refresh never waits, and no slot is free. Clients get the stale response',
    help: 'see `expected-wait`',
  },
  'other-chain': {
    cause: 'every indexer follows [another chain](lifetimes.md#another-chain)',
    help: 'correct `NETWORK` or `UPSTREAM_URL`',
  },
  paused: { cause: 'the indexer answered 429 for several keys', help: 'ask for a higher rate, or set `UPSTREAM_RPS`' },
  'queue-full': { cause: '10,000 requests are waiting', help: 'see `expected-wait`' },
  'streams-full': {
    cause: '`passThrough.maxStreams` [streams of clients](stream.md) are open',
    help: 'a higher limit, if the server of the stream allows it',
  },
  'transfers-full': { cause: '256 passed-through responses are being sent', help: 'clients that read faster' },
  'rate-limit': { cause: '`UPSTREAM_RPS` is used up', help: 'ask for a higher rate' },
  'waited-too-long': {
    cause: 'the indexer became slower while the request waited',
    help: 'see `expected-wait`',
  },
  'client-limit': { cause: "the client's `clients.missesPerSecond` is used up", help: 'a higher limit' },
};

/** The remedy for each `detail` that is no failure. */
export const DETAIL_HELP: Readonly<Record<keyof typeof DETAILS, string>> = {
  memory: 'nothing. If `ttl` is negative, the response is stale: check whether the indexer is failing',
  redis: 'see `memory`',
  proven: 'nothing',
  expired: 'check the event loop lag on the status page to find out why this process is busy',
  'too-large': 'if it happens often, raise `MEMORY_MAX_SIZE`',
  purged: 'nothing',
  regressed: 'find the replica that lags',
  superseded: 'nothing',
  preflight: 'nothing',
  health: 'nothing',
};
