import os from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MonotonicMs } from '../time-units.ts';

/** What this process uses, each from 0 to 1. */
export interface ProcessLoad {
  /** The used part of what V8's old generation can take. */
  readonly heap: number;
  /** The resident part of the container's memory limit; 0 without a limit. */
  readonly memory: number;
}

/** A sample counts for so long; taking one needs 20 microseconds. */
const SAMPLE_MS = 10;

/** While the process is full, room is made this often. */
const ROOM_EVERY_MS = 500;

/** And garbage is collected this often: each time takes up to 0.3 s. */
const COLLECT_EVERY_MS = 5000;

export interface MemoryPressureDependencies {
  readonly now: () => MonotonicMs;
  /** Called while the process is full, to evict what is not needed. */
  readonly makeRoom: () => void;
  /** Reads the load; only tests pass it. */
  readonly sample?: () => ProcessLoad;
  /** Collects garbage; only tests pass it. */
  readonly collect?: () => void;
  /** The process is full above this part of the heap limit or of the container's limit, 0 to 1. */
  readonly maxMemory: number;
  /** The most bytes of answers that may be being read before further loads are refused. */
  readonly maxReadingBytes: number;
}

/**
 * Watches the memory of this process. While it is nearly used up, misses are refused and connections are not read ahead;
 * hits and `/healthz` are still answered. Memory is sampled when it is asked about, and not by a timer: hundreds of
 * connections can be read before the next timer runs. A full process makes room and collects its garbage: hits alone do
 * not make V8 do so, and the garbage would count as used for ever.
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

  constructor(dependencies: MemoryPressureDependencies) {
    const { sample = sampler(), collect = collectGarbage } = dependencies;
    this.#dependencies = dependencies;
    this.#sample = sample;
    this.#collect = collect;
  }

  /** Whether the heap or the container's memory is nearly used up. */
  get isFull(): boolean {
    const now = this.#dependencies.now();
    if (now - this.#sampledAt < SAMPLE_MS) return this.#isFull;
    this.#sampledAt = now;
    this.#isFull = this.#exceedsLimit();
    return this.#isFull;
  }

  /** Whether nothing more may be loaded: the process is full, or too much of answers is being read. */
  get refusesLoads(): boolean {
    return this.isFull || this.#readingBytes > this.#dependencies.maxReadingBytes;
  }

  /** To be called with each change in the number of bytes that are being read of answers. */
  readonly onReading = (change: number): void => {
    this.#readingBytes += change;
  };

  /**
   * To be called for each request that a fresh entry in memory does not answer. While the process is full, evicts entries
   * at most twice a second, and collects garbage at most every 5 s. Otherwise it does nothing.
   */
  makeRoomIfFull(): void {
    const now = this.#dependencies.now();
    if (!this.isFull || now - this.#roomMadeAt < ROOM_EVERY_MS) return;
    this.#roomMadeAt = now;
    this.#dependencies.makeRoom();
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
 * limit that is 0, 2^63 less a page (cgroup v1) or 2^64 (v2), so a number larger than the machine's memory is no limit.
 * The machine's memory is not used as a limit: other processes share it, and it can be swapped.
 */
export function containerLimitBytes(constrainedBytes: number, machineBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < machineBytes ? constrainedBytes : undefined;
}

/** The memory limit of the container of this process in bytes; `undefined` without a limit. */
export const containerLimit = (): number | undefined => containerLimitBytes(process.constrainedMemory(), os.totalmem());

/**
 * The part of V8's old generation that can be used. Above it V8 ends the process after four collections in a row that
 * took most of the time (`CheckIneffectiveMarkCompact`).
 */
const USABLE = 0.8;

/**
 * The bytes of V8's old generation that can be used. `heap_size_limit` counts the young generation too: three semi-spaces,
 * whose size is an option of Node, or 64 MiB each.
 */
function usableHeapBytes(): number {
  // Options of Node itself, and no settings: so they are read here.
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ');
  const semiSpaceMib = Number(/--max[-_]semi[-_]space[-_]size[= ](\d+)/.exec(options)?.[1] ?? 64);
  return USABLE * (getHeapStatistics().heap_size_limit - 3 * semiSpaceMib * 1024 * 1024);
}

function sampler(): () => ProcessLoad {
  const limitBytes = containerLimit();
  const heapBytes = usableHeapBytes();
  return () => {
    const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
    const usedBytes = old.reduce((sum, { space_used_size: used }) => sum + used, 0);
    const memory = limitBytes === undefined ? 0 : process.memoryUsage.rss() / limitBytes;
    return { heap: usedBytes / heapBytes, memory };
  };
}
