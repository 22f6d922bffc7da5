import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FAILURES } from '../../src/failures/codes.ts';
import { OPERATIONS, OperationsInUse } from '../../src/ton/operations.ts';
import { parseCall } from '../../src/ton/parse-call.ts';
import { parsePurge } from '../../src/ton/purge-selector.ts';
import { startProxy } from '../support/start-proxy.ts';
import { documentOf, OPENAPI_FILE, type Parameter, renderOpenApi } from './render-openapi.ts';

const HASH = 'ab'.repeat(32);
const ACCOUNT = `0:${HASH}`;

const { paths } = documentOf([...OPERATIONS.values()]);

/** Values that the document allows for a parameter. */
function allowed({ schema }: Parameter): readonly string[] {
  const one = schema.items ?? schema;
  if (one.enum !== undefined) return one.enum;
  if (one.type === 'boolean') return ['true', 'false'];
  if (one.const !== undefined) return [String(one.const)];
  if (one.type === 'integer') return [one.minimum ?? -1, one.maximum ?? 1].map(String);
  return [];
}

it('config/openapi.json is the document of the operations that are always cached; "npm run docs" renders it', () => {
  expect(readFileSync(OPENAPI_FILE, 'utf8')).toBe(renderOpenApi());
});

it('each operation in use is in the document, with each parameter and header that it reads', () => {
  const described = Object.entries(paths).filter(([path]) => path.startsWith('/api/v3/'));
  const namesOf = (given: typeof paths) =>
    Object.keys(given).flatMap((path) => (path.startsWith('/api/v3/') ? path.replace('/api/v3/', '') : []));
  expect(namesOf(paths)).toEqual([...OPERATIONS.values()].flatMap(({ paths: names }) => names));
  expect(namesOf(documentOf(new OperationsInUse().all).paths)).toEqual(new OperationsInUse().names);
  for (const [path, { get, post }] of described) {
    const body = post?.requestBody.content['application/json']?.schema.properties;
    if (body !== undefined) expect(Object.keys(body)).toEqual(['address', 'method', 'stack']);
    const operation = new OperationsInUse([...OPERATIONS.keys()]).at(path);
    const namesIn = (place: string) =>
      (get ?? post)?.parameters.filter((each) => each.in === place).map(({ name }) => name);
    expect(namesIn('query'), path).toEqual([...(operation?.queryNames ?? [])]);
    expect(namesIn('header'), path).toEqual([...(operation?.headerNames ?? [])]);
    for (const { name, description } of get?.parameters ?? []) expect(description, `${path} ${name}`).not.toBe('');
  }
});

it('the document and the operation agree on which parameters are required and which values are accepted', () => {
  const tried: string[] = [];
  for (const operation of OPERATIONS.values()) {
    const refusalOf = (query: string) => {
      try {
        parseCall(operation, query, {});
        return '';
      } catch (error) {
        return String(error);
      }
    };
    for (const parameter of paths[`/api/v3/${operation.name}`]?.get?.parameters ?? []) {
      if (parameter.in === 'header') continue;
      const refused = RegExp(`(: |; )${parameter.name} `);
      expect(/ is missing/.test(refusalOf('').match(RegExp(`${refused.source}[^;]*`))?.[0] ?? '')).toBe(
        parameter.required,
      );
      for (const value of allowed(parameter)) {
        tried.push(value);
        expect(refusalOf(`${parameter.name}=${value}`), `${parameter.name}=${value}`).not.toMatch(refused);
      }
      const twice = refusalOf(`${parameter.name}=${HASH}&${parameter.name}=${HASH.replaceAll('a', 'c')}`);
      if (parameter.schema.type === 'array') expect(twice).not.toContain('with different values');
      const { maximum } = parameter.schema;
      if (maximum !== undefined) expect(refusalOf(`${parameter.name}=${maximum + 1}`)).toMatch(refused);
    }
  }
  expect(tried).toEqual(expect.arrayContaining(['in', 'desc', 'true', '0', '1000', '2147483647']));
});

it('each path of the admin port is in the document, with the access that it needs', async () => {
  await using proxy = await startProxy({ upstreamUrl: 'http://127.0.0.1:1' });
  const { error }: { error: string } = JSON.parse((await proxy.askAdmin('/no/such/path')).text);
  const adminPaths = error.replace('accepted: ', '').split(', ');
  expect(adminPaths.length).toBeGreaterThan(6);
  expect(Object.keys(paths).filter((path) => !path.startsWith('/api/v3/'))).toEqual(adminPaths);
  const guarded = Object.entries(paths).filter(([, { get, post }]) => (get ?? post)?.security !== undefined);
  expect(guarded.map(([path]) => path)).toEqual(['/purge', '/explain']);
});

it('a purge accepts each selector that the document names, and no other', () => {
  const { properties = {} } = paths['/purge']?.post?.requestBody.content['application/json']?.schema ?? {};
  const values: Readonly<Record<string, unknown>> = { seqno: 7, hash: HASH, account: ACCOUNT, all: true };
  for (const name of Object.keys(properties)) expect(parsePurge({ [name]: values[name] }).selector).toBe(name);
  expect(() => parsePurge({})).toThrow(`accepted: one of ${Object.keys(properties).join(', ')}`);
});

it('each failure that clients of an operation can get is among its documented responses', () => {
  const responses = paths['/api/v3/pendingTraces']?.get?.responses ?? {};
  const named = Object.values(responses).map(({ description }) => description);
  const elsewhere = ['not-found', 'method-not-allowed', 'client-closed-request', 'upstream-error'];
  const missing = Object.keys(FAILURES).filter((code) => !named.some((text) => text.includes(code)));
  expect(missing.toSorted()).toEqual(elsewhere.toSorted());
});
