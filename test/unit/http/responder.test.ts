import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import type { AppEvent } from '../../../src/event-hub.ts';
import { ClientConnections } from '../../../src/http/public/client-connections.ts';
import { Origins } from '../../../src/http/public/origins.ts';
import { Responder } from '../../../src/http/public/responder.ts';
import { ResponseHeaders } from '../../../src/http/public/response-headers.ts';
import { OPERATIONS } from '../../../src/ton/operations.ts';

const operation = OPERATIONS.get('pendingTraces');
const bug = new Error('a bug');
const REQUESTER = { client: 'client', unreadHeader: undefined };

/** The events that are reported for a request with this handler, and the status that its client gets. */
async function answered(handle: () => never | Promise<never>) {
  if (operation === undefined) throw new Error('the operation has another name');
  const events: AppEvent[] = [];
  const responder = new Responder({
    handler: { handle },
    gzip: { bodyFor: () => ({ coding: 'identity', body: Buffer.alloc(0), varies: false }) },
    responseHeaders: new ResponseHeaders(new Origins()),
    waitMs: 1000,
    clientOf: () => 'client',
    requesterOf: () => REQUESTER,
    onRequest: () => {},
    countRequest: () => {},
    requestLimit: undefined,
    connections: new ClientConnections(),
    now: () => 0,
    monotonic: () => 0,
    report: (event) => void events.push(event),
    onClient: () => {},
    onAnswered: undefined,
  });
  const asked = { operation, rawQuery: '', headers: {} };
  const status = await new Promise<number>((resolve) =>
    responder.answer(asked, new Socket(), (message) => resolve(message.status)),
  );
  return { status, events };
}

test.each([
  [
    'thrown',
    () => {
      throw bug;
    },
  ],
  ['the reason of a rejection', () => Promise.reject(bug)],
])('a bug that is %s counts as a failed request in metrics, and the client gets 500', async (_, handle) => {
  expect(await answered(handle)).toEqual({
    status: 500,
    events: [
      { name: 'bug', error: bug },
      { name: 'answered', operation: 'pendingTraces', outcome: 'failed' },
      {
        ...{ name: 'failed', operation: 'pendingTraces', key: '', requester: REQUESTER },
        error: expect.objectContaining({ code: 'internal' }),
      },
    ],
  });
});

test('a thrown ProxyError is not reported again: the code that throws it has counted it', async () => {
  const refused = () => {
    throw new ProxyError('invalid-request', 'no such parameter');
  };
  expect(await answered(refused)).toEqual({ status: 422, events: [] });
});
