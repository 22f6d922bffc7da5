import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressSpellings, hashSpellings } from '../../src/tools/simulator/spellings.ts';
import { sendTrace, settledParent, someHash, targetOf } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** Every way in which clients send a value: percent-encoded, or base64 as it is. */
function writings(spellings: object): string[] {
  const plain: string[] = Object.values(spellings);
  // A form encoder that met a raw plus before us has made it a space.
  const spaced = plain.map((spelling) => encodeURIComponent(spelling.replaceAll('+', ' ')));
  return [...new Set([...plain, ...plain.map(encodeURIComponent), ...spaced])];
}

/** A hash whose base64 has a plus and a slash. */
function awkwardHash(): string {
  for (;;) {
    const hash = someHash();
    if (hash.includes('+') && hash.includes('/')) return hash;
  }
}

async function allAnswerAlike(targets: readonly string[]): Promise<string> {
  const before = world.forwarded.length;
  const [first, ...others] = await Promise.all(targets.map((target) => world.ask(target)));
  for (const { status, digest } of others) expect([status, digest]).toEqual([first?.status, first?.digest]);
  for (const target of targets) expect([target, (await world.ask(target)).cache['hit']]).toEqual([target, true]);
  expect(world.forwarded).toHaveLength(before + 1);
  return world.forwarded.at(-1)?.target ?? '';
}

describe.each(WORLDS)('spellings before indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('of one account are one request, in the canonical form', async () => {
    const { accounts } = world.indexer.chain;
    for (const account of [accounts.wallets[0], accounts.elector]) {
      if (account === undefined) throw new Error('no account');
      const values = writings(addressSpellings(account));
      // Beside an account an empty hash names nothing.
      const queries = [...values, `${values[0]}&ext_msg_hash=`].map((value) => `account=${value}`);
      const asked = await allAnswerAlike(queries.map((query) => `/api/v3/pendingTraces?${query}`));
      expect(asked).toBe(`/api/v3/pendingTraces?account=${encodeURIComponent(account.address)}`);
    }
  });

  it('of one hash are one request, in the canonical form', async () => {
    const hash = awkwardHash();
    const values = writings(hashSpellings(Buffer.from(hash, 'base64')));
    const asked = await allAnswerAlike(
      values.map((value) => `/api/v3/adjacentTransactions?direction=out&hash=${value}`),
    );
    expect(asked).toBe(`/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=out`);
  });

  it('of one external message are one request, in the canonical form', async () => {
    const { externalHash } = sendTrace(world);
    const values = writings(hashSpellings(Buffer.from(externalHash, 'base64')));
    const targets = values.map((value) => `/api/v3/pendingTraces?ext_msg_hash=${value}`);
    const asked = await allAnswerAlike([...targets, ...targets.map((target) => `${target}&ext_msg_hash=${values[0]}`)]);
    expect(asked).toBe(targetOf('pendingTraces', { ext_msg_hash: externalHash }));
    expect((await world.ask(targets[0] ?? '')).text).toContain(externalHash);
  });

  it('of a set of external messages are one request: order, repeats and commas do not matter', async () => {
    const hashes = [sendTrace(world).externalHash, sendTrace(world).externalHash, someHash()];
    const [a = '', b = '', c = ''] = hashes.map(encodeURIComponent);
    const hex = Buffer.from(hashes[0] ?? '', 'base64').toString('hex');
    const asked = await allAnswerAlike(
      [
        `ext_msg_hash=${a}&ext_msg_hash=${b}&ext_msg_hash=${c}`,
        `ext_msg_hash=${c}&ext_msg_hash=${b}&ext_msg_hash=${a}`,
        `ext_msg_hash=${a},${b},${c}`,
        `ext_msg_hash=,${a}&ext_msg_hash=${b},,${c},&ext_msg_hash=`,
        `ext_msg_hash=${c}%2C${a}&ext_msg_hash=${b}`,
        `ext_msg_hash[]=${a}&ext_msg_hash[]=${b}&ext_msg_hash[]=${c}`,
        `ext_msg_hash%5B%5D=${a}&ext_msg_hash%5b0%5d=${b}&ext_msg_hash[12]=${c}`,
        `EXT_MSG_HASH=${a}&Ext_Msg_Hash=${b}&ext%5Fmsg%5Fhash=${c}`,
        `ext_msg_hash=${a}&ext_msg_hash=${hex}&ext_msg_hash=0x${hex.toUpperCase()},${c},${b},${b}`,
      ].map((query) => `/api/v3/pendingTraces?${query}`),
    );
    for (const value of [a, b, c]) expect(asked).toContain(value);
    const { text } = await world.ask(`/api/v3/pendingTraces?ext_msg_hash=${a},${b},${c}`);
    expect(JSON.parse(text).traces).toHaveLength(2);
  });

  it('of accounts keep their order, and the last of equal ones', async () => {
    const [a, b] = world.indexer.chain.accounts.wallets;
    if (a === undefined || b === undefined) throw new Error('no wallets');
    const asked = await allAnswerAlike(
      [
        [a.address, b.address],
        [b.address, a.address, b.friendly],
        [a.friendly, a.address, b.address.toLowerCase()],
      ].map((account) => targetOf('pendingTraces', { account })),
    );
    expect(asked).toBe(targetOf('pendingTraces', { account: [a.address, b.address] }));
    const other = await world.ask(targetOf('pendingTraces', { account: [b.address, a.address] }));
    expect(other.cache).toMatchObject({ fwd: 'miss' });
  });

  it('of a number and of names are one request', async () => {
    const seqno = world.indexer.chain.headSeqno;
    const asked = await allAnswerAlike(
      [
        `seqno=${seqno}&limit=50&offset=0`,
        `offset=0&limit=50&seqno=${seqno}`,
        `seqno=00${seqno}&limit=050&offset=000`,
        `SeqNo=${seqno}&LIMIT=50&oFFset=0`,
        `%73eqno=${seqno}&limit=%35%30&offset=0`,
        `seqno[]=${seqno}&limit%5b%5d=50&offset=0&limit[0]=7&seqno[0]=8`,
        `&&seqno=${seqno}&limit=50&&offset=0`,
        `seqno=${seqno}&limit=50&offset=&SEQNO=0${seqno}&limit=050&offset=0&sort=`,
      ].map((query) => `/api/v3/masterchainBlockShards?${query}`),
    );
    expect(asked).toBe(targetOf('masterchainBlockShards', { seqno, limit: 50, offset: 0 }));
  });

  it('of both directions are one request: any value but in and out selects both', async () => {
    const { hash } = settledParent(world);
    const encoded = encodeURIComponent(hash);
    const words = ['', 'both', '--', 'IN', 'all', '%zz', 'both&direction=--'];
    const asked = await allAnswerAlike([
      `/api/v3/adjacentTransactions?hash=${encoded}`,
      ...words.map((word) => `/api/v3/adjacentTransactions?hash=${encoded}&direction=${word}`),
      `/api/v3/adjacentTransactions?direction[0]=in&hash=${encoded}&hash=${encoded}&%zz=%zz`,
    ]);
    expect(asked).toBe(targetOf('adjacentTransactions', { hash }));
  });

  it('of no external message are one request, which the indexer answers', async () => {
    const queries = ['ext_msg_hash=', 'ext_msg_hash', 'ext_msg_hash[]=,', 'ext_msg_hash=&ext_msg_hash='];
    const targets = queries.map((query) => `/api/v3/pendingTraces?${query}`);
    const direct = await world.askIndexer(targets[0] ?? '');
    for (const target of targets) {
      expect(await world.ask(target)).toMatchObject({ status: direct.status, digest: direct.digest });
      expect(world.forwarded.at(-1)?.target).toBe(targets[0]);
    }
  });

  it('are never mistaken for another request: an omitted parameter stays omitted', async () => {
    let seqno = world.indexer.chain.headSeqno;
    // Each about a block of its own: a complete list answers other limits too.
    const ofNextBlock = (more = {}) => targetOf('masterchainBlockShards', { seqno: seqno--, ...more });
    const { hash } = settledParent(world);
    const targets = [
      ofNextBlock(),
      ofNextBlock({ limit: 10 }),
      ofNextBlock({ limit: 100 }),
      ofNextBlock({ offset: 0 }),
      ofNextBlock({ limit: 100, offset: 0 }),
      targetOf('masterchainBlockShards', { seqno, sort: 'asc' }),
      targetOf('masterchainBlockShards', { seqno, sort: 'desc' }),
      targetOf('adjacentTransactions', { hash }),
      targetOf('adjacentTransactions', { hash, direction: 'in' }),
      targetOf('adjacentTransactions', { hash, direction: 'out' }),
      targetOf('pendingTraces', { ext_msg_hash: hash }),
    ];
    for (const target of targets) expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss' });
    expect(world.forwarded.map(({ target }) => target)).toEqual(targets);
  });
});

describe('spellings that an indexer does not accept', () => {
  it('are answered in spite of that: unpadded base64 before indexer 1.2', async () => {
    world = await World.start({ ...ANY_WORLD, dialect: '1.2' });
    const { base64, base64urlUnpadded } = hashSpellings(Buffer.from(settledParent(world).hash, 'base64'));
    const direct = await world.askIndexer(`/api/v3/adjacentTransactions?hash=${base64urlUnpadded}`);
    expect(direct.status).toBe(422);
    const { status, digest } = await world.ask(`/api/v3/adjacentTransactions?hash=${base64urlUnpadded}`);
    expect(status).toBe(200);
    expect(digest).toBe((await world.askIndexer(targetOf('adjacentTransactions', { hash: base64 }))).digest);
  });
});
