import { plainBodyOf } from '../cache/gzip.ts';
import { ProxyError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { readLt } from '../ton/lt.ts';
import { accountStates } from '../ton/operations/account-states.ts';
import { jettonWallets } from '../ton/operations/jetton-wallets.ts';
import type { Operation } from '../ton/operations.ts';
import { type WalletRow, walletRowsIn } from '../ton/owned-wallets.ts';
import { parseAnswer } from '../ton/parse-answer.ts';
import { type AskThroughCacheDependencies, askPastCache, askThroughCache } from './ask-for-follower.ts';
import type { LookedUp, OwnerSource } from './owner-look-ups.ts';

/** The operations by which owners are looked up. */
export const LOOKED_UP = [jettonWallets, accountStates];

/** A look-up reads no names: this is one short query of the database. */
const WITHOUT_NAMES: Pairs = [
  ['X-No-Address-Book', 'true'],
  ['X-No-Metadata', 'true'],
];

/**
 * Looks up owners at the indexer. The first look-up of a block goes through the cache, so that instances share it; all
 * others go past it, and are not kept.
 */
export class IndexerOwners implements OwnerSource {
  readonly #dependencies: AskThroughCacheDependencies;

  constructor(dependencies: AskThroughCacheDependencies) {
    this.#dependencies = dependencies;
  }

  async wallets(accounts: readonly string[], seqno: number, isShared: boolean): Promise<LookedUp | undefined> {
    const query: Pairs = [...addressesOf(accounts), ['limit', '1000']];
    const found = await this.#ask(jettonWallets, query, WITHOUT_NAMES, seqno, isShared);
    const rows = found && walletRowsIn(found.body['jetton_wallets']);
    return rows && { rows, lts: new Map(rows.map(({ address, lt }) => [address, lt])), indexer: found.indexer };
  }

  /** The owners stand in the metadata, which the indexer reads after the states. */
  async states(accounts: readonly string[], seqno: number): Promise<LookedUp | undefined> {
    const query: Pairs = [...addressesOf(accounts), ['include_boc', 'false']];
    const found = await this.#ask(accountStates, query, [['X-No-Address-Book', 'true']], seqno);
    const lts = found && stateLtsIn(found.body);
    const rows = lts && walletsInMetadata(found.body, lts);
    return rows && { rows, lts, indexer: found.indexer };
  }

  async #ask(
    operation: Operation,
    query: Pairs,
    headers: Pairs,
    seqno: number,
    isShared = false,
  ): Promise<{ readonly body: JsonObject; readonly indexer: string } | undefined> {
    // Without evidence and retention, this answer is neither proven nor compared: exact logical times decide what it shows.
    const { evidence: _, touchedBy: __, ...plain } = operation;
    const lookUp = { ...plain, retention: undefined, masterchainSeqno: () => seqno };
    const call = { operation: lookUp, request: { query, headers }, tags: [] };
    const got = isShared
      ? await askThroughCache(this.#dependencies, call)
      : await askPastCache(this.#dependencies, call);
    if (got === undefined || got instanceof ProxyError) return undefined;
    const entry = 'entry' in got ? got.entry : got;
    const body = parseAnswer(await plainBodyOf(entry.content));
    return isObject(body) ? { body, indexer: entry.meta.indexer } : undefined;
  }
}

function addressesOf(accounts: readonly string[]): Pairs {
  return accounts.map((account) => ['address', account] as const);
}

function stateLtsIn({ accounts }: JsonObject): Map<string, bigint> | undefined {
  if (!Array.isArray(accounts)) return undefined;
  const states = accounts.map((row: unknown) => {
    const lt = isObject(row) ? readLt(row['last_transaction_lt']) : undefined;
    return isObject(row) && typeof row['address'] === 'string' && lt !== undefined
      ? ([row['address'].toUpperCase(), lt] as const)
      : undefined;
  });
  return states.every((state) => state !== undefined) ? new Map(states) : undefined;
}

/**
 * The jetton wallets among accounts, by their metadata; `undefined` for a body without metadata, or with a wallet
 * without an owner. Metadata does not show their newest transactions, so those of the states count.
 */
function walletsInMetadata(
  { metadata }: JsonObject,
  lts: ReadonlyMap<string, bigint>,
): readonly WalletRow[] | undefined {
  if (!isObject(metadata)) return undefined;
  const wallets = Object.entries(metadata).flatMap(([account, about]) => {
    const address = account.toUpperCase();
    const lt = lts.get(address);
    const infos = isObject(about) && Array.isArray(about['token_info']) ? about['token_info'] : [];
    const info = infos.find((each: unknown) => isObject(each) && each['type'] === 'jetton_wallets');
    if (lt === undefined || !isObject(info)) return [];
    const { owner, jetton } = isObject(info['extra']) ? info['extra'] : {};
    if (typeof owner !== 'string' || typeof jetton !== 'string') return [undefined];
    return [
      {
        address,
        owner: owner.toUpperCase(),
        jetton: jetton.toUpperCase(),
        lt,
        isByState: true as const,
        isZero: false,
      },
    ];
  });
  return wallets.every((wallet) => wallet !== undefined) ? wallets : undefined;
}
