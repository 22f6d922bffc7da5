import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { digest } from '../../../src/simulator/seeded-random.ts';
import { addressSpellings } from '../../../src/simulator/spellings.ts';
import { type Asking, askJson } from './ask-indexer.ts';
import { type InputsWorld, startInputsWorld, VERSIONS } from './inputs-world.ts';

const NOTHING = encodeURIComponent(digest('nobody has sent this'));

let world: InputsWorld;

async function start(dialect: Dialect): Promise<void> {
  world = await startInputsWorld(dialect);
}

afterEach(() => world.indexer.close());

const asked: InputsWorld['asked'] = (target, headers) => world.asked(target, headers);

async function actionsOf(target: string, headers: Asking['headers'] = {}): Promise<string[]> {
  const { body } = await askJson(world.indexer, `/api/v3/${target}`, { headers });
  return body.traces?.flatMap(({ actions }) => actions.map(({ type }) => type)) ?? [];
}

describe.each(VERSIONS)('the inputs of version %s that change an answer', (dialect) => {
  beforeEach(() => start(dialect));

  it('reads any direction but in and out as both', async () => {
    const target = `adjacentTransactions?hash=${world.hash}`;
    const [both, inward, outward] = [
      await asked(target),
      await asked(`${target}&direction=in`),
      await asked(`${target}&direction=out`),
    ];
    expect(new Set([both, inward, outward]).size).toBe(3);
    for (const word of ['both', '--', '', 'IN', 'all', 'in,out', 'up']) {
      expect([word, await asked(`${target}&direction=${word}`)]).toEqual([word, both]);
    }
    expect(await asked(`${target}&direction[0]=in`)).toBe(both);
    expect(await asked(`${target}&direction[]=in`)).toBe(inward);
    expect(await asked(`${target}&direction=in&direction=out`)).toBe(outward);
    expect(await asked(`${target}&DIRECTION=in`)).toBe(inward);
  });

  it('takes the last of several hashes', async () => {
    const target = `adjacentTransactions?hash=${world.hash}`;
    expect(await asked(`adjacentTransactions?hash=nothing&hash=${world.hash}`)).toBe(await asked(target));
    expect(await asked(`${target}&hash=${NOTHING}`)).toMatch(/^404 /);
    expect(await asked(`${target}&hash=nothing`)).toMatch(/^422 /);
  });

  it('answers adjacentTransactions without a hash with its own status', async () => {
    const status = { spec: 422, '1.2': 404, '1.3': 500 }[dialect];
    expect(await asked('adjacentTransactions')).toMatch(new RegExp(`^${status} `));
    expect(await asked(`adjacentTransactions?hash[0]=${world.hash}`)).toMatch(new RegExp(`^${status} `));
  });

  it('accepts any limit up to 1000 and any int32 as offset', async () => {
    const target = `masterchainBlockShards?seqno=${world.seqno}`;
    const one = await asked(`${target}&limit=1`);
    for (const limit of ['0', '-1', '', '+1', '01', '-2147483648']) {
      expect([limit, await asked(`${target}&limit=${limit.replace('+', '%2B')}`)]).toEqual([limit, one]);
    }
    for (const offset of ['0', '-1', '', '-0']) {
      expect([offset, await asked(`${target}&limit=1&offset=${offset}`)]).toEqual([offset, one]);
    }
    expect(await asked(`${target}&limit=2&limit=1`)).toBe(one);
    expect(await asked(`${target}&limit=1&offset=1`)).not.toBe(one);
    expect(await asked(`${target}&limit[0]=1&offset[0]=1`)).toBe(await asked(target));
    expect(await asked(`${target}&limit[]=1`)).toBe(one);
    expect(await asked(`${target}&limit=1000`)).toBe(await asked(target));
    expect(await asked(`${target}&limit=2147483648`)).toMatch(/^422 /);
  });

  it('empties address book and metadata on request', async () => {
    const target = `pendingTraces?ext_msg_hash=${world.message}`;
    const whole = await asked(target);
    const noBook = await asked(target, { 'X-No-Address-Book': 'true' });
    const noMetadata = await asked(target, { 'x-no-metadata': '1' });
    expect(new Set([whole, noBook, noMetadata]).size).toBe(3);
    for (const flag of ['1', 't', 'T', 'true', 'TRUE', 'True']) {
      expect(await asked(`${target}&x_no_address_book=${flag}`)).toBe(noBook);
    }
    for (const flag of ['yes', '', 'tRUE', '2', 'false', 'F', '0']) {
      expect(await asked(`${target}&x_no_address_book=${flag}`)).toBe(whole);
      // The header wins, whatever it says.
      expect(await asked(`${target}&x_no_address_book=true`, { 'X-No-Address-Book': flag })).toBe(whole);
    }
    expect(await asked(`${target}&x_no_metadata=false&x_no_metadata=true`)).toBe(noMetadata);
    expect(await asked(target, { 'X-No-Metadata': ['true', 'false'] })).toBe(noMetadata);
    for (const unread of ['X_No_Metadata=true', 'x_no_metadata[]=true', '_=1&include_actions=true&z=%zz&%=%']) {
      expect([unread, await asked(`${target}&${unread}`)]).toEqual([unread, whole]);
    }
  });

  it('decodes the actions that the client can read', async () => {
    const target = `pendingTraces?ext_msg_hash=${world.message}`;
    const all = ['contract_call', 'multisig_approve', 'dns_purchase', 'nft_transfer'];
    const words: [string, string[]][] = [
      ['v1', []],
      ['v2', ['contract_call', 'multisig_approve']],
      ['latest', all],
      ['multisig_approve', ['multisig_approve']],
      ['nft', ['nft_transfer']],
      ['nft.v3', ['dns_purchase', 'nft_transfer']],
      ['dns.v2', ['dns_purchase']],
      ['', []],
      ['V2', []],
      ['v1,v2', []],
      ['constructor', []],
    ];
    for (const [word, types] of words) {
      expect([word, await actionsOf(target, { 'X-Actions-Version': word })]).toEqual([word, types]);
      expect([word, await actionsOf(`${target}&supported_action_types=${word}`)]).toEqual([word, types]);
    }
    const several = `${target}&supported_action_types=nft&supported_action_types[]=dns.v2&supported_action_types=`;
    expect(await actionsOf(several)).toEqual(['dns_purchase', 'nft_transfer']);
    expect(await actionsOf(several, { 'X-Actions-Version': '' })).toEqual([]);
    expect(await actionsOf(target, { 'X-Actions-Version': ['latest', 'v1'] })).toEqual(all);
    for (const unread of ['x_actions_version=latest', 'supported_action_types[0]=latest']) {
      expect(await actionsOf(`${target}&${unread}`)).toEqual([]);
    }
  });

  it('splits lists of hashes at their commas, and finds nothing for an empty one', async () => {
    const one = await asked(`pendingTraces?ext_msg_hash=${world.message}`);
    const none = await asked(`pendingTraces?ext_msg_hash=${NOTHING}`);
    expect(none).toMatch(/^200 /);
    for (const list of [
      `${world.message},`,
      `,${world.message}`,
      `${NOTHING},${world.message}`,
      `${NOTHING}&ext_msg_hash=${world.message}`,
    ]) {
      expect([list, await asked(`pendingTraces?ext_msg_hash=${list}`)]).toEqual([list, one]);
    }
    for (const list of ['', ',', ',,', '&ext_msg_hash=']) {
      expect([list, await asked(`pendingTraces?ext_msg_hash=${list}`)]).toEqual([list, none]);
    }
    expect(await asked(`pendingTraces?ext_msg_hash[]=${world.message}`)).toBe(one);
    expect(await asked(`pendingTraces?ext_msg_hash[0]=${world.message}`)).toMatch(/^422 /);
    expect(await asked(`pendingTraces?ext_msg_hash=${world.message},nothing`)).toMatch(/^422 /);
    const many = Array.from({ length: 200 }, (_, n) => encodeURIComponent(digest(n))).join(',');
    expect(await asked(`pendingTraces?ext_msg_hash=${many},${world.message}`)).toBe(one);
  });

  it('reads the last account, before any message', async () => {
    const known = await asked(`pendingTraces?account=${world.sender.address}`);
    const [stranger] = world.indexer.chain.accounts.masterchain;
    expect(known).toContain(decodeURIComponent(world.message));
    expect(await asked(`pendingTraces?account=nobody&account=${world.sender.address}`)).toBe(known);
    expect(await asked(`pendingTraces?account=${stranger?.address}&account[]=${world.sender.address}`)).toBe(known);
    expect(await asked(`pendingTraces?account=${world.sender.address}&account=${stranger?.address}`)).not.toBe(known);
    expect(await asked(`pendingTraces?account=${world.sender.address}&account[0]=${stranger?.address}`)).toBe(known);
    expect(await asked(`pendingTraces?account=${world.sender.address}&ext_msg_hash=${NOTHING}`)).toBe(known);
    expect(await asked(`pendingTraces?account=${world.sender.address}&ext_msg_hash=nothing`)).toMatch(/^422 /);
    for (const raw of [
      world.sender.address.replace('0:', '00:'),
      world.sender.address.replace('0:', '%2B0:'),
      world.sender.address.replace('0:', '-0:'),
    ]) {
      expect(await asked(`pendingTraces?account=${raw}`)).toBe(known);
    }
    const { bounceable } = addressSpellings({ workchain: 0, hash: world.sender.hash });
    expect(await asked(`pendingTraces?account=${encodeURIComponent(bounceable)}`)).toBe(known);
  });

  it('answers a tiny timeout with false absences', async () => {
    for (const target of [`adjacentTransactions?hash=${world.hash}`, `masterchainBlockShards?seqno=${world.seqno}`]) {
      const answered = await asked(target);
      expect(answered).toMatch(/^200 /);
      for (const timeout of ['1', '0', '-1']) {
        expect(await asked(`${target}&x_timeout=${timeout}`)).toMatch(/^404 /);
        expect(await asked(target, { 'X-Timeout': timeout })).toMatch(/^404 /);
      }
      for (const timeout of ['', 'soon', '3000', '99999999999']) {
        expect(await asked(`${target}&x_timeout=${timeout}`)).toBe(answered);
      }
    }
    expect(await asked(`pendingTraces?ext_msg_hash=${world.message}&x_timeout=1`)).toMatch(/^500 /);
  });
});
