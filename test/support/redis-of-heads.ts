import { ACQUIRE, END_LEASE, STORE } from '../../src/cache/redis-scripts.ts';
import type { SharedHeadsDependencies } from '../../src/proof/shared-heads.ts';

/** A Redis with the head of one list of indexers and its lease, on the clock of `Date.now`. It answers after `delayMs`. */
export class RedisOfHeads {
  /** The number of calls. */
  calls = 0;
  delayMs = 0;
  isDown = false;
  /** An older copy, after a failover. */
  copy: string | undefined;
  #head = { value: '', until: 0 };
  #lease = { value: '', until: 0 };

  readonly runScript: SharedHeadsDependencies['redis']['runScript'] = async (script, _, args) => {
    this.calls++;
    await this.#travel();
    const [token = '', value, ms] = args.map(String);
    switch (script) {
      case ACQUIRE: {
        const holder = this.#current(this.#lease);
        if (holder === null) this.#lease = { value: token, until: Date.now() + Number(value) };
        const answer = [holder, this.copy === undefined ? this.#current(this.#head) : Buffer.from(this.copy)];
        await this.#travel();
        return answer;
      }
      case STORE:
        if (String(this.#current(this.#lease)) !== token && this.#current(this.#head) !== null) return 0;
        this.#head = { value: value ?? '', until: Date.now() + Number(ms) };
        this.#lease.until = 0;
        return 1;
      case END_LEASE:
        if (String(this.#current(this.#lease)) === token) this.#lease.until = 0;
        return null;
      default:
        throw new Error('unknown script');
    }
  };

  /** Another instance takes the lease. */
  takeLease(forMs: number): void {
    this.#lease = { value: 'another one', until: Date.now() + forMs };
  }

  put(head: object): void {
    this.#head = { value: JSON.stringify(head), until: Date.now() + 1000 };
  }

  get head(): unknown {
    const head = this.#current(this.#head);
    return head === null ? undefined : JSON.parse(head.toString());
  }

  get hasLease(): boolean {
    return this.#current(this.#lease) !== null;
  }

  #current({ value, until }: { readonly value: string; readonly until: number }): Buffer | null {
    return Date.now() < until ? Buffer.from(value) : null;
  }

  async #travel(): Promise<void> {
    if (this.isDown) throw new Error('down');
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs / 2));
  }
}
