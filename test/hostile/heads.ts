import { once } from 'node:events';
import type { Socket } from 'node:net';
import { ask, connectTo } from '../support/http-client.ts';
import type { Arena, Attack } from './attack.ts';
import { startEchoIndexer } from './echo-indexer.ts';
import { readAnswers } from './raw-answers.ts';
import { receiveAll } from './raw-connection.ts';
import { withVictim } from './victim.ts';

/** The heap of the documented container: half of its 706 MiB. */
const OLD_SPACE_MIB = 353;
const CONNECTIONS = 5000;
const PIPELINING = 600;
const PIPELINED = 16;
const FIELDS = 940;
const DEADLINE_MS = 60_000;
const OPEN_MS = 3000;
const HIT = '/api/v3/masterchainBlockShards?seqno=1';

/** Heads with very many tiny fields: without a limit on fields, their strings fill the heap. */
export const heads: Attack = { name: 'heads of many fields', run };

const HEAD = `GET ${HIT} HTTP/1.1\r\nHost: x\r\n${Array.from({ length: FIELDS }, (_, i) => `${i.toString(36)}:x\r\n`).join('')}`;

async function run(arena: Arena): Promise<void> {
  await using indexer = await startEchoIndexer();
  const env = { UPSTREAM_URL: indexer.url, NODE_OPTIONS: `--max-old-space-size=${OLD_SPACE_MIB}` };
  await withVictim(arena, { env }, async (proxy) => {
    await ask(proxy.url, HIT);
    do {
      await holdParts(arena, proxy.url);
      await pipelineWhole(arena, proxy.url);
    } while (!arena.isOver());
  });
}

/** Connections that each send the beginning of such a head, then stop. */
async function holdParts({ tally }: Arena, url: string): Promise<void> {
  const sockets: Socket[] = [];
  for (let count = 0; count < CONNECTIONS; count++) {
    const socket = connectTo(url);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    socket.write(HEAD);
  }
  await new Promise((resolve) => void setTimeout(resolve, OPEN_MS));
  const { status } = await ask(url, HIT);
  tally.count('parts of heads', sockets.filter(({ destroyed }) => !destroyed).length);
  if (status !== 200) tally.violation('a hit is not answered during the attack', String(status));
  for (const socket of sockets) socket.destroy();
}

/** Connections that each pipeline complete heads. */
async function pipelineWhole({ tally }: Arena, url: string): Promise<void> {
  const received = Array.from({ length: PIPELINING }, () => {
    const socket = connectTo(url);
    socket.write(`${HEAD}\r\n`.repeat(PIPELINED));
    return receiveAll(socket, { deadlineMs: DEADLINE_MS });
  });
  for (const bytes of await Promise.all(received)) {
    if (bytes === undefined) tally.violation('a head of too many fields is not refused', 'still open');
    // A reset may arrive before the refusal, because more requests were in flight.
    for (const { status } of readAnswers(bytes ?? '', []).answers) {
      if (status === 431) tally.count('refused');
      else tally.violation('a head of too many fields is answered', String(status));
    }
  }
}
