import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** How busy this process is, each from 0 to 1. */
export interface ProcessLoad {
  /** The share of the time since the last sample in which the event loop had work. */
  readonly eventLoop: number;
  /** The share of the heap limit that is used. */
  readonly heap: number;
}

/** What a guard is made of. */
export interface ProcessGuardOptions {
  readonly maxEventLoop: number;
  readonly maxHeap: number;
  readonly sampleEveryMs: number;
  /** Reads the load; injected in tests. */
  readonly sample?: () => ProcessLoad;
}

/**
 * Watches the process itself. While its event loop is busy misses that would have to wait are shed, while its heap is
 * nearly full all of them; hits and `/healthz` are still answered.
 */
export class ProcessGuard {
  readonly #options: ProcessGuardOptions;
  readonly #sample: () => ProcessLoad;
  readonly #timer: NodeJS.Timeout;
  #load: ProcessLoad = { eventLoop: 0, heap: 0 };

  constructor(options: ProcessGuardOptions) {
    this.#options = options;
    this.#sample = options.sample ?? sampler();
    this.#timer = setInterval(() => this.update(), options.sampleEveryMs).unref();
  }

  /** The last sample. */
  get load(): ProcessLoad {
    return this.#load;
  }

  /** Whether the event loop had no time to spare at the last sample. */
  get isBusy(): boolean {
    return this.#load.eventLoop > this.#options.maxEventLoop;
  }

  /** Whether the heap was nearly full at the last sample. */
  get isFull(): boolean {
    return this.#load.heap > this.#options.maxHeap;
  }

  /** Takes a sample now. */
  update(): void {
    this.#load = this.#sample();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function sampler(): () => ProcessLoad {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return { eventLoop: utilization, heap: used / limit };
  };
}
