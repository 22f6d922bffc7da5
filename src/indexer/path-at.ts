const [BASE_OF_V3, API_V3] = [/\/v3$/i, /^\/api\/v3(?=\/|$)/i];

/**
 * The path of an indexer's address without a slash at its end, and the path that clients request in its place
 * ({@link pathAt}).
 */
export function basesAt(addressPath: string): { readonly basePath: string; readonly shownPath: string } {
  const basePath = addressPath.replace(/\/+$/, '');
  return { basePath, shownPath: BASE_OF_V3.test(basePath) ? '/api/v3' : '' };
}

/**
 * The path of a target, such as `/api/v3/blocks`, at an indexer whose address has this path. If the address ends in
 * `/v3`, it is the place of `/api/v3`, and all other targets are below the root of its host.
 */
export function pathAt(basePath: string, target: string): string {
  const base = basePath.replace(/\/+$/, '');
  if (!BASE_OF_V3.test(base)) return base + target;
  return API_V3.test(target) ? target.replace(API_V3, base) : target;
}
