/** The value of a key, created and kept at its first use. */
export function inMap<K, V>(all: Map<K, V>, key: K, create: (key: K) => V): V {
  let value = all.get(key);
  if (value === undefined) {
    value = create(key);
    all.set(key, value);
  }
  return value;
}
