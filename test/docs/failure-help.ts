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
    cause: '[a wrong parameter](answers.md#which-requests-are-refused-with-422)',
    help: 'tell the client: the text names each wrong parameter and the accepted values',
  },
  'bad-request': {
    cause:
      'the request is not HTTP, or has two `Host` headers. For a request that would be passed through: its path is one that two servers could read differently, or another spelling of a cached operation. Or it has `Upgrade: websocket` outside of the [Streaming API](stream.md)',
    help: "check the client's URL and method, and the [routes of the ingress](../how-to/routes.md)",
  },
  'body-too-large': {
    cause: 'the body of the request is larger than `passThrough.maxBodySize`',
    help: 'raise `passThrough.maxBodySize` if clients need it',
  },
  'head-too-large': {
    cause: 'the headers are larger than `http.maxHeaderSize`, or are more than 100',
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
    cause: 'the path is outside of the API',
    help: "check the client's URL, and the [routes of the ingress](../how-to/routes.md)",
  },
  'not-served': {
    cause:
      'no indexer serves the operation. Or the path below `/api/` is not [passed through](../how-to/pass-through.md). A 404 would read as "nothing there"',
    help: 'for an operation that is cached, or with `fwd`: [serving without an operation](../incidents.md#serving-without-an-operation). Otherwise the text names the setting',
  },
  'not-cacheable': {
    cause:
      'the request is for a [further operation](answers.md#further-operations) in a form that is not cached, and [pass-through](../how-to/pass-through.md) does not include its path',
    help: 'set `PASSTHROUGH=on`, add the path to its list, or let the client use the form in the text',
  },
  'origin-not-allowed': {
    cause: 'a page of an origin that `ALLOWED_ORIGINS` does not list: preflights, passed-through requests and streams',
    help: 'add the origin to `ALLOWED_ORIGINS`, exactly as the browser sends it',
  },
  'method-not-allowed': {
    cause: 'the method is not accepted; `Allow` names those that are',
    help: "check the client's method",
  },
  'too-many-requests': {
    cause: 'the client is above [its limit](overload.md#clients), or has its maximum of [streams](stream.md)',
    help: 'raise `clients.requestsPerSecond` or `clients.missesPerSecond`; for streams `passThrough.maxStreamsPerClient`',
  },
  overloaded: {
    cause: 'toncache refused the request, for [a reason](#reasons-for-a-refusal)',
    help: 'the reason decides; [ToncacheRefusing](../incidents.md#toncacherefusing)',
  },
  'shutting-down': {
    cause: 'the process ends',
    help: 'let the load balancer remove the instance earlier: `http.shutdownDelay`',
  },
  'upstream-reset': {
    cause:
      'the connection broke after the request was sent, or the headers of the response are not HTTP or larger than 64 KiB. This happened twice in a row, or there was no retry budget',
    help: 'read the log of toncache, of the indexer and of every proxy in front of it. Something closes connections during requests: a crash, a firewall, or a TCP proxy whose server is stopped',
  },
  'upstream-error': {
    cause: 'the indexer answered with a 4xx or 5xx. Its body is passed on if it is a JSON object',
    help: "read the body: it is the indexer's own error",
  },
  'upstream-invalid': {
    cause:
      'the response does not follow the API: it is broken, truncated, or from another server. Or `masterchainInfo` names no block',
    help: 'send the request to the indexer: something between answers in its place, or it truncates its responses',
  },
  'upstream-rate-limited': {
    cause:
      'the indexer answered 429. Its key [pauses](overload.md) for its `Retry-After`; everything pauses if several keys get 429',
    help: 'ask for a higher rate, or set `UPSTREAM_RPS` to the rate that you have',
  },
  'upstream-redirect': {
    cause: 'the indexer answered with a redirect',
    help: 'set `UPSTREAM_URL` to the target of the redirect',
  },
  'upstream-unauthorized': {
    cause: "401 or 403: the indexer refuses toncache's key, not the client's",
    help: 'set `UPSTREAM_API_KEY` to a key that the indexer accepts, or wait for the [quota](../how-to/quota.md)',
  },
  'upstream-timeout': {
    cause: 'no response within `UPSTREAM_TIMEOUT`',
    help: 'find out why the indexer is slow. Raise `UPSTREAM_TIMEOUT` only if such responses are worth the wait',
  },
  'upstream-too-large': {
    cause:
      'the body is larger than `upstream.maxBodySize`, compressed or not. A [further operation](answers.md#further-operations) with `PASSTHROUGH=on` is passed through instead, and toncache remembers the size for 5 s. For `masterchainInfo` and the three operations it remembers it for 250 ms',
    help: 'let the client request less (`limit`), or raise `upstream.maxBodySize`',
  },
  'upstream-unreachable': {
    cause: 'no connection could be opened, twice in a row or without retry budget',
    help: 'check `UPSTREAM_URL`, DNS, TLS, and that the indexer runs',
  },
  'client-closed-request': {
    cause: 'the client disconnected before its response. Only the log has this code',
    help: 'if there are many: the timeouts of clients are shorter than the indexer needs',
  },
  internal: {
    cause: 'a bug, which is logged and never cached; or Redis holds what another program wrote',
    help: 'report it with its stack in the log. If the stored response cannot be decompressed, [purge](../how-to/purge.md) it',
  },
};

/** For each reason for which toncache refuses to send a request. */
export const REASON_HELP: Readonly<Record<RefusedReason, Help>> = {
  'breaker-open': { cause: 'the operation fails', help: '[repair the indexer](../incidents.md#the-indexer-fails)' },
  deadline: { cause: "the client's time ended before the request could be sent", help: 'as `expected-wait`' },
  'expected-wait': {
    cause: 'the wait would be longer than the patience',
    help: 'a faster indexer, more slots if it has room, or fewer misses',
  },
  'key-paused': {
    cause: 'the indexer answered 429 for this key or path',
    help: 'ask its operator for the reason',
  },
  memory: { cause: 'the process is nearly out of memory', help: 'more memory, or a smaller `MEMORY_MAX_SIZE`' },
  sockets: {
    cause: 'no connection can be opened: descriptors, local ports or memory of the machine are used up',
    help: '[these steps](../incidents.md#this-process-can-open-no-more-connections)',
  },
  'no-free-slot': {
    cause: 'no slot is free for a refresh, which never waits. Clients get the stale response',
    help: 'as `expected-wait`',
  },
  'other-chain': {
    cause: 'each indexer follows [another chain](answers.md#another-chain)',
    help: 'correct `NETWORK` or `UPSTREAM_URL`',
  },
  paused: { cause: 'the indexer answered 429 for several keys', help: 'ask for a higher rate, or set `UPSTREAM_RPS`' },
  'queue-full': { cause: '10 000 requests wait', help: 'as `expected-wait`' },
  'streams-full': {
    cause: '`passThrough.maxStreams` [streams of clients](stream.md) are open',
    help: 'a higher limit, if the server of the stream allows it',
  },
  'transfers-full': { cause: '256 passed-through responses are being sent', help: 'clients that read faster' },
  'rate-limit': { cause: '`UPSTREAM_RPS` is used up', help: 'ask for a higher rate' },
  'waited-too-long': {
    cause: 'the indexer became slower while the request waited',
    help: 'as `expected-wait`',
  },
  'client-limit': { cause: "the client's `clients.missesPerSecond` is used up", help: 'a higher limit' },
};

/** The remedy for each `detail` that is no failure. */
export const DETAIL_HELP: Readonly<Record<keyof typeof DETAILS, string>> = {
  memory: 'nothing. With a negative `ttl` it is stale: check whether the indexer fails',
  redis: 'the same',
  proven: 'nothing',
  expired: 'find out why this process is busy (event loop lag on the status page)',
  'too-large':
    'nothing, if rare: it is larger than a sixteenth of `MEMORY_MAX_SIZE`, and Redis did not take it. Raise `MEMORY_MAX_SIZE`',
  purged: 'nothing',
  regressed: 'compare the replicas of the indexer: one lags',
  superseded: 'nothing',
  preflight: 'nothing',
  health: 'nothing',
};
