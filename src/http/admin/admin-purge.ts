import { failure } from '../../errors.ts';
import type { PurgeOutcome } from '../../purge/purges.ts';
import type { MonotonicMs } from '../../time-units.ts';
import { type PurgeRequest, parsePurge } from '../../ton/purge-selector.ts';
import { BodyReader } from '../body-reader.ts';
import { type AdminPath, sendJson } from './admin-server.ts';

const MAX_BODY_BYTES = 4096;

/**
 * `POST /purge`; {@link parsePurge} defines what can be purged. `purge` purges this process in any case; it never
 * rejects.
 */
export function adminPurge(
  purge: (asked: PurgeRequest) => Promise<PurgeOutcome>,
  monotonic: () => MonotonicMs,
): AdminPath {
  const maxReadingBytes = Number.POSITIVE_INFINITY;
  const bodies = new BodyReader({ maxBodyBytes: MAX_BODY_BYTES, maxReadingBytes, now: monotonic });
  return {
    method: 'POST',
    access: 'operators',
    serve: async (request, response) => {
      const asked = parsePurge(parsed(await bodies.read(request)));
      const { at, notReached, instances } = await purge(asked);
      if (notReached === undefined) {
        sendJson(response, 200, { purged: { [asked.selector]: asked.value }, at, instances });
        return;
      }
      const error =
        `this instance is purged, but Redis did not accept the purge (${notReached}). It is sent again while this instance ` +
        'runs: repeat the purge to be sure that it reaches the other instances';
      sendJson(response, 503, { error });
    },
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw failure('bad-request', { text: 'not-json' });
  }
}
