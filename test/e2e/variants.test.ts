import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Asking } from '../support/http-client.ts';
import { newestBlock, sendTrace, settledParent, targetOf } from './questions.ts';
import { WORLDS, World } from './world.ts';

/** All headers of a request that the indexer may see, in addition to the inputs that change its answer. */
const OWN_HEADERS = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent', 'x-request-id'];

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** A trace whose actions differ between the versions. */
function fullTrace(): string {
  for (;;) {
    const { externalHash, transactions } = sendTrace(world);
    if (transactions.length > 5) return targetOf('pendingTraces', { ext_msg_hash: externalHash });
  }
}

function header(name: string, value: string): Asking {
  return { headers: { [name]: value } };
}

describe.each(WORLDS)('inputs that change the answer, in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('make separate entries, each with the answer of the indexer', async () => {
    const target = fullTrace();
    const variants: [string, Asking][] = [
      ['', {}],
      ['', header('X-Actions-Version', 'v1')],
      ['', header('X-Actions-Version', 'latest')],
      ['&supported_action_types=ton_transfer', {}],
      ['', header('X-No-Address-Book', 'true')],
      ['', header('X-No-Metadata', 'true')],
      ['', { headers: { 'X-No-Metadata': 'true', 'X-No-Address-Book': 'true' } }],
    ];
    for (const [query, asking] of variants) {
      const { digest, cache } = await world.ask(target + query, asking);
      expect([query, asking, cache['fwd']]).toEqual([query, asking, 'miss']);
      expect(digest).toBe((await world.askIndexer(target + query, asking)).digest);
    }
    expect(world.forwarded).toHaveLength(variants.length);
    for (const [query, asking] of variants) {
      const { digest, cache } = await world.ask(target + query, asking);
      expect(cache).toMatchObject({ hit: true });
      expect(digest).toBe((await world.askIndexer(target + query, asking)).digest);
    }
    expect(world.forwarded).toHaveLength(variants.length);
  });

  it('share an entry as header or query parameter, and in every spelling of a flag', async () => {
    const target = fullTrace();
    const alike: [string, Asking][][] = [
      [
        ['', {}],
        ['', header('X-No-Metadata', 'false')],
        ['&x_no_metadata=0', {}],
        ['&x_no_metadata=yes&x_no_address_book=', header('X-No-Address-Book', 'maybe')],
        ['&x_no_address_book=F', header('X-No-Metadata', 'FALSE')],
        // The header wins, as it does in the indexer.
        ['&x_no_metadata=true', header('X-No-Metadata', 'false')],
      ],
      [
        ['', header('X-No-Metadata', 'true')],
        ['', header('X-No-Metadata', '1')],
        ['', { headers: { 'X-No-Metadata': ['true', 'True'] } }],
        ['&x_no_metadata=T', {}],
        ['&X_No_Metadata=TRUE', {}],
        ['&x_no_metadata=false', header('x-no-metadata', 'True')],
      ],
      [
        ['', header('X-Actions-Version', 'latest')],
        ['&supported_action_types=latest', {}],
        ['&supported_action_types=v1', header('X-Actions-Version', 'latest')],
      ],
      [
        ['&supported_action_types=ton_transfer&supported_action_types=contract_call', {}],
        ['&supported_action_types=contract_call&supported_action_types=ton_transfer', {}],
        ['&supported_action_types[]=contract_call&supported_action_types[]=ton_transfer'.repeat(2), {}],
      ],
      [
        ['', header('X-Actions-Version', 'ton_transfer')],
        ['&supported_action_types=ton_transfer', {}],
      ],
      [['&supported_action_types=ton_transfer,contract_call', {}]],
      [['&supported_action_types=TON_TRANSFER', {}]],
    ];
    for (const [place, spellings] of alike.entries()) {
      const digests = new Set<string>();
      for (const [query, asking] of spellings) digests.add((await world.ask(target + query, asking)).digest);
      expect([place, digests.size, world.forwarded.length]).toEqual([place, 1, place + 1]);
    }
  });

  it('are sent in a form that the indexer understands: several action types', async () => {
    const target = fullTrace();
    const repeated = '&supported_action_types=contract_call&supported_action_types=ton_transfer';
    const direct = await world.askIndexer(target + repeated);
    expect(JSON.parse(direct.text).traces[0].actions).toHaveLength(1);
    expect((await world.ask(target + repeated)).digest).toBe(direct.digest);
  });

  it('count only for operations that read them', async () => {
    const adjacent = targetOf('adjacentTransactions', { hash: settledParent(world).hash });
    const blockSet = newestBlock(world);
    const plain = await world.ask(adjacent);
    for (const asking of [header('X-Actions-Version', 'v2'), header('X-No-Metadata', 'true')]) {
      expect(await world.ask(adjacent, asking)).toMatchObject({ digest: plain.digest, cache: { hit: true } });
    }
    const without = await world.ask(adjacent, header('X-No-Address-Book', 'true'));
    expect(without.cache).toMatchObject({ fwd: 'miss' });
    expect(JSON.parse(without.text).address_book).toEqual({});
    await world.ask(blockSet);
    const all = { 'X-Actions-Version': 'v2', 'X-No-Metadata': 'true', 'X-No-Address-Book': 'true' };
    expect((await world.ask(`${blockSet}&x_no_address_book=1`, { headers: all })).cache).toMatchObject({ hit: true });
    expect(world.forwarded).toHaveLength(3);
  });

  it('are all that is sent: unknown parameters, keys, timeouts and cookies are not', async () => {
    const target = fullTrace();
    await world.ask(target);
    const noise = '&_=1700000000000&include_actions=true&x_timeout=1&api_key=secret&traceId=1&limit=many&%5F=%FF';
    const headers = {
      'X-Timeout': '1',
      'X-Api-Key': 'secret',
      Cookie: 'session=1',
      Authorization: 'Bearer secret',
      'User-Agent': 'wallet/1.0',
      'Accept-Language': 'en',
      'X-Forwarded-For': '10.0.0.1',
      'X-Request-Id': 'mine',
      Origin: 'https://wallet.example',
      Referer: 'https://wallet.example/',
    };
    expect((await world.ask(target + noise, { headers })).cache).toMatchObject({ hit: true });
    const fresh = targetOf('adjacentTransactions', { hash: settledParent(world).hash });
    const { status } = await world.ask(fresh + noise, { headers });
    expect(status).toBe(200);
    const asked = world.forwarded.at(-1);
    expect(asked?.target).toBe(fresh);
    expect(Object.keys(asked?.headers ?? {}).sort()).toEqual(OWN_HEADERS);
    expect(JSON.stringify(asked?.headers)).not.toMatch(/secret|wallet/);
    expect(world.forwarded).toHaveLength(2);
  });
});
