import { getHeapStatistics } from 'node:v8';

/** What this process uses. */
export interface ProcessLoad {
  /** The share of the heap limit that is used. */
  readonly heap: number;
}

/** What a guard is made of. */
export interface ProcessGuardOptions {
  readonly maxHeap: number;
  readonly sampleEveryMs: number;
  /** Reads the load; injected in tests. */
  readonly sample?: () => ProcessLoad;
}

/**
 * Watches the process itself. While its heap is nearly full misses are refused; hits and `/healthz` are still answered.
 */
export class ProcessGuard {
  readonly #options: ProcessGuardOptions;
  readonly #sample: () => ProcessLoad;
  readonly #timer: NodeJS.Timeout;
  #load: ProcessLoad = { heap: 0 };

  constructor(options: ProcessGuardOptions) {
    this.#options = options;
    this.#sample = options.sample ?? sampleProcess;
    this.#timer = setInterval(() => this.update(), options.sampleEveryMs).unref();
  }

  /** The last sample. */
  get load(): ProcessLoad {
    return this.#load;
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

function sampleProcess(): ProcessLoad {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { heap: used / limit };
}
