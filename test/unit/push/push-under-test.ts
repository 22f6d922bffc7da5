import { vi } from 'vitest';
import type { Entry } from '../../../src/cache/entry.ts';
import { CONSTANTS } from '../../../src/compose/constants.ts';
import { openPush } from '../../../src/compose/push.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { type AppEvent, EventHub } from '../../../src/event-hub.ts';
import { freshnessOf } from '../../../src/freshness.ts';
import { systemNames } from '../../../src/names/names.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import { OperationsInUse } from '../../../src/ton/operations.ts';
import type { Watchable } from '../../../src/ton/watchable.ts';
import { anEntry } from '../../support/entry.ts';
import { callOf } from '../ton/requests.ts';
import { FakeServer, type Operation } from './fake-server.ts';

/** An account whose address is made from a number. */
export function account(n: number): string {
  return `0:${n.toString(16).toUpperCase().padStart(64, '0')}`;
}

/** The normalized hash of a trace, made from a number. */
export function traceHash(n: number): string {
  return Buffer.alloc(32, n).toString('base64');
}

/** The key of a request for the account with this number: its query. */
export const by = (n: number) => `account=${account(n)}`;

/** An answer that lists one trace, of accounts 1 and 2. */
export const ONE: Watchable = { accounts: [account(1), account(2)], traces: [traceHash(1)] };
const NOTHING: Watchable = { accounts: [], traces: [] };

/** All of `src/push/` as in production, with a scripted server and fake time. */
export class PushUnderTest implements Disposable {
  readonly server = new FakeServer();
  readonly reported: AppEvent['name'][] = [];
  /** The refreshed keys, in order. */
  readonly refreshed: string[] = [];
  readonly #push;

  constructor(maxAddresses = 1000) {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    const { settings } = loadSettings({ UPSTREAM_URL: 'http://indexer', STREAM_URL: 'ws://indexer:8085' });
    const events = new EventHub();
    events.on('stream-refused', ({ name }) => void this.reported.push(name));
    const { open } = this.server;
    const push = openPush(
      {
        settings: { ...settings, stream: { ...settings.stream, maxAddresses } },
        constants: CONSTANTS,
        lifetimes: POLICIES,
        operations: new OperationsInUse(),
        events,
        names: systemNames(),
        now: Date.now,
        monotonic: Date.now,
        random: () => 0,
      },
      (_, key) => void this.refreshed.push(key),
      open,
    );
    if (push === undefined) throw new Error('STREAM_URL is set');
    this.#push = push;
    this.server.answersPings = true;
    push.connection.start();
    this.server.socket.accept();
  }

  get subscriptions(): readonly Operation[] {
    return this.server.socket.subscriptions;
  }

  /** The addresses and hashes in the newest message to the server. */
  get subscribed(): readonly string[] {
    const { addresses = [], trace_external_hash_norms: hashes = [] } = this.subscriptions.at(-1) ?? {};
    return [...addresses, ...hashes];
  }

  get watches(): number {
    return this.#push.watches.polled().length;
  }

  /** A client requests each of these keys once. */
  ask(...keys: readonly string[]): void {
    for (const key of keys) this.#push.watches.touch(callOf('pendingTraces', key), key);
  }

  /** Clients poll these keys, and the server acknowledges the resulting subscription. */
  watch(...keys: readonly string[]): void {
    this.ask(...keys, ...keys);
    this.subscribe();
  }

  /** Waits until a changed subscription is sent, if there is one, and acknowledges it. */
  subscribe(): void {
    const before = this.subscriptions.length;
    vi.advanceTimersByTime(50);
    if (this.subscriptions.length > before) this.server.socket.acknowledge();
    vi.advanceTimersByTime(1);
  }

  /** The indexer answers a request that was sent `tookMs` ago. Returns the entry that memory keeps. */
  answer(key: string, listed = NOTHING, { tookMs = 0, lifetime = 250, ageValueSeconds = 0 } = {}): Entry {
    const now = Date.now();
    const times = { askedAt: now - tookMs, freshUntil: now + lifetime, lifetime, ageValueSeconds };
    const entry = anEntry({ key, ...times, staleWhileRevalidate: 0, staleIfError: 2000 });
    return this.#push.effects.answered(entry, listed) ?? entry;
  }

  /** The freshness of an entry now, after the events so far. */
  freshness(entry: Entry): string {
    return freshnessOf(this.#push.effects.applyTo(entry), Date.now());
  }

  /** The milliseconds for which an entry stays fresh if no event comes. */
  freshMs(entry: Entry): number {
    return Math.max(0, this.#push.effects.applyTo(entry).freshUntil - Date.now());
  }

  /** The server sends an event about a trace and accounts. */
  event(trace: string, ...accounts: readonly string[]): void {
    const transactions = accounts.map((name) => ({ account: name }));
    const event = { type: 'transactions', finality: 'pending', trace_external_hash_norm: trace, transactions };
    this.server.socket.say(event);
  }

  onClockJump(): void {
    this.#push.watches.clear();
  }

  [Symbol.dispose](): void {
    this.#push.close();
    vi.useRealTimers();
  }
}
