import { Client, type HeardAnswer, type Spelling } from './client.ts';
import { explore, type Habit, scan, transfer, type World } from './habits.ts';

type Member = readonly [
  name: string,
  habit: Habit,
  address: Spelling['address'],
  hash: Spelling['hash'],
  style: Spelling['style'],
];

// No two of a kind write alike, so that a key which tells spellings apart would show.
const MEMBERS: readonly Member[] = [
  ['wallet 1', transfer, 'raw', 'base64', 'encoded'],
  ['wallet 2', transfer, 'bounceableUrl', 'hex', 'encoded'],
  ['wallet 3', transfer, 'nonBounceableUrl', 'base64', 'raw'],
  ['wallet 4', transfer, 'nonBounceable', 'base64url', 'axios'],
  ['wallet 5', transfer, 'rawLower', 'hexPrefixed', 'loud'],
  ['wallet 6', transfer, 'bounceable', 'base64Unpadded', 'encoded'],
  ['wallet 7', transfer, 'testnetBounceable', 'hexUpper', 'encoded'],
  ['wallet 8', transfer, 'testnetNonBounceableUrl', 'base64urlUnpadded', 'raw'],
  ['scanner 1', scan, 'raw', 'base64', 'encoded'],
  ['scanner 2', scan, 'raw', 'base64', 'loud'],
  ['scanner 3', scan, 'raw', 'base64', 'axios'],
  ['explorer 1', explore, 'raw', 'hex', 'encoded'],
  ['explorer 2', explore, 'bounceable', 'base64', 'raw'],
  ['explorer 3', explore, 'rawLower', 'hexUpper', 'loud'],
  ['explorer 4', explore, 'nonBounceableUrl', 'base64url', 'axios'],
  ['explorer 5', explore, 'testnetBounceableUrl', 'base64urlUnpadded', 'encoded'],
  ['explorer 6', explore, 'testnetNonBounceable', 'hexPrefixed', 'encoded'],
  ['explorer 7', explore, 'bounceableUrl', 'base64', 'encoded'],
  ['explorer 8', explore, 'nonBounceable', 'base64Unpadded', 'raw'],
];

/** What a crowd is made from. */
export interface CrowdOptions extends World {
  /** `http://host:port` of the proxy. */
  readonly proxyUrl: string;
  /** Told of every answer that a client got; says whether it was right. */
  readonly heard: (answer: HeardAnswer) => boolean;
}

/** Some wallets, scanners and explorers at work: each asks when it has its last answer, so their load is bounded. */
export class Crowd implements AsyncDisposable {
  readonly #leaving = new AbortController();
  readonly #atWork: readonly Promise<void>[];

  /** Starts them. */
  constructor({ proxyUrl, heard, ...world }: CrowdOptions) {
    const { signal } = this.#leaving;
    this.#atWork = MEMBERS.map(async ([name, habit, address, hash, style]) => {
      const client = new Client({ name, spelling: { address, hash, style }, proxyUrl, signal, heard });
      await habit(client, world).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    });
  }

  /** Rejects when a client fails for a reason of its own, a bug; never resolves before the crowd has left. */
  get work(): Promise<unknown> {
    return Promise.all(this.#atWork);
  }

  /** Sends everybody home; answers that were under way are not waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving.abort();
    await Promise.allSettled(this.#atWork);
  }
}
