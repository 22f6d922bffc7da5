import type { Explanation } from '../../answer/explain.ts';
import { ProxyError } from '../../errors.ts';
import { readHeaderLines } from '../../ton/explain-call.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { parseTarget } from '../parse-request.ts';
import { type AdminPath, sendJson, sendText } from './admin-server.ts';

const ACCEPTED = 'target, the URL or query to explain, any number of header, each "Name: value", and body, of a POST';

/**
 * `GET /explain?target=...&header=...&body=...`: how toncache reads a request, and its cached answers, as JSON, or as the
 * text of `describe` for clients that accept `text/plain`. Changes nothing. `explain` rejects with a {@link ProxyError}
 * for a request that would be refused.
 */
export function adminExplain(
  explain: (text: string, headers: RequestHeaders, body?: string) => Promise<Explanation>,
  describe: (explanation: Explanation) => string,
): AdminPath {
  return {
    method: 'GET',
    access: 'operators',
    serve: async (request, response) => {
      const parameters = new URLSearchParams(parseTarget(request.url ?? '').rawQuery);
      const target = parameters.get('target');
      if (target === null) throw new ProxyError('invalid-request', `accepted: ${ACCEPTED}`);
      const body = parameters.get('body') ?? undefined;
      const explanation = await explain(target, readHeaderLines(parameters.getAll('header')), body);
      if (request.headers.accept === 'text/plain') sendText(response, 200, 'text/plain', describe(explanation));
      else sendJson(response, 200, explanation);
    },
  };
}
