/** Parameters or headers, in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/**
 * The one form that stands for all spellings of a request. The key is made from it, and it is sent to the indexer, in a
 * fixed order.
 */
export interface CanonicalRequest {
  readonly query: Pairs;
  readonly headers: Pairs;
}

type Value = string | number | undefined;

/** The given values in their order; a list gives a pair for each of its items, and `undefined` gives no pair. */
export function pairs(values: Readonly<Record<string, Value | readonly string[]>>): Pairs {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return Array.isArray(value) ? value.map((item: string) => [name, item] as const) : [[name, String(value)] as const];
  });
}

/** A flag may come as a header or as a query parameter. If both are given the header wins, as in the indexer. */
export function flagHeader(name: string, header: boolean | undefined, query: boolean | undefined): Pairs {
  return (header ?? query) ? [[name, 'true']] : [];
}

/** The first value of a parameter in the query. */
export function parameterOf({ query }: CanonicalRequest, name: string): string | undefined {
  return query.find((pair) => pair[0] === name)?.[1];
}
