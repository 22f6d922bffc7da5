import { isIP } from 'node:net';
import type { AskResolver } from '../../src/names/names.ts';

/** A resolver's answer for a name: its addresses, the code of an error, or no answer until it changes. */
type Says = readonly string[] | string | 'silent';

/** Replaces the system's resolver, with libuv's default number of threads for look-ups. */
export class FakeResolver {
  /** The requested names, oldest first, including those that wait for a thread. */
  readonly asked: string[] = [];
  readonly #zone = new Map<string, Says>();
  readonly #waiting: { readonly host: string; readonly done: Parameters<AskResolver>[2] }[] = [];
  readonly #threads: number;

  constructor(zone: Readonly<Record<string, Says>> = {}, threads = 2) {
    this.#threads = threads;
    for (const [host, says] of Object.entries(zone)) this.#zone.set(host, says);
  }

  /** From now on; waiting look-ups get this answer. */
  say(host: string, says: Says): void {
    this.#zone.set(host, says);
    this.#answer();
  }

  readonly ask: AskResolver = (host, _, done) => {
    this.asked.push(host);
    this.#waiting.push({ host, done });
    // Like the system's resolver, it never answers immediately.
    setImmediate(() => this.#answer());
  };

  #answer(): void {
    const isSilent = ({ host }: { readonly host: string }) => this.#zone.get(host) === 'silent';
    for (;;) {
      const next = this.#waiting.slice(0, this.#threads).findIndex((look) => !isSilent(look));
      if (next < 0) return;
      const [{ host, done } = { host: '', done: () => {} }] = this.#waiting.splice(next, 1);
      const says = this.#zone.get(host) ?? 'ENOTFOUND';
      if (typeof says === 'string') done(Object.assign(new Error(`getaddrinfo ${says} ${host}`), { code: says }), []);
      else
        done(
          null,
          says.map((address) => ({ address, family: isIP(address) })),
        );
    }
  }
}
