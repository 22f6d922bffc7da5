import { expect, it } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { runCommand } from '../support/command-output.ts';

const BLOCK_MS = 100;

it('verify --json prints a line for each check, and one for the run', async () => {
  const chain = new Chain({ startAt: Date.now() - 200 * BLOCK_MS, blockMs: BLOCK_MS });
  const indexer = await startIndexer({ chain });
  const { url, requests } = indexer;
  try {
    const { code, stdout } = await runCommand(['verify', url, '--rate', '500', '--samples', '3', '--json']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    const { ok, seconds, ...others } = lines.pop() ?? {};
    expect([code, others]).toEqual([
      0,
      { unclear: 0, violation: 0, indexer: url, requests: requests.total, notChecked: [] },
    ]);
    expect([lines.length, seconds]).toEqual([ok, expect.any(Number)]);
    for (const line of lines) {
      expect(line).toEqual({
        check: expect.any(String),
        asked: expect.any(String),
        result: 'ok',
        problems: [],
        detail: expect.any(String),
      });
    }
  } finally {
    await indexer.close();
  }
});
