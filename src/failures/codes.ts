import type { ExplainedBy } from './explained-by.ts';
import type { RetryAfterRule } from './retry-after.ts';

/** One way in which a request can fail. */
export interface Failure {
  /** The status that the client gets. A reason for a refusal may have another one. */
  readonly status: number;
  readonly retryAfter: RetryAfterRule;
  /** The condition that explains it to operators, if one does. */
  readonly condition?: ExplainedBy;
  /** The words for operators. `{indexer}` stands for its name, or for "the indexer". */
  readonly operatorReads: string;
  /** The texts that clients get, by cause; `usual` is the default. Placeholders are in braces. */
  readonly clientReads: Readonly<Record<'usual', string>> & Readonly<Record<string, string>>;
  /** By the same causes: what `explain` and the log say instead, with the settings and lists that clients do not get. */
  readonly explained?: Readonly<Record<string, string>>;
}

/** The advice in the explanation of a request without a cached form. */
export const IF_NOT_PASSED =
  '; PASSTHROUGH=on passes such a request through, and so does a list of paths that names this one';

/**
 * Every way a request can fail, in one closed list. No other place words a failure, or decides its status. A text
 * states what happened, to what, and what would be accepted; docs/reference/errors.md has the same texts.
 */
export const FAILURES = {
  'invalid-request': {
    status: 422,
    retryAfter: 'none',
    operatorReads: 'clients send parameters that are not accepted',
    // The parser of the parameters states what is wrong and what is accepted, because it knows both.
    clientReads: { usual: '{issues}' },
  },
  'bad-request': {
    status: 400,
    retryAfter: 'none',
    operatorReads: 'clients send requests that cannot be read',
    clientReads: {
      usual: 'the request is malformed; accepted: HTTP/1.1',
      hosts: 'the request names {hosts} Hosts; accepted: one',
      'ambiguous-path':
        'the path is ambiguous; accepted: plain segments, without lone dots, backslashes or encoded slashes',
      'encoded-letters': 'the path is another spelling of a cached operation; accepted: its plain name',
      upgrade: 'Upgrade is not accepted; accepted: requests without Upgrade',
      'not-json': 'the body is not JSON',
    },
  },
  'body-too-large': {
    status: 413,
    retryAfter: 'none',
    operatorReads: 'clients send bodies that are too large',
    clientReads: {
      usual: 'the body is too large; accepted: at most {bytes} bytes',
      'chunk-extensions': 'the extensions of a chunk of the body are too large; accepted: none',
    },
  },
  'head-too-large': {
    status: 431,
    retryAfter: 'none',
    operatorReads: 'clients send headers that are too large',
    clientReads: {
      usual: 'the headers of the request are too large; accepted: http.maxHeaderSize and {fields} headers at most',
      fields: 'too many headers; accepted: at most {fields}',
    },
  },
  'request-timeout': {
    status: 408,
    retryAfter: 'none',
    operatorReads: 'clients do not send their requests in time',
    clientReads: { usual: 'the request did not arrive in time' },
  },
  'unsupported-encoding': {
    status: 501,
    retryAfter: 'none',
    operatorReads: 'clients send bodies in an encoding that is not supported',
    clientReads: {
      usual: 'Transfer-Encoding is not supported as it is given; accepted: chunked',
      'http-1.0': 'Transfer-Encoding is not part of HTTP/1.0; accepted: Content-Length',
    },
  },
  'unsupported-expectation': {
    status: 417,
    retryAfter: 'none',
    operatorReads: 'clients send an Expect that is not supported',
    clientReads: { usual: 'Expect is not supported as it is given; accepted: 100-continue' },
  },
  'unsupported-version': {
    status: 505,
    retryAfter: 'none',
    operatorReads: 'clients use another version of HTTP',
    clientReads: { usual: 'HTTP/{version} is not supported; accepted: HTTP/1.1, HTTP/1.0' },
  },
  'not-found': {
    status: 404,
    retryAfter: 'none',
    operatorReads: 'clients request paths that are not served',
    clientReads: { usual: 'nothing is served at this path' },
  },
  // Not a 404 within the API: wallets read that as "nothing there". With an `upstreamStatus` the failure is an answer
  // of the indexer; without one, nothing was sent.
  'not-served': {
    status: 501,
    retryAfter: 'none',
    condition: 'not-served',
    operatorReads: '{indexer} does not serve this operation',
    clientReads: {
      usual: 'the indexer does not serve {operation}: {remedy} (docs/incidents.md, not-served)',
      'not-passed': '{path} is not served here: PASSTHROUGH does not allow it',
      'not-listed': '{path} is not served here: PASSTHROUGH does not allow it',
      'not-below': '{path} is not served here: PASSTHROUGH_PREFIXES does not allow it',
      'api-v2':
        '{path} is not served here: clients of /api/v2 are only passed through, and PASSTHROUGH_PREFIXES does not allow it',
    },
    explained: {
      'not-passed':
        'only {operations} are served here; PASSTHROUGH=on passes paths below {prefixes} through, and PASSTHROUGH_PREFIXES (passThrough.prefixes) names more',
      'not-listed': 'only {served} are served here; PASSTHROUGH (passThrough.enabled) names more',
      'not-below':
        'only {operations} and paths below {prefixes} are served here; PASSTHROUGH_PREFIXES (passThrough.prefixes) names more',
      'api-v2':
        'requests from clients of /api/v2, such as TonClient of @ton/ton, are never cached; PASSTHROUGH=on (passThrough.enabled) and PASSTHROUGH_PREFIXES=/api/v3/,/api/v2/ (passThrough.prefixes) pass them through',
    },
  },
  // A request for a further operation whose answers are not cached; passed through if that is on.
  'not-cacheable': {
    status: 501,
    retryAfter: 'none',
    operatorReads: 'clients request further operations in a form that is not cached',
    clientReads: {
      usual: '{operation} is not cached in this form: {issues}; PASSTHROUGH does not allow it',
      body: '{operation} is not cached with this body; PASSTHROUGH does not allow it',
      parameter: '{operation} is cached only with these parameters: {parameters}; PASSTHROUGH does not allow it',
    },
    explained: {
      usual: `{operation} is not cached in this form: {issues}${IF_NOT_PASSED}`,
      body: `{operation} is not cached with this body; accepted: JSON of at most 4 KB with a contract's address, its method, and its stack of num, cell and slice${IF_NOT_PASSED}`,
      parameter: `{operation} is cached only with these parameters: {parameters}${IF_NOT_PASSED}`,
    },
  },
  'origin-not-allowed': {
    status: 403,
    retryAfter: 'none',
    operatorReads: 'pages of origins that ALLOWED_ORIGINS does not list send requests',
    clientReads: {
      usual: 'pages of this origin may not send this request; ALLOWED_ORIGINS (http.allowedOrigins) lists others',
    },
  },
  'method-not-allowed': {
    status: 405,
    retryAfter: 'none',
    operatorReads: 'clients use methods that are not accepted',
    clientReads: { usual: 'accepted: {methods}' },
  },
  'too-many-requests': {
    status: 429,
    retryAfter: 'the wait',
    condition: 'client-limited',
    operatorReads: 'clients exceed their limit',
    clientReads: {
      usual: 'too many {what} of one client: {perSecond} a second are answered, and {burst} at once',
      streams: 'too many streams of one client: {most} at once are accepted',
    },
  },
  // For the reasons and their texts see REFUSED.
  overloaded: {
    status: 503,
    retryAfter: 'the wait, or 1 to 3 s',
    condition: 'overloaded',
    operatorReads: 'there are more requests than the indexer can answer',
    clientReads: {
      usual: 'the proxy is overloaded',
      bodies: 'the proxy is overloaded: too many request bodies are being sent',
    },
  },
  'shutting-down': {
    status: 503,
    retryAfter: '1 s',
    condition: 'shutting-down',
    operatorReads: 'this instance is shutting down',
    clientReads: { usual: 'the proxy is shutting down' },
  },
  'upstream-reset': {
    status: 502,
    retryAfter: 'none',
    condition: 'indexer-error',
    operatorReads: '{indexer} closes the connection before answering',
    clientReads: {
      usual: 'the connection to the indexer broke before it answered',
      'not-http': 'the indexer did not answer in HTTP',
    },
  },
  // The status is that of the indexer, and so is the body if it is a JSON object of at most 64 KiB.
  'upstream-error': {
    status: 502,
    retryAfter: "the indexer's",
    condition: 'indexer-error',
    operatorReads: '{indexer} answers with errors',
    clientReads: { usual: 'the indexer answered with status {status}' },
  },
  'upstream-invalid': {
    status: 502,
    retryAfter: 'none',
    condition: 'indexer-error',
    operatorReads: '{indexer} sends responses that its API does not describe',
    clientReads: {
      usual: 'the response of the indexer is not what its API describes',
      encoding: 'the indexer answered in an encoding that was not requested',
      packed: 'the response of the indexer cannot be decompressed',
      'cut-short': 'the response of the indexer was truncated',
    },
  },
  'upstream-rate-limited': {
    status: 429,
    retryAfter: 'the wait, or 1 to 3 s',
    condition: 'paused',
    operatorReads: '{indexer} answers 429',
    clientReads: { usual: 'the indexer asked for a pause (429)' },
  },
  'upstream-redirect': {
    status: 502,
    retryAfter: 'none',
    condition: 'indexer-error',
    operatorReads: '{indexer} answers with a redirect',
    clientReads: { usual: 'the indexer answered with a redirect' },
  },
  'upstream-unauthorized': {
    status: 502,
    retryAfter: 'none',
    condition: 'key-refused',
    operatorReads: '{indexer} refuses our API key',
    clientReads: { usual: 'the indexer refuses the API key of this proxy' },
  },
  'upstream-timeout': {
    status: 504,
    retryAfter: 'none',
    condition: 'indexer-error',
    operatorReads: '{indexer} does not answer in time',
    clientReads: { usual: 'the indexer did not answer in time' },
  },
  'upstream-too-large': {
    status: 502,
    retryAfter: 'none',
    condition: 'indexer-error',
    operatorReads: '{indexer} sends responses that are too large',
    clientReads: { usual: 'the response of the indexer is larger than {bytes} bytes (upstream.maxBodySize)' },
  },
  'upstream-unreachable': {
    status: 502,
    retryAfter: 'none',
    condition: 'not-reached',
    operatorReads: '{indexer} is unreachable',
    clientReads: { usual: 'the indexer cannot be reached' },
  },
  // Never sent: the log uses nginx's number for a client that disconnected.
  'client-closed-request': {
    status: 499,
    retryAfter: 'none',
    operatorReads: 'clients close their connections before they have their responses',
    clientReads: {
      usual: 'the client closed its connection',
      body: 'the body broke off',
      nobody: 'nobody waits for this response',
    },
  },
  internal: {
    status: 500,
    retryAfter: 'none',
    condition: 'bug',
    operatorReads: 'requests fail (internal)',
    clientReads: { usual: 'internal error', stored: 'the stored response cannot be decompressed' },
  },
} as const satisfies Record<string, Failure>;
