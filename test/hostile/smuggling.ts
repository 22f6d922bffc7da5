import { ask, connectTo } from '../support/http-client.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { changedBytes } from './changed-bytes.ts';
import { type EchoIndexer, readEcho, startEchoIndexer } from './echo-indexer.ts';
import { readAnswers } from './raw-answers.ts';
import { receiveAll } from './raw-connection.ts';
import { FORMS, type Form } from './smuggling-forms.ts';
import { withVictim } from './victim.ts';

const WORKERS = 12;
const DEADLINE_MS = 20_000;
/** After this long without an answer, the rest of a request is not sent. */
const QUIET_MS = 300;

/**
 * Requests that two servers may parse differently. No hidden request is served, the indexer gets nothing that is not
 * answered in the same order, and clients with ordinary requests get their own answers.
 */
export const smuggling: Attack = { name: 'smuggling forms', run };

async function run(arena: Arena): Promise<void> {
  await using indexer = await startEchoIndexer();
  const env = { UPSTREAM_URL: indexer.url, PASSTHROUGH: 'on' };
  await withVictim(arena, { env }, async ({ url }) => {
    let attempts = 0;
    const everyForm = FORMS.flatMap((form) => [form, form]);
    await attackUntilOver(arena, WORKERS, async (worker) => {
      if (worker === 0) return await askOrdinarily(arena, url);
      const number = attempts++;
      const form = everyForm[number] ?? arena.random.pick(FORMS);
      // First each form unchanged, to an operation and to a passed-through path.
      await smuggle(arena, url, indexer, number, form, number < everyForm.length ? number % 2 === 0 : undefined);
    });
    arena.tally.count('forms', Math.min(FORMS.length, Math.floor(attempts / 2)));
  });
  for (const reason of indexer.malformed) arena.tally.violation('the indexer got a malformed request', reason);
}

async function smuggle(
  { random, tally }: Arena,
  url: string,
  indexer: EchoIndexer,
  number: number,
  form: Form,
  asOperation: boolean | undefined,
): Promise<void> {
  const isOperation = asOperation ?? random.chance(0.5);
  const mark = `mark=${number}.`;
  const seqno = 1000 + 2 * number;
  const start = isOperation
    ? `GET /api/v3/masterchainBlockShards?seqno=${seqno}&limit=7`
    : `POST /api/v3/estimateFee?${mark}`;
  const hiddenTarget = `/api/v3/hidden?${mark}`;
  const hidden = `GET ${hiddenTarget} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const asWritten = form.write(start, hidden);
  const isChanged = asOperation === undefined && random.chance(0.7);
  const bytes = isChanged ? changedBytes(asWritten, random, 400) : asWritten;

  const reached = [indexer.watch(mark), indexer.watch(`seqno=${seqno}`)];
  const socket = connectTo(url);
  const received = receiveAll(socket, { deadlineMs: DEADLINE_MS, quietMs: QUIET_MS });
  socket.write(bytes, 'latin1');
  const text = await received;
  const targets = reached.flatMap((end) => end());
  tally.count(isChanged ? 'changed at random' : 'attempts');

  const violation = (kind: string) =>
    tally.violation(
      `${kind}: ${form.name}`,
      `${JSON.stringify(bytes.slice(0, 600))}\nreached the indexer: ${targets}\ncame back: ${JSON.stringify(text?.slice(0, 600))}`,
    );
  if (text === undefined) return violation('the connection stays open');
  const { answers, problem } = readAnswers(text, []);
  if (problem !== undefined) return violation('no HTTP came back');
  if (!isChanged) {
    if (targets.includes(hiddenTarget)) return violation('the hidden request was served');
    if (!form.isSound && answers.some(({ status }) => status < 400)) return violation('it was not refused');
    if (form.isSound && answers.length !== 1) return violation(`${answers.length} answers to one request`);
  }
  for (const { status, body } of answers) {
    const target = readEcho(status, body)?.target;
    // A changed form may mean any request, but only this form uses its numbers.
    if (status === 200 && !isAskedFor(target, bytes)) violation('an answer to another request');
  }
}

function isAskedFor(target: string | undefined, bytes: string): boolean {
  return target !== undefined && (target.match(/\d{2,}/g) ?? []).every((digits) => bytes.includes(digits));
}

async function askOrdinarily({ random, tally }: Arena, url: string): Promise<void> {
  const target = `/api/v3/masterchainBlockShards?seqno=${random.int(0, 20)}`;
  const answered = await ask(url, target);
  tally.count('ordinary requests');
  if (answered.status === 503) return tally.count('refused');
  const asked = readEcho(answered.status, answered.text)?.target;
  if (asked !== target)
    tally.violation('an ordinary request got another answer', `${target}: ${answered.status} ${asked}`);
}
