import type { Output } from './command.ts';
import { duration, grouped } from './text-table.ts';
import type { Warmed } from './warm-blocks.ts';

export interface WarmProgressOptions {
  readonly out: Output;
  /** How many blocks there are to ask for. */
  readonly blocks: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

const BAR_WIDTH = 30;
const REDRAW_MS = 200;
const LINE_MS = 5000;

/** Progress: a bar on a terminal, elsewhere a line every five seconds; and a line at the end. */
export class WarmProgress {
  readonly #options: WarmProgressOptions;
  readonly #now: () => number;
  readonly #startedAt: number;
  #shownAt: number;

  constructor(options: WarmProgressOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#startedAt = this.#now();
    this.#shownAt = this.#startedAt;
  }

  readonly show = (warmed: Warmed): void => {
    const { out } = this.#options;
    const now = this.#now();
    if (now - this.#shownAt < (out.isTTY ? REDRAW_MS : LINE_MS)) return;
    this.#shownAt = now;
    out.write(out.isTTY ? `\r${this.#bar(warmed)} ${this.#numbers(warmed)}\x1b[K` : `${this.#numbers(warmed)}\n`);
  };

  end(warmed: Warmed): void {
    const { out } = this.#options;
    const { hits, loaded, absent, retries } = warmed;
    const took = duration(this.#now() - this.#startedAt);
    out.write(
      `${out.isTTY ? '\r\x1b[K' : ''}${grouped(asked(warmed))} blocks in ${took}: ` +
        `${grouped(loaded)} loaded, ${grouped(hits)} stored before, ${grouped(absent)} not there, ${grouped(retries)} asked again\n`,
    );
  }

  #bar(warmed: Warmed): string {
    const full = Math.round((BAR_WIDTH * asked(warmed)) / this.#options.blocks);
    return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}]`;
  }

  #numbers(warmed: Warmed): string {
    const { blocks } = this.#options;
    const done = asked(warmed);
    const perMs = done / Math.max(1, this.#now() - this.#startedAt);
    const left = perMs === 0 ? '' : `, ${duration((blocks - done) / perMs)} left`;
    const percent = Math.floor((100 * done) / blocks);
    return `${percent} %, ${grouped(done)} of ${grouped(blocks)} blocks, ${grouped(1000 * perMs)} a second${left}`;
  }
}

function asked({ hits, loaded, absent }: Warmed): number {
  return hits + loaded + absent;
}
