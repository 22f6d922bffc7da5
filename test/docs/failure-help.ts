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
    help: 'correct the client: the text names each wrong parameter and the accepted values',
  },
  'bad-request': {
    cause:
      'the request is not HTTP, has two `Host` headers (or none in HTTP/1.1), or is a WebSocket upgrade outside the [Streaming API](stream.md). A passed-through request also gets this error if two servers could interpret its path differently, or if its path is another spelling of a cached operation. A purge gets it if its body is not JSON',
    help: "check the client's URL and method, and the [routes of the ingress](../how-to/routes.md)",
  },
  'body-too-large': {
    cause: 'the request body is larger than `passThrough.maxBodySize`, or its chunk extensions are too large',
    help: 'raise `passThrough.maxBodySize`',
  },
  'head-too-large': {
    cause: 'the URL and headers of the request are larger than `http.maxHeaderSize`, or it has more than 100 headers',
    help: 'make the client request fewer values at once, or raise `http.maxHeaderSize`. The limit of 100 headers is fixed',
  },
  'request-timeout': {
    cause: 'the request did not arrive within `http.requestTimeout`',
    help: "check the client's network",
  },
  'unsupported-encoding': {
    cause: 'the request has a `Transfer-Encoding` other than `chunked`, or has one in HTTP/1.0',
    help: 'update or replace the client',
  },
  'unsupported-expectation': {
    cause: 'the request has an `Expect` other than `100-continue`',
    help: 'update or replace the client',
  },
  'unsupported-version': {
    cause: 'the request uses HTTP/0.9, or HTTP/2 without negotiation',
    help: 'update or replace the client',
  },
  'not-found': {
    cause: 'the path is outside the API',
    help: "check the client's URL, and the [routes of the ingress](../how-to/routes.md)",
  },
  'not-served': {
    cause:
      'no indexer serves the operation, or the path below `/api/` is not [passed through](../how-to/pass-through.md). The status is not 404, because wallets would interpret a 404 as "nothing there"',
    help: 'if `Cache-Status` contains `fwd`, see [serving without an operation](../incidents.md#serving-without-an-operation). Otherwise, `toncache explain` and the log (once a minute for each path) name the settings that allow the path',
  },
  'not-cacheable': {
    cause:
      'toncache caches this [further operation](requests.md#further-operations), but not in this form, and its path is not [passed through](../how-to/pass-through.md)',
    help: 'make the client use the form in the error text, or allow the path in `PASSTHROUGH`',
  },
  'origin-not-allowed': {
    cause:
      'a preflight, a passed-through request, `runGetMethod` or a request for a stream came from a page whose origin is not in `ALLOWED_ORIGINS`',
    help: 'add the origin to `ALLOWED_ORIGINS`, exactly as the browser sends it',
  },
  'method-not-allowed': {
    cause: 'the method is not accepted; the `Allow` header lists the accepted methods',
    help: "check the client's method",
  },
  'too-many-requests': {
    cause:
      'the client exceeds [its limit](overload.md#clients), or has opened its maximum number of [streams](stream.md)',
    help: 'raise `clients.requestsPerSecond` or `clients.missesPerSecond`; for streams, raise `passThrough.maxStreamsPerClient`',
  },
  overloaded: {
    cause:
      'toncache refused the request for one of [these reasons](#reasons-for-a-refusal), or was receiving too many request bodies',
    help: 'see the reason, and [ToncacheRefusing](../incidents.md#toncacherefusing)',
  },
  'shutting-down': {
    cause: 'the process is shutting down',
    help: 'raise `http.shutdownDelay`, so that the load balancer removes the instance in time, or `http.drainTimeout`',
  },
  'upstream-reset': {
    cause:
      'the connection broke after the request was sent, or the response did not begin with HTTP headers of at most 64 KiB. A second try, if any, also failed',
    help: 'find out from the logs of toncache, the indexer and every proxy in between what closes connections: a crash, a firewall, or a TCP proxy whose server is stopped',
  },
  'upstream-error': {
    cause:
      'the indexer responded with a 4xx or 5xx that no other code covers. toncache passes on a body that is a JSON object of at most 64 KiB',
    help: "read the body: it is usually the indexer's own error",
  },
  'upstream-invalid': {
    cause:
      'the response does not follow the API. For example, it is malformed or truncated, comes from another server, or is a `masterchainInfo` without a block',
    help: 'send the request directly to the indexer, and check whether another server responds, or the response is truncated',
  },
  'upstream-rate-limited': {
    cause:
      'the indexer responded with 429. toncache [pauses](overload.md) requests for this cache key. If another key gets a 429 meanwhile, toncache pauses all requests',
    help: 'ask for a higher rate, or set `UPSTREAM_RPS` to the rate that the provider allows',
  },
  'upstream-redirect': {
    cause: 'the indexer responded with a redirect',
    help: 'if the API has moved, set `UPSTREAM_URL` to its new address',
  },
  'upstream-unauthorized': {
    cause: "the indexer responded with 401, 402 or 403: it refuses toncache's key, not the client's",
    help: 'set `UPSTREAM_API_KEY` to a key that the indexer accepts, or wait until the [quota](../how-to/quota.md) is renewed',
  },
  'upstream-timeout': {
    cause: 'the indexer did not respond within `UPSTREAM_TIMEOUT`',
    help: 'find out why the indexer is slow. Raise `UPSTREAM_TIMEOUT` only if clients can wait longer',
  },
  'upstream-too-large': {
    cause:
      'the response body is larger than `upstream.maxBodySize`, compressed or not. If `PASSTHROUGH` allows it, toncache passes a request for a [further operation](requests.md#further-operations) through instead',
    help: 'lower the `limit` of the request, or raise `upstream.maxBodySize`',
  },
  'upstream-unreachable': {
    cause: 'no connection could be opened. A second try, if any, also failed',
    help: 'check `UPSTREAM_URL`, DNS and TLS, and whether the indexer is running',
  },
  'client-closed-request': {
    cause: 'the client disconnected before it got its response, so only the log shows this code',
    help: 'if frequent: clients time out before the indexer responds',
  },
  internal: {
    cause: 'a bug in toncache, or an entry in Redis that another program wrote. The error is logged and never cached',
    help: 'report the bug with the stack trace from the log. If a stored response cannot be decompressed, [purge](../how-to/purge.md) it',
  },
};

/** For each reason for which toncache refuses to send a request. */
export const REASON_HELP: Readonly<Record<RefusedReason, Help>> = {
  'breaker-open': {
    cause: 'the circuit breaker of the operation is open, because too many requests failed',
    help: '[repair the indexer](../incidents.md#the-indexer-fails)',
  },
  deadline: {
    cause: 'the request could not be sent within `UPSTREAM_TIMEOUT`',
    help: 'see `expected-wait`',
  },
  'expected-wait': {
    cause: 'the expected wait is longer than the [patience](overload.md)',
    help: 'a faster indexer; more slots, if the indexer has capacity; or fewer misses',
  },
  'key-paused': {
    cause: 'the indexer responded with 429 to a request for this key or path',
    help: "ask the indexer's operator for the reason",
  },
  memory: {
    cause: 'the process is nearly out of memory, or is reading more than `upstream.maxBufferedSize` of responses',
    help: 'more memory, or a smaller `MEMORY_MAX_SIZE`',
  },
  sockets: {
    cause:
      'no connection can be opened, because the process or the machine has run out of file descriptors, local ports or memory',
    help: 'follow [these steps](../incidents.md#this-process-can-open-no-more-connections)',
  },
  'no-free-slot': {
    cause: 'no slot is free for a refresh, which never waits. Clients get the stale response',
    help: 'see `expected-wait`',
  },
  'other-chain': {
    cause: 'every indexer follows [another chain](lifetimes.md#another-chain)',
    help: 'correct `NETWORK` or `UPSTREAM_URL`',
  },
  paused: {
    cause: 'the indexer responded with 429 to requests for several keys',
    help: 'ask for a higher rate, or set `UPSTREAM_RPS`',
  },
  'queue-full': { cause: '10,000 requests are waiting', help: 'see `expected-wait`' },
  'streams-full': {
    cause: 'the maximum number of [streams of clients](stream.md) is open (`passThrough.maxStreams`)',
    help: 'a higher limit, if the server of the streams allows it',
  },
  'transfers-full': { cause: '256 passed-through responses are being sent', help: 'clients that read faster' },
  'rate-limit': { cause: '`UPSTREAM_RPS` is used up', help: 'ask for a higher rate' },
  'waited-too-long': {
    cause: 'the request waited for the whole [patience](overload.md), usually because the indexer became slower',
    help: 'see `expected-wait`',
  },
  'client-limit': { cause: "the client's `clients.missesPerSecond` is used up", help: 'a higher limit' },
};

/** The remedy for each `detail` that is no failure. */
export const DETAIL_HELP: Readonly<Record<keyof typeof DETAILS, string>> = {
  memory: 'nothing. If `ttl` is negative, the response is stale: check whether the indexer is failing',
  redis: 'see `memory`',
  proven: 'nothing',
  expired: 'this process is busy: check the event loop lag on the status page',
  'too-large': 'if it happens often, raise `MEMORY_MAX_SIZE`',
  purged: 'nothing',
  regressed: 'find the replica that lags',
  superseded: 'nothing',
  preflight: 'nothing',
  health: 'nothing',
};
