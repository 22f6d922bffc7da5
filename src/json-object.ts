/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True if parsed JSON is an object, not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
