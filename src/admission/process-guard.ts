import os from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** What this process uses, each from 0 to 1. */
export interface ProcessLoad {
  /** The share of V8's heap limit that is used. */
  readonly heap: number;
  /** The share of the container's memory limit that is resident; 0 where no limit applies. */
  readonly memory: number;
}

export interface ProcessGuardOptions {
  /** The share of the heap limit, and of the container's limit, above which the process is full. */
  readonly maxMemory: number;
  readonly sampleEveryMs: number;
}

/**
 * Watches the process itself. While its memory is nearly used up misses are refused; hits and `/healthz` are still
 * answered.
 */
export class ProcessGuard {
  readonly #options: ProcessGuardOptions;
  readonly #sample: () => ProcessLoad;
  readonly #timer: NodeJS.Timeout;
  #load: ProcessLoad = { heap: 0, memory: 0 };

  /** `sample`: reads the load; given in tests alone. */
  constructor(options: ProcessGuardOptions, sample: () => ProcessLoad = sampler()) {
    this.#options = options;
    this.#sample = sample;
    this.#timer = setInterval(() => this.update(), options.sampleEveryMs).unref();
  }

  /** The last sample. */
  get load(): ProcessLoad {
    return this.#load;
  }

  /** Whether the memory was nearly used up at the last sample: the heap or the container, whichever is nearer its limit. */
  get isFull(): boolean {
    const { heap, memory } = this.#load;
    const { maxMemory } = this.#options;
    return heap > maxMemory || memory > maxMemory;
  }

  /** Takes a sample now. */
  update(): void {
    this.#load = this.#sample();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/**
 * The memory limit of the container in bytes, from what `process.constrainedMemory()` says; `undefined` where there is
 * none. A cgroup without a limit says so with 0, with 2^63 less a page (v1) or with 2^64 (v2): any number that the machine
 * does not have. The machine's own memory is no limit to go by: it is shared with other processes, and swapped.
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
