import { z } from 'zod';
import { about, networks } from './values.ts';

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
  })
  .prefault({});
