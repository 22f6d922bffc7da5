import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answered } from '../support/http-client.ts';
import type { Reply } from '../support/start-proxy.ts';
import { Subjects } from './inputs/subjects.ts';
import { inputTable, type Row } from './inputs/table.ts';
import { KNOWN_DIFFERENCES, REFUSED_IN_OWN_WORDS } from './known-differences.ts';
import { World } from './world.ts';

/** The compared part of an answer; toncache sets all other headers. */
interface Compared {
  readonly status: number;
  readonly type: string | undefined;
  readonly digest: string;
}

interface Outcome {
  readonly row: Row;
  readonly indexer: Compared;
  readonly toncache: Compared;
}

const ROWS = inputTable();

function compared({ status, headers, digest }: Answered): Compared {
  return { status, type: headers['content-type'], digest };
}

function describeOutcome({ row, indexer, toncache }: Outcome): string {
  return `${indexer.status} -> ${toncache.status} ${row.name}`;
}

it('the table has at least 500 inputs', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(500);
});

describe.each(['1.2', '1.3'] as const)('the inputs of the table, in front of indexer %s', (version) => {
  const outcomes: Outcome[] = [];
  const refusals: { readonly row: Row; readonly reply: Reply }[] = [];
  let differing: Outcome[] = [];
  const known = KNOWN_DIFFERENCES.filter((difference) => (difference.version ?? version) === version);
  let world: World;

  beforeAll(async () => {
    world = await World.start({ dialect: version, tiers: 'memory alone' });
    const subjects = new Subjects(world);
    for (const row of ROWS) {
      const target = `/api/v3/${subjects.fill(row.target)}`;
      const asking = { method: row.method, headers: row.headers };
      const indexer = compared(await world.askIndexer(target, asking));
      const reply = await world.ask(target, asking);
      outcomes.push({ row, indexer, toncache: compared(reply) });
      if (reply.status === REFUSED_IN_OWN_WORDS) refusals.push({ row, reply });
    }
    differing = outcomes.filter(({ indexer, toncache }) => !isDeepStrictEqual(indexer, toncache));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('are answered by toncache as by the indexer, byte for byte, except for known differences', () => {
    const unlisted = differing.filter(({ row, indexer, toncache }) => {
      const isRefused = indexer.status === REFUSED_IN_OWN_WORDS && toncache.status === REFUSED_IN_OWN_WORDS;
      return !isRefused && !known.some(({ rows }) => rows.test(row.name));
    });
    expect(unlisted.map(describeOutcome)).toEqual([]);
  });

  it.each(known)('differ as documented, status $status: $reason', ({ rows, status }) => {
    const named = outcomes.filter(({ row }) => rows.test(row.name));
    expect(named).not.toEqual([]);
    const mended = named.filter((outcome) => !differing.includes(outcome) || outcome.toncache.status !== status);
    expect(mended.map(describeOutcome)).toEqual([]);
  });

  it('get the same content type from toncache and from the indexer, if both refuse them', () => {
    const refused = outcomes.filter(({ indexer, toncache }) => indexer.status === 422 && toncache.status === 422);
    expect(refused).not.toEqual([]);
    expect(refused.filter(({ indexer, toncache }) => indexer.type !== toncache.type).map(describeOutcome)).toEqual([]);
  });

  it('get the problem and the accepted values when toncache refuses them, and are not cached', () => {
    for (const { row, reply } of refusals) {
      expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
      expect(reply.cache).toEqual({ detail: 'invalid-request' });
      if (row.method === 'HEAD') continue;
      const { error, ...rest } = JSON.parse(reply.text);
      expect([row.name, error]).toEqual([row.name, expect.stringMatching(/accepted: .|should be specified/)]);
      expect(error.toLowerCase()).toMatch(new RegExp(`\\b${row.parameter ?? ''}\\b`));
      expect(rest).toEqual({});
    }
  });
});
