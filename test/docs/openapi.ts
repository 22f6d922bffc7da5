import { type ErrorCode, overloaded } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import { REFUSED_REASONS } from '../../src/failures/refusals.ts';
import type { Operation } from '../../src/ton/operations.ts';
import type { DescribedParameter, JsonSchema } from '../../src/ton/parameters.ts';

export interface OpenApiOptions {
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly publicPort: number;
}

/** The description of a path of the admin port. */
interface DescribedAdminPath {
  readonly summary: string;
  readonly query?: Readonly<Record<string, DescribedParameter>>;
  /** Of a POST; a path without it is read by GET. */
  readonly body?: JsonSchema;
  /** Of the answer; absent for JSON. */
  readonly contentType?: string;
  /** The reasons of refusals by status, in addition to any 4xx. */
  readonly refused?: Readonly<Record<number, string>>;
  readonly needsToken?: true;
}

/** In the order in which the admin port names its paths. */
const ADMIN_PATHS: Readonly<Record<string, DescribedAdminPath>> = {
  '/': { summary: 'The status page', contentType: 'text/html' },
  '/status.json': {
    summary: 'The present numbers and conditions of the status page',
    query: {
      since: {
        description: 'Epoch milliseconds: also return the numbers after this instant',
        required: false,
        schema: { type: 'integer' },
      },
    },
  },
  '/purge': {
    summary: 'Removes stored responses: those to requests with a seqno, a hash or an account, or all',
    body: {
      type: 'object',
      properties: {
        seqno: { type: 'integer' },
        hash: { type: 'string' },
        account: { type: 'string' },
        all: { const: true },
      },
      minProperties: 1,
      maxProperties: 1,
    },
    refused: {
      422: 'The body names nothing that can be purged, or more than one value',
      503: 'This instance is purged, but Redis did not accept the purge',
    },
    needsToken: true,
  },
  '/explain': {
    summary: 'How toncache reads a request, and the responses that are cached for it',
    query: {
      target: { description: 'The URL or query to explain', required: true, schema: { type: 'string' } },
      header: {
        description: 'The headers of the request, each as "Name: value"',
        required: false,
        schema: { type: 'array' },
      },
    },
    refused: {
      400: 'The path would be refused',
      422: 'The request would be refused',
      501: 'The path is not served, or the request is in a form that is neither cached nor passed through',
    },
    needsToken: true,
  },
  '/healthz': { summary: 'Liveness: 200 while the process runs' },
  '/readyz': {
    summary: 'Readiness: 503 after a signal to end',
    refused: { 503: 'The instance is not ready yet, or is shutting down' },
  },
  '/metrics': { summary: 'The metrics, for Prometheus', contentType: 'text/plain' },
};

const ABOUT =
  'A cache in front of the TON indexer API, and its admin port. This file describes one spelling of each parameter. toncache ' +
  'accepts others as the same request: docs/reference/requests.md lists them. Where GET is accepted, HEAD is, too. The rest of ' +
  'the API is passed through with PASSTHROUGH=on, and otherwise refused. Both ports serve /healthz and /readyz.';

const TEXT = { type: 'string' };

const content = (schema: object, type = 'application/json') => ({ content: { [type]: { schema } } });

const refuses = (description: string) => ({ description, ...content({ $ref: '#/components/schemas/Error' }) });

const fromPublicPort = (response: object) => ({
  ...response,
  headers: { 'Cache-Status': { description: 'What the cache did (RFC 9211)', schema: TEXT } },
});

/**
 * Failures that no client of an operation gets: for other paths, other methods, disconnected clients, or sent by the
 * indexer.
 */
const OF_OTHERS: readonly string[] = ['not-found', 'method-not-allowed', 'client-closed-request', 'upstream-error'];

/** The statuses of a failure: those of its reasons as well. */
const statusesOf = (code: ErrorCode): readonly number[] => [
  ...new Set([
    FAILURES[code].status,
    ...(code === 'overloaded' ? REFUSED_REASONS.map((reason) => overloaded(reason as 'paused', 0).status) : []),
  ]),
];

const refusals = Map.groupBy(
  (Object.keys(FAILURES) as ErrorCode[])
    .filter((code) => !OF_OTHERS.includes(code))
    .flatMap((code) => statusesOf(code).map((status) => [status, code] as const)),
  ([status]) => status,
);

/** By status, how toncache refuses a request for an operation. */
const REFUSED = Object.fromEntries(
  [...refusals].map(([status, codes]) => [
    status,
    fromPublicPort(
      refuses(`Refused; the detail of Cache-Status is one of ${codes.map(([, code]) => code).join(', ')}`),
    ),
  ]),
);

/**
 * The OpenAPI 3.1 document of both ports, made from the operations, the failures, and the descriptions of the admin
 * paths. The bodies of the indexer are not described.
 */
export function openApi({ version, operations, publicPort }: OpenApiOptions): object {
  const publicPaths = operations.flatMap((each) =>
    each.paths.map((path) => [
      `/api/v3/${path}`,
      { [each.body === undefined ? 'get' : 'post']: describeOperation(each, path) },
    ]),
  );
  const variables = { host: { default: 'localhost' }, port: { default: String(publicPort) } };
  return {
    openapi: '3.1.1',
    info: { title: 'toncache', version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'http://{host}:{port}', description: 'The public port', variables }],
    security: [],
    paths: Object.fromEntries([...publicPaths, ...Object.entries(ADMIN_PATHS).map(describeAdminPath)]),
    components: {
      schemas: { Error: { type: 'object', properties: { error: TEXT } } },
      securitySchemes: { adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN, if it is set' } },
    },
  };
}

function describeOperation({ name, summary, parameters, headerNames, body }: Operation, path: string): object {
  const properties = Object.fromEntries(Object.keys(parameters).map((each) => [each, each === 'stack' ? {} : TEXT]));
  return {
    operationId: path,
    summary: path === name ? summary : `${summary} (another name of ${name})`,
    parameters: body === undefined ? describeParameters(parameters, headerNames) : [],
    ...(body && { requestBody: { required: true, ...content({ type: 'object', properties }) } }),
    responses: {
      200: fromPublicPort({
        description: 'The response of the indexer, byte for byte',
        ...content({ type: 'object' }),
      }),
      304: fromPublicPort({ description: 'The response still has the ETag in If-None-Match' }),
      404: fromPublicPort(refuses('The indexer has nothing there')),
      ...REFUSED,
      default: fromPublicPort(refuses('An error of the indexer, with its status')),
    },
  };
}

function describeParameters(parameters: Operation['parameters'], headers?: ReadonlySet<string>): object[] {
  const place = (name: string) => (headers?.has(name) ? 'header' : 'query');
  return Object.entries(parameters).map(([name, described]) => ({ name, in: place(name), ...described }));
}

function describeAdminPath([path, described]: readonly [string, DescribedAdminPath]): [string, object] {
  const { summary, query = {}, body, contentType, refused = {}, needsToken } = described;
  const answer = contentType === undefined ? content({ type: 'object' }) : content(TEXT, contentType);
  const operation = {
    operationId: path.replaceAll(/\W/g, '') || 'page',
    summary,
    parameters: describeParameters(query),
    ...(body && { requestBody: { required: true, ...content(body) } }),
    responses: {
      200: { description: summary, ...answer },
      ...Object.fromEntries(Object.entries(refused).map(([status, why]) => [status, refuses(why)])),
      '4XX': refuses('Another method, or a request of the wrong form, site, Host or token'),
    },
    ...(needsToken && { security: [{ adminToken: [] }, {}] }),
  };
  const servers = [{ url: '/', description: 'The admin port' }];
  return [path, { servers, [body === undefined ? 'get' : 'post']: operation }];
}
