import { z } from 'zod';
import { about, flag, integer, networks } from './values.ts';

/** The group `clients`: who a client is, and how much of the proxy each one gets. */
export const clients = z
  .strictObject({
    trustedProxies: networks
      .optional()
      .meta(
        about(
          'Addresses and networks of proxies in front of toncache, comma-separated, like `10.0.0.0/8`: from these `X-Forwarded-For` says who the client is. Otherwise it is the address of the connection.',
          { env: 'TRUSTED_PROXIES' },
        ),
      ),
    requestsPerSecond: integer(1, 1_000_000)
      .optional()
      .meta(
        about('The most requests of one client a second, hits included; beyond it they get 429. No limit if not set.'),
      ),
    burst: integer(1, 1_000_000)
      .optional()
      .meta(about('The most requests of one client at once; by default those of a second.')),
    missesPerSecond: integer(1, 1_000_000)
      .optional()
      .meta(
        about(
          'The most requests of one client a second that the indexer is asked for; beyond it they get 429, or a stale answer. Hits are answered. No limit if not set.',
        ),
      ),
    showAddresses: flag
      .prefault(false)
      .meta(about('Whether the log and the status page show whole addresses of clients instead of their networks.')),
  })
  .prefault({});
