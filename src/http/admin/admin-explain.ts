import type { Explanation } from '../../answer/explain.ts';
import { ProxyError } from '../../errors.ts';
import { readHeaderLines } from '../../ton/explain-call.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { parseTarget } from '../parse-request.ts';
import { type AdminPath, sendJson, sendText } from './admin-server.ts';

export interface AdminExplainDependencies {
  /** Rejects with a {@link ProxyError} for a request that would be refused. */
  readonly explain: (text: string, headers: RequestHeaders) => Promise<Explanation>;
  readonly describe: (explanation: Explanation) => string;
}

const ACCEPTED = 'target, the URL or query to explain, and any number of header, each "Name: value"';

/**
 * `GET /explain?target=...&header=...`: how toncache reads a request, and its cached answers, as JSON, or as the text
 * of `describe` for clients that accept `text/plain`. Changes nothing.
 */
export function adminExplain({ explain, describe }: AdminExplainDependencies): AdminPath {
  return {
    method: 'GET',
    access: 'operators',
    serve: async (request, response) => {
      const parameters = new URLSearchParams(parseTarget(request.url ?? '').rawQuery);
      const target = parameters.get('target');
      if (target === null) throw new ProxyError('invalid-request', `accepted: ${ACCEPTED}`);
      const explanation = await explain(target, readHeaderLines(parameters.getAll('header')));
      if (request.headers.accept === 'text/plain') sendText(response, 200, 'text/plain', describe(explanation));
      else sendJson(response, 200, explanation);
    },
  };
}
