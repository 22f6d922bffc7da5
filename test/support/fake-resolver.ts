import { isIP } from 'node:net';
import type { AskResolver } from '../../src/names/names.ts';

/** What a resolver says of a name: its addresses, the code of an error, or nothing at all until it says something else. */
type Says = readonly string[] | string | 'silent';

/** In place of the system's resolver, with as many threads for look-ups as libuv has by default. */
export class FakeResolver {
  /** The names that were asked for, oldest first; those too that wait for a thread. */
  readonly asked: string[] = [];
  readonly #zone = new Map<string, Says>();
  readonly #waiting: { readonly host: string; readonly done: Parameters<AskResolver>[2] }[] = [];
  readonly #threads: number;

  constructor(zone: Readonly<Record<string, Says>> = {}, threads = 2) {
    this.#threads = threads;
    for (const [host, says] of Object.entries(zone)) this.#zone.set(host, says);
  }

  /** From now on; look-ups that wait for an answer get this one. */
  say(host: string, says: Says): void {
    this.#zone.set(host, says);
    this.#answer();
  }

  readonly ask: AskResolver = (host, _, done) => {
    this.asked.push(host);
    this.#waiting.push({ host, done });
    // As the system's resolver does, it never answers at once.
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
