import { flag, group, integer, networks, setting } from './values.ts';

/** The group `clients`: who a client is, and how much of the proxy each one gets. */
export const clients = group({
  trustedProxies: setting(
    networks.optional(),
    'Addresses and networks of proxies in front of toncache, comma-separated, like `10.0.0.0/8`: from these `X-Forwarded-For` says who the client is. Otherwise it is the address of the connection.',
    { env: 'TRUSTED_PROXIES' },
  ),
  requestsPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'The most requests of one client a second, hits included; beyond it they get 429. No limit if not set.',
  ),
  burst: setting(
    integer(1, 1_000_000).optional(),
    'The most requests of one client at once; by default those of a second.',
  ),
  missesPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'The most requests of one client a second that the indexer is asked for; beyond it they get 429, or a stale answer. Hits are answered. No limit if not set.',
  ),
  showAddresses: setting(
    flag.prefault(false),
    'Whether the log and the status page show whole addresses of clients instead of their networks.',
  ),
});
