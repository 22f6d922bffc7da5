/** Nested JSON objects, as in a settings file. */
export type Nested = { [name: string]: unknown };

/** The value at a path of names; `undefined` where there is none. */
export function valueAt(nested: Nested, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isNested(at) ? at[name] : undefined), nested);
}

/**
 * Puts a value at a path of names, and creates missing objects on the way. Does nothing if another value is in the way.
 */
export function setAt(nested: Nested, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    nested[name] = value;
    return;
  }
  if (nested[name] === undefined) nested[name] = {};
  const child = nested[name];
  if (isNested(child)) setAt(child, rest, value);
}

/** Whether a value is an object, not an array or null. */
export function isNested(value: unknown): value is Nested {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
