import type { IncomingMessage, ServerResponse } from 'node:http';
import { ProxyError } from '../../errors.ts';
import type { PurgeOutcome } from '../../purge/purges.ts';
import { type PurgeRequest, parsePurge } from '../../ton/purge-selector.ts';
import { type AdminGuardOptions, guardAdmin } from './admin-guard.ts';
import { sendJson } from './send-json.ts';

/** Purges this process in any case; never rejects. */
type Purge = (purge: PurgeRequest) => Promise<PurgeOutcome>;

/** Serves one request for a purge; rejects only for a bug. */
export type AdminPurge = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const MAX_BODY_BYTES = 4096;

/** `POST /purge`. The guard decides who may purge, {@link parsePurge} what can be purged. */
export function createAdminPurge(purge: Purge, guard: AdminGuardOptions): AdminPurge {
  const refusalOf = guardAdmin(guard);
  return async (request, response) => {
    if (request.method !== 'POST') {
      sendJson(response, 405, { error: 'accepted: POST' }, ['Allow', 'POST']);
      return;
    }
    const refused = refusalOf(request);
    if (refused !== undefined) {
      sendJson(response, refused.status, { error: refused.error }, refused.headers);
      return;
    }
    const asked = await readPurge(request);
    if (asked === undefined) return; // The client left, or Node has answered 408.
    if ('status' in asked) {
      sendJson(response, asked.status, { error: asked.error }, asked.status === 413 ? ['Connection', 'close'] : []);
      return;
    }
    const { at, notReached } = await purge(asked);
    if (notReached === undefined) {
      sendJson(response, 200, { purged: { [asked.selector]: asked.value }, at });
    } else {
      const error =
        `this instance is purged, but Redis did not accept the purge (${notReached}). It is sent again while this instance ` +
        'runs: repeat the purge to be sure that it reaches the other instances';
      sendJson(response, 503, { error });
    }
  };
}

type Unfit = { readonly status: 400 | 413 | 422; readonly error: string };

async function readPurge(request: IncomingMessage): Promise<PurgeRequest | Unfit | undefined> {
  const body = await readBody(request);
  if (body === undefined) return undefined;
  if (body === 'too-large') return { status: 413, error: `accepted: a body of at most ${MAX_BODY_BYTES} bytes` };
  try {
    return parsePurge(JSON.parse(body));
  } catch (error) {
    if (error instanceof SyntaxError) return { status: 400, error: 'the body is not JSON' };
    if (error instanceof ProxyError) return { status: 422, error: error.message };
    throw error;
  }
}

/** The server's `requestTimeout` bounds the time. `undefined` when the body did not arrive whole. */
async function readBody(request: IncomingMessage): Promise<string | 'too-large' | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return 'too-large';
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString();
}
