import os from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** What this process uses, each from 0 to 1. */
export interface ProcessLoad {
  /** The used part of V8's heap limit. */
  readonly heap: number;
  /** The resident part of the container's memory limit; 0 without a limit. */
  readonly memory: number;
}

export interface ProcessGuardOptions {
  /** The process is full above this part of the heap limit or of the container's limit, 0 to 1. */
  readonly maxMemory: number;
  readonly sampleEveryMs: number;
  /** Called with each sample by which the process is full. */
  readonly onFull?: () => void;
}

/**
 * Watches the memory of this process. While it is nearly used up, misses are refused; hits and `/healthz` are still
 * answered.
 */
export class ProcessGuard {
  readonly #options: ProcessGuardOptions;
  readonly #sample: () => ProcessLoad;
  readonly #timer: NodeJS.Timeout;
  #load: ProcessLoad = { heap: 0, memory: 0 };

  /** `sample` reads the load; only tests pass it. */
  constructor(options: ProcessGuardOptions, sample: () => ProcessLoad = sampler()) {
    this.#options = options;
    this.#sample = sample;
    this.#timer = setInterval(() => this.update(), options.sampleEveryMs).unref();
  }

  /** The last sample. */
  get load(): ProcessLoad {
    return this.#load;
  }

  /** Whether the heap or the container's memory was nearly used up at the last sample. */
  get isFull(): boolean {
    const { heap, memory } = this.#load;
    const { maxMemory } = this.#options;
    return heap > maxMemory || memory > maxMemory;
  }

  /** Takes a sample now. */
  update(): void {
    this.#load = this.#sample();
    if (this.isFull) this.#options.onFull?.();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/**
 * The memory limit of the container in bytes, by `process.constrainedMemory()`; `undefined` without a limit. Without a
 * limit that is 0, 2^63 less a page (cgroup v1) or 2^64 (v2), so a number larger than the machine's memory is no limit.
 * The machine's memory is not used as a limit: other processes share it, and it can be swapped.
 */
export function containerLimitBytes(constrainedBytes: number, machineBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < machineBytes ? constrainedBytes : undefined;
}

function sampler(): () => ProcessLoad {
  const limitBytes = containerLimitBytes(process.constrainedMemory(), os.totalmem());
  return () => {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    const memory = limitBytes === undefined ? 0 : process.memoryUsage.rss() / limitBytes;
    return { heap: used / limit, memory };
  };
}
