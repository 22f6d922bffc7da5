/** The additional headers of wallets and SDKs, by name: each of them makes a browser send a preflight. */
export const HEADERS_OF_PAGES: Readonly<Record<string, readonly string[]>> = {
  'a wallet kit with a key': ['x-api-key'],
  'a wallet that names versions and its origin': ['x-api-key', 'x-actions-version', 'x-app-origin'],
  'an SDK that sends JSON everywhere': ['content-type', 'x-api-key', 'x-ton-client-version'],
  'a page that is traced': ['traceparent', 'x-request-id'],
  'a fetch wrapper that reloads': ['cache-control', 'pragma'],
  'a page behind a gateway': ['authorization'],
  'a client of an old version': ['x-timeout', 'if-none-match', 'x-no-address-book', 'x-no-metadata'],
  'a client of tomorrow': ['x-nobody-knows-this-yet'],
};

/** True if a browser sends a header after a preflight that allowed these, in lower case (Fetch standard 4.8). */
export function mayBeSent(name: string, allowed: readonly string[]): boolean {
  return allowed.includes(name) || (allowed.includes('*') && name !== 'authorization');
}
