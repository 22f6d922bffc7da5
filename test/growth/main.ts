/**
 * Prints the number of files and functions of `src` that run for a hit and for a miss in front of one indexer without
 * Redis, next to the figures in `test/flow.json`. It shows growth, and is never a limit. `--write` writes the figures. `--names`
 * prints the functions that run for a miss whose first request breaks.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load.ts';
import { createLogger } from '../../src/operate/logger.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { type Flow, recordFlow } from './record-flow.ts';

const FLOW_FILE = new URL('../flow.json', import.meta.url);

/**
 * A head poll in the background may run during a request, so each is recorded this often and the smallest figures
 * count.
 */
const TIMES = 3;

const indexer = await startIndexer({});
const { settings } = loadSettings({ UPSTREAM_URL: indexer.url, PORT: '0', ADMIN_PORT: '0' });
const app = await createApp({ logger: createLogger('error') }, settings);
const { publicUrl } = await app.listen();
try {
  const head = indexer.chain.headSeqno;
  const get = async (blocksBack: number): Promise<string> => {
    const response = await fetch(`${publicUrl}/api/v3/masterchainBlockShards?seqno=${head - blocksBack}`);
    await response.arrayBuffer();
    return response.headers.get('cache-status') ?? '';
  };
  // Code that runs once in a process is not part of a flow.
  for (const blocksBack of [50, 51, 50, 50]) await get(blocksBack);
  const flows = {
    hit: await smallest('; hit', () => get(50)),
    miss: await smallest('; fwd=', (time) => get(60 + time)),
  };
  const before = JSON.parse(readFileSync(FLOW_FILE, 'utf8')) as typeof flows;
  for (const name of ['hit', 'miss'] as const) {
    const [now, then] = [flows[name], before[name]];
    console.log(`a ${name} runs ${now.files} files (${then.files}) and ${now.functions} functions (${then.functions})`);
  }
  if (process.argv.includes('--names')) {
    // The request breaks on an idle connection and on a new one, so that a second try follows.
    indexer.faults.inject({ kind: 'reset' }, { times: 2 });
    const { names } = await recordFlow(() => get(90));
    console.log(names.join('\n'));
  }
  if (process.argv.includes('--write')) writeFileSync(FLOW_FILE, `${JSON.stringify(flows, undefined, 2)}\n`);
} finally {
  await app.close();
  await indexer.close();
}

async function smallest(expected: string, ask: (time: number) => Promise<string>): Promise<Flow> {
  const flows: Flow[] = [];
  for (let time = 0; time < TIMES; time++) {
    flows.push(
      await recordFlow(async () => {
        const status = await ask(time);
        if (!status.includes(expected)) throw new Error(`Cache-Status is "${status}", expected "${expected}"`);
      }),
    );
  }
  const least = (member: keyof Flow) => Math.min(...flows.map((flow) => flow[member]));
  return { files: least('files'), functions: least('functions') };
}
