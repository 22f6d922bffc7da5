import os from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { residentBytes } from '../shortage.ts';
import type { MonotonicMs } from '../time-units.ts';

/** Usage of this process, each value from 0 to 1. */
export interface ProcessLoad {
  /** The used part of the usable old generation of V8. */
  readonly heap: number;
  /** The resident part of the container's memory limit; 0 without a limit. */
  readonly memory: number;
}

/** A sample is valid for this time; taking one needs 20 microseconds. */
const SAMPLE_MS = 10;

/** While the process is full, entries are evicted this often. */
const ROOM_EVERY_MS = 500;

/** While the process is full, garbage is collected this often: each collection takes up to 0.3 s. */
const COLLECT_EVERY_MS = 5000;

export interface MemoryPressureDependencies {
  readonly now: () => MonotonicMs;
  /** Reads the load; only tests pass it. */
  readonly sample?: () => ProcessLoad;
  /** Collects garbage; only tests pass it. */
  readonly collect?: () => void;
  /** The process is full above this part of the usable heap or of the container's limit, 0 to 1. */
  readonly maxMemory: number;
  /** The maximum number of answer bytes in the process of being read; above it loads are refused. */
  readonly maxReadingBytes: number;
}

/**
 * Watches the memory of this process. When memory is nearly used up, misses are refused; hits and `/healthz` are still
 * answered. Memory is sampled on demand and not by a timer, because hundreds of connections can be read before the next
 * timer runs. A full process evicts entries and collects its garbage: hits alone do not make V8 collect, and the
 * garbage would count as used for ever.
 */
export class MemoryPressure {
  readonly #dependencies: MemoryPressureDependencies;
  readonly #sample: () => ProcessLoad;
  readonly #collect: () => void;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #roomMadeAt = Number.NEGATIVE_INFINITY;
  #collectedAt = Number.NEGATIVE_INFINITY;
  #isFull = false;
  #readingBytes = 0;
  #makeRoom: () => void = () => {};

  constructor(dependencies: MemoryPressureDependencies) {
    const { sample = sampler(), collect = collectGarbage } = dependencies;
    this.#dependencies = dependencies;
    this.#sample = sample;
    this.#collect = collect;
  }

  /** While the process is full, entries are evicted by this. Call once, when everything that keeps entries is built. */
  makesRoomBy(makeRoom: () => void): void {
    this.#makeRoom = makeRoom;
  }

  /** True if the heap or the container's memory is nearly used up. */
  get isFull(): boolean {
    const now = this.#dependencies.now();
    if (now - this.#sampledAt < SAMPLE_MS) return this.#isFull;
    this.#sampledAt = now;
    this.#isFull = this.#exceedsLimit();
    return this.#isFull;
  }

  /** True while no load may start: the process is full, or too many answer bytes are being read. */
  get refusesLoads(): boolean {
    return this.isFull || this.#readingBytes > this.#dependencies.maxReadingBytes;
  }

  /** Call with each change in the number of answer bytes that are being read. */
  readonly onReading = (change: number): void => {
    this.#readingBytes += change;
  };

  /**
   * Call for each request that a fresh entry in memory does not answer. While the process is full, evicts entries at
   * most twice a second, and collects garbage at most every 5 s. Otherwise does nothing.
   */
  makeRoomIfFull(): void {
    const now = this.#dependencies.now();
    if (!this.isFull || now - this.#roomMadeAt < ROOM_EVERY_MS) return;
    this.#roomMadeAt = now;
    this.#makeRoom();
    if (now - this.#collectedAt < COLLECT_EVERY_MS) return;
    this.#collectedAt = now;
    this.#collect();
    this.#isFull = this.#exceedsLimit();
  }

  #exceedsLimit(): boolean {
    const { heap, memory } = this.#sample();
    return Math.max(heap, memory) > this.#dependencies.maxMemory;
  }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/**
 * The memory limit of the container in bytes, by `process.constrainedMemory()`; `undefined` without a limit. Without a
 * limit that value is 0, 2^63 less a page (cgroup v1) or 2^64 (v2), so a number above the machine's memory means no
 * limit. The machine's memory itself is not a limit: other processes share it, and it can be swapped.
 */
export function containerLimitBytes(constrainedBytes: number, machineBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < machineBytes ? constrainedBytes : undefined;
}

/** The memory limit of the container of this process in bytes; `undefined` without a limit. */
export const containerLimit = (): number | undefined => containerLimitBytes(process.constrainedMemory(), os.totalmem());

/** V8's limit of the heap of this process in bytes: the old generation, and three semi-spaces. */
export const heapLimit = (): number => getHeapStatistics().heap_size_limit;

/**
 * The usable part of V8's old generation. Above it V8 ends the process after four collections in a row that took most
 * of the time (`CheckIneffectiveMarkCompact`).
 */
const USABLE = 0.8;

/**
 * The usable bytes of V8's old generation. `heap_size_limit` also counts the young generation: three semi-spaces, whose
 * size is an option of Node, or 64 MiB each.
 */
function usableHeapBytes(): number {
  // These are options of Node itself, not settings, so they are read here.
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ');
  const semiSpaceMib = Number(/--max[-_]semi[-_]space[-_]size[= ](\d+)/.exec(options)?.[1] ?? 64);
  return USABLE * (heapLimit() - 3 * semiSpaceMib * 1024 * 1024);
}

function sampler(): () => ProcessLoad {
  const limitBytes = containerLimit();
  const heapBytes = usableHeapBytes();
  return () => {
    const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
    const usedBytes = old.reduce((sum, { space_used_size: used }) => sum + used, 0);
    const memory = limitBytes === undefined ? 0 : residentBytes() / limitBytes;
    return { heap: usedBytes / heapBytes, memory };
  };
}
