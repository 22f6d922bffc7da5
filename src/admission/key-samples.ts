import { Fifo, type Place } from './fifo.ts';

export interface KeySamplesDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface KeySamplesOptions {
  /** How long a sample counts, in milliseconds. */
  readonly windowMs: number;
  /** The most samples that are kept, the newest ones. */
  readonly mostSamples: number;
}

interface Sample {
  readonly key: string;
  readonly at: number;
  readonly failed: boolean;
}

/**
 * The recent outcomes of calls, one for each key: the last outcome of a key replaces the one before, so that a single
 * broken key counts once however often it is asked for.
 */
export class KeySamples {
  readonly #dependencies: KeySamplesDependencies;
  readonly #options: KeySamplesOptions;
  readonly #samples = new Map<string, Place<Sample>>();
  /** Oldest first. */
  #inOrder = new Fifo<Sample>();
  #failures = 0;

  constructor(dependencies: KeySamplesDependencies, options: KeySamplesOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** The number of keys with an outcome within the window. */
  get count(): number {
    this.#forgetOld();
    return this.#samples.size;
  }

  /** The number of these keys whose last call failed. */
  get failures(): number {
    this.#forgetOld();
    return this.#failures;
  }

  add(key: string, failed: boolean): void {
    this.#delete(key);
    this.#samples.set(key, this.#inOrder.push({ key, at: this.#dependencies.now(), failed }));
    if (failed) this.#failures++;
    this.#forgetOld();
  }

  /** Whether the last call of a key, within the window, failed. */
  hasFailed(key: string): boolean {
    this.#forgetOld();
    return this.#samples.get(key)?.value.failed === true;
  }

  clear(): void {
    this.#samples.clear();
    this.#inOrder = new Fifo();
    this.#failures = 0;
  }

  #forgetOld(): void {
    const { now } = this.#dependencies;
    const { windowMs, mostSamples } = this.#options;
    const oldestAt = now() - windowMs;
    for (let oldest = this.#inOrder.first; oldest !== undefined; oldest = this.#inOrder.first) {
      if (oldest.at > oldestAt && this.#samples.size <= mostSamples) return;
      this.#delete(oldest.key);
    }
  }

  #delete(key: string): void {
    const place = this.#samples.get(key);
    if (place === undefined) return;
    if (place.value.failed) this.#failures--;
    this.#inOrder.remove(place);
    this.#samples.delete(key);
  }
}
