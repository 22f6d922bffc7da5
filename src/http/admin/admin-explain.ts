import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Explanation } from '../../answer/explain.ts';
import { ProxyError } from '../../errors.ts';
import { readHeaderLines } from '../../ton/explain-call.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { parseTarget } from '../parse-request.ts';
import { type AdminGuardOptions, guardAdmin } from './admin-guard.ts';
import { sendJson, sendText } from './send-json.ts';

/** Throws or rejects with a {@link ProxyError} for a request that would be refused. */
type Explain = (text: string, headers: RequestHeaders) => Promise<Explanation>;

export interface AdminExplainDependencies {
  readonly explain: Explain;
  readonly describe: (explanation: Explanation) => string;
}

/** Serves one request for an explanation; rejects only for a bug. */
export type AdminExplain = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const ACCEPTED = 'target, the URL or query to explain, and any number of header, each "Name: value"';

/**
 * `GET /explain?target=...&header=...`: what a request means here and what is cached for it, as JSON, or as the text of
 * `describe` to who accepts `text/plain`. Changes nothing.
 */
export function createAdminExplain(
  { explain, describe }: AdminExplainDependencies,
  guard: AdminGuardOptions,
): AdminExplain {
  const refusalOf = guardAdmin(guard);
  return async (request, response) => {
    if (request.method !== 'GET') {
      sendJson(response, 405, { error: 'accepted: GET' }, ['Allow', 'GET']);
      return;
    }
    const refused = refusalOf(request);
    if (refused !== undefined) {
      sendJson(response, refused.status, { error: refused.error }, refused.headers);
      return;
    }
    const parameters = new URLSearchParams(parseTarget(request.url ?? '').rawQuery);
    const target = parameters.get('target');
    if (target === null) {
      sendJson(response, 422, { error: `accepted: ${ACCEPTED}` });
      return;
    }
    try {
      const explanation = await explain(target, readHeaderLines(parameters.getAll('header')));
      if (request.headers.accept === 'text/plain') sendText(response, 200, 'text/plain', describe(explanation));
      else sendJson(response, 200, explanation);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      sendJson(response, 422, { error: error.message });
    }
  };
}
