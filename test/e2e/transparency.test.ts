import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressSpellings, decodeAddress, hashSpellings } from '../../src/tools/simulator/spellings.ts';
import { sendTrace, settledTrace, someHash, targetOf } from './questions.ts';
import { WORLDS, World } from './world.ts';

/** A parameter in its canonical form. */
interface Parameter {
  readonly name: string;
  readonly value: string;
}

interface Question {
  readonly operation: string;
  readonly parameters: readonly Parameter[];
  readonly headers: Readonly<Record<string, string>>;
}

/** How often a random question is written anew. */
const RUNS = 60;

describe.each(WORLDS)('the proxy before indexer $dialect, $tiers', (kind) => {
  let world: World;
  let hashes: string[];
  let messages: string[];
  let accounts: string[];
  let seqnos: string[];

  beforeAll(async () => {
    world = await World.start(kind);
    const settled = settledTrace(world).transactions;
    const pending = Array.from({ length: 4 }, () => sendTrace(world));
    hashes = [...settled.map(({ hash }) => hash), someHash()];
    messages = [...pending.map(({ externalHash }) => externalHash), someHash()];
    accounts = pending.flatMap(({ transactions }) => transactions.map(({ account }) => account.address));
    accounts.push(world.indexer.chain.accounts.elector.address);
    const head = world.indexer.chain.headSeqno;
    seqnos = [head + 1, head, head - 1, head - 7, 1].map(String);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const variantHeaders = fc.record(
    { 'X-Actions-Version': fc.constantFrom('v1', 'latest'), 'X-No-Address-Book': fc.constantFrom('true', '0') },
    { requiredKeys: [] },
  );

  function several(name: string, values: () => readonly string[], maxLength: number): fc.Arbitrary<Parameter[]> {
    return fc
      .array(fc.nat(), { maxLength })
      .map((places) => places.map((place) => ({ name, value: values()[place % values().length] ?? '' })));
  }

  function atMostOne(name: string, ...values: string[]): fc.Arbitrary<Parameter[]> {
    return fc.option(fc.constantFrom(...values), { nil: undefined }).map((value) => {
      return value === undefined ? [] : [{ name, value }];
    });
  }

  function one(name: string, values: () => readonly string[]): fc.Arbitrary<Parameter[]> {
    return fc.nat().map((place) => [{ name, value: values()[place % values().length] ?? '' }]);
  }

  function question(operation: string, ...parameters: fc.Arbitrary<Parameter[]>[]): fc.Arbitrary<Question> {
    const headers = operation === 'masterchainBlockShards' ? fc.constant({}) : variantHeaders;
    return fc.tuple(fc.tuple(...parameters), headers).map(([given, chosen]) => {
      return { operation, parameters: given.flat(), headers: Object.fromEntries(Object.entries(chosen)) };
    });
  }

  const questions = fc.oneof(
    question(
      'pendingTraces',
      several('account', () => accounts, 3),
      several('ext_msg_hash', () => messages, 3),
      atMostOne('x_no_metadata', 'true', 'false'),
    ),
    question(
      'adjacentTransactions',
      one('hash', () => hashes),
      atMostOne('direction', 'in', 'out'),
      atMostOne('x_no_address_book', '1', 'f'),
    ),
    question(
      'masterchainBlockShards',
      one('seqno', () => seqnos),
      atMostOne('limit', '1', '2', '10', '100', '1000'),
      atMostOne('offset', '0', '1', '3', '9'),
      atMostOne('sort', 'asc', 'desc'),
    ),
  );

  /** One of the ways to write the same question; each number of `whims` decides one thing. */
  function written({ operation, parameters }: Question, whims: readonly number[]): string {
    let place = 0;
    const whim = <T>(choices: readonly T[]): T => {
      const chosen = choices[(whims[place++ % whims.length] ?? 0) % choices.length];
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    };
    const pairs = parameters.map(({ name, value }) => {
      const id = name === 'account' ? decodeAddress(value) : undefined;
      const isHash = name === 'hash' || name === 'ext_msg_hash';
      const spellings: string[] = id === undefined ? [value] : Object.values(addressSpellings(id));
      if (isHash) spellings.push(...Object.values(hashSpellings(Buffer.from(value, 'base64'))));
      const spelling = whim(spellings);
      const encoded = whim([encodeURIComponent(spelling), spelling]);
      return `${whim([name, name.toUpperCase(), `${name}[]`, `${name}%5B%5D`])}=${encoded}`;
    });
    const noise = [`_=${whim([1, 2, 3])}`, 'include_actions=true', ''].slice(whim([0, 1, 2, 3]));
    const path = whim([operation, operation.toLowerCase(), `${operation}/`]);
    return `/api/v3/${path}?${[...noise, ...pairs].join('&')}`;
  }

  function canonical({ operation, parameters }: Question): string {
    const values = Map.groupBy(parameters, ({ name }) => name);
    return targetOf(
      operation,
      Object.fromEntries([...values].map(([name, given]) => [name, given.map(({ value }) => value)])),
    );
  }

  const whims = fc.array(fc.nat(1000), { minLength: 5, maxLength: 25 });

  it('answers any request, in any spelling, as the indexer answers its canonical form', async () => {
    await fc.assert(
      fc.asyncProperty(questions, whims, whims, async (asked, first, second) => {
        const { headers } = asked;
        const direct = await world.askIndexer(canonical(asked), { headers });
        const reply = await world.ask(written(asked, first), { headers });
        if (direct.status !== 422) expect([reply.status, reply.digest]).toEqual([direct.status, direct.digest]);
        else expect(reply.status).toBe(422);
        const again = await world.ask(written(asked, second), { headers });
        expect([again.status, again.digest]).toEqual([reply.status, reply.digest]);
        if (direct.status !== 422) expect(again.cache).toMatchObject({ hit: true, detail: 'memory' });
      }),
      { numRuns: RUNS },
    );
  });
});
