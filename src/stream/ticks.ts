/** Counts what the stream says, so that "before" and "after" need no clock: an acknowledgement or an event is one tick. */
export class Ticks {
  #now = 0;

  /** The latest tick. */
  get now(): number {
    return this.#now;
  }

  next(): number {
    this.#now++;
    return this.#now;
  }
}
