import type { ErrorCode } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import type { Operation } from '../../ton/operations.ts';
import type { AdminPath } from './admin-server.ts';

export interface OpenApiOptions {
  readonly version: string;
  /** The cached operations. */
  readonly operations: readonly Operation[];
  readonly publicPort: number;
}

const ABOUT =
  'A cache in front of the TON indexer API, and its admin port. Of each parameter one spelling is described. Others are ' +
  'accepted as well, and are the same request: docs/reference/answers.md lists them. HEAD is answered where GET is. The rest of ' +
  'the API is passed through with PASSTHROUGH=on, and refused without. /healthz and /readyz are answered on both ports.';

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

const refusals = Map.groupBy(
  (Object.keys(FAILURES) as ErrorCode[]).filter((code) => !OF_OTHERS.includes(code)),
  (code) => FAILURES[code].status,
);

/** By status, how toncache refuses a request for an operation. */
const REFUSED = Object.fromEntries(
  [...refusals].map(([status, codes]) => [
    status,
    fromPublicPort(refuses(`Refused; the detail of Cache-Status is one of ${codes.join(', ')}`)),
  ]),
);

/**
 * The OpenAPI 3.1 document of both ports, made from the operations, the failures, and the descriptions of the admin
 * paths. The bodies of the indexer are not described.
 */
export function openApi({ version, operations, publicPort }: OpenApiOptions) {
  const publicPaths = operations.flatMap((each) =>
    each.paths.map((path) => [`/api/v3/${path}`, { get: describeOperation(each, path) }]),
  );
  const variables = { host: { default: 'localhost' }, port: { default: String(publicPort) } };
  return (adminPaths: ReadonlyMap<string, AdminPath>): object => ({
    openapi: '3.1.1',
    info: { title: 'toncache', version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'http://{host}:{port}', description: 'The public port', variables }],
    security: [],
    paths: Object.fromEntries([...publicPaths, ...[...adminPaths].flatMap(describeAdminPath)]),
    components: {
      schemas: { Error: { type: 'object', properties: { error: TEXT } } },
      securitySchemes: { adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN, where it is set' } },
    },
  });
}

function describeOperation({ name, summary, parameters, headerNames }: Operation, path: string): object {
  return {
    operationId: path,
    summary: path === name ? summary : `${summary} (another name of ${name})`,
    parameters: describeParameters(parameters, headerNames),
    responses: {
      200: fromPublicPort({ description: 'The answer of the indexer, byte for byte', ...content({ type: 'object' }) }),
      304: fromPublicPort({ description: 'It has the tag that If-None-Match names' }),
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

function describeAdminPath([path, { method, access, described }]: readonly [string, AdminPath]): [string, object][] {
  if (described === undefined) return [];
  const { summary, query = {}, body, contentType, refused = {} } = described;
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
    ...(access === 'operators' && { security: [{ adminToken: [] }, {}] }),
  };
  const servers = [{ url: '/', description: 'The admin port, which serves this document' }];
  return [[path, { servers, [method.toLowerCase()]: operation }]];
}
