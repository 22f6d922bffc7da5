/** JSON objects within each other, as a settings file has them. */
export type Nested = { [name: string]: unknown };

/** The value at a path of names; `undefined` where there is none. */
export function valueAt(nested: Nested, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isNested(at) ? at[name] : undefined), nested);
}

/** Puts a value at a path of names, and makes the objects on its way; where another value is in the way nothing happens. */
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

/** Whether a value is an object with names: no list, and not null. */
export function isNested(value: unknown): value is Nested {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
