/** The place of a member in its {@link Fifo}. */
export interface Place<T> {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
}

/**
 * First in, first out; any member can leave, and every step is O(1). (A Set keeps holes where members left, and walks
 * over them to find its first member.)
 */
export class Fifo<T> {
  #first: Place<T> | undefined;
  #last: Place<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The member that came first, or `undefined` when there is none. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Adds a member at the end. Returns its place, for {@link remove}. */
  push(value: T): Place<T> {
    const place: Place<T> = { value, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    this.#size++;
    return place;
  }

  /** Removes a member; to be called once for each place. */
  remove(place: Place<T>): void {
    if (place.before === undefined) this.#first = place.after;
    else place.before.after = place.after;
    if (place.after === undefined) this.#last = place.before;
    else place.after.before = place.before;
    this.#size--;
  }
}
