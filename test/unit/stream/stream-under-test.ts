import { vi } from 'vitest';
import type { Entry } from '../../../src/cache/entry.ts';
import type { Purges } from '../../../src/cache/tiered-cache.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { EventHub } from '../../../src/event-hub.ts';
import { freshnessOf, usableUntil } from '../../../src/instants.ts';
import { openStream } from '../../../src/open-stream.ts';
import type { StreamEvent } from '../../../src/stream/events.ts';
import { findOperation } from '../../../src/ton/operations.ts';
import { type Call, parseCall } from '../../../src/ton/parse-call.ts';
import type { Watchable } from '../../../src/ton/watchable.ts';
import { anEntry, NOTHING_PURGED } from '../../support/entry.ts';
import { FakeServer, type Operation } from './fake-server.ts';

/** What an answer says of itself; by default that nothing is pending. */
export type Said = Partial<Watchable>;

const ASKED = { accounts: [], traces: [], state: 'empty', isAnnounced: true };

/** The account of a number. */
export function account(n: number): string {
  return `0:${n.toString(16).toUpperCase().padStart(64, '0')}`;
}

/** The normalized hash of a number. */
export function traceHash(n: number): string {
  return Buffer.alloc(32, n).toString('base64');
}

function callFor(query: string): Call {
  const operation = findOperation('/api/v3/pendingTraces');
  if (operation === undefined) throw new Error('it is one of them');
  return parseCall(operation, query, {});
}

/** Everything in `src/stream/` as it ships, before a scripted server, with time that only the test lets pass. */
export class StreamUnderTest implements Disposable {
  readonly server = new FakeServer();
  readonly reported: StreamEvent[] = [];
  /** Keys that were refreshed, in their order. */
  readonly refreshed: string[] = [];
  /** What a refresh does beside being noted. */
  onRefresh: (key: string) => void | Promise<void> = () => {};
  readonly #stream;
  readonly #bans: Purges;

  constructor(env: Readonly<Record<string, string>> = {}, maxAddresses = 1000) {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    const { settings } = loadSettings({ UPSTREAM_URL: 'http://indexer', STREAM_URL: 'ws://indexer:8085', ...env });
    const events = new EventHub();
    events.stream.subscribe((event) => void this.reported.push(event));
    const stream = openStream(
      {
        events,
        now: Date.now,
        monotonic: Date.now,
        random: () => 0,
        open: this.server.open,
      },
      { ...settings, stream: { ...settings.stream, maxAddresses } },
    );
    if (stream === undefined) throw new Error('STREAM_URL is set');
    this.#stream = stream;
    this.#bans = stream.applyTo(NOTHING_PURGED);
    stream.refreshBy(async (_, key) => {
      this.refreshed.push(key);
      await this.onRefresh(key);
    });
    this.server.answersPings = true;
    stream.start();
    this.server.socket.accept();
  }

  get subscriptions(): readonly Operation[] {
    return this.server.socket.subscriptions;
  }

  get subscribed(): readonly string[] {
    const { addresses = [], trace_external_hash_norms: hashes = [] } = this.subscriptions.at(-1) ?? {};
    return [...addresses, ...hashes];
  }

  get watches(): number {
    return this.#stream.gauges.watches();
  }

  get isStretching(): boolean {
    return this.#stream.gauges.isStretching();
  }

  names(): string[] {
    return this.reported.map(({ name }) => name);
  }

  /** A client asks. The query is the key. */
  ask(query: string): void {
    this.#stream.onAsked(callFor(query), query);
  }

  onClockJump(): void {
    this.#stream.onClockJump();
  }

  /** Asks twice, and lets the server acknowledge what is subscribed to then. */
  watch(query: string): void {
    this.ask(query);
    this.ask(query);
    this.subscribe();
  }

  /** Lets what is to be subscribed to be sent, and acknowledged. */
  subscribe(): void {
    const before = this.subscriptions.length;
    vi.advanceTimersByTime(50);
    if (this.subscriptions.length > before) this.server.socket.acknowledge();
  }

  mark(): number {
    return this.#stream.freshness.mark();
  }

  /** The indexer answers: what memory keeps. */
  answer(query: string, said: Said = {}, { mark = this.mark(), lifetime = 400 } = {}): Entry {
    const now = Date.now();
    const entry = anEntry({
      key: query,
      askedAt: now,
      freshUntil: now + lifetime,
      staleWhileRevalidate: 0,
      staleIfError: 2000,
      memoryTtl: lifetime,
      lifetime,
    });
    return this.#stream.freshness.answered({ mark, watchable: { ...ASKED, ...said }, entry }) ?? entry;
  }

  /** What an entry is good for now, events applied. */
  freshness(entry: Entry): string {
    const left = this.#bans.applyBans(entry);
    return left === undefined ? 'gone' : freshnessOf(left, Date.now());
  }

  /** For how long an entry is fresh if nothing happens. */
  freshMs(entry: Entry): number {
    const left = this.#bans.applyBans(entry);
    return left === undefined ? 0 : left.freshUntil - left.askedAt;
  }

  /** For how long an entry is of use if nothing happens, as a fallback at the end. */
  usableMs(entry: Entry): number {
    const left = this.#bans.applyBans(entry);
    return left === undefined ? 0 : usableUntil(left) - left.askedAt;
  }

  event(...names: readonly string[]): void {
    const [hash, ...accounts] = names.toSorted((one, other) => one.indexOf(':') - other.indexOf(':'));
    const rows = (hash?.includes(':') ? names : accounts).map((name) => ({ account: name }));
    const norm = hash?.includes(':') ? {} : { trace_external_hash_norm: hash };
    this.server.socket.say({ type: 'transactions', finality: 'pending', ...norm, transactions: rows });
  }

  invalidate(hash: string): void {
    this.say('trace_invalidated', hash);
  }

  /** An event of a trace that names no accounts. */
  say(type: string, hash: string): void {
    this.server.socket.say({ type, trace_external_hash_norm: hash });
  }

  [Symbol.dispose](): void {
    this.#stream.close();
    vi.useRealTimers();
  }
}

/** The key that most tests watch, and what an answer to it names. */
export const KEY = `account=${account(1)}`;
export const ONE = { accounts: [account(1), account(2)], traces: [traceHash(1)], state: 'one' };

/** An answer to the watched key, all of whose names are acknowledged. */
export function stretchedOn(stream: StreamUnderTest, said = {}) {
  stream.watch(KEY);
  stream.answer(KEY, said);
  stream.subscribe();
  return stream.answer(KEY, said);
}
