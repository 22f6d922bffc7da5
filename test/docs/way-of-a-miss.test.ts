import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);

test('the functions that src/README.md names as the way of a miss run in a recorded miss', () => {
  const page = readFileSync(new URL('src/README.md', ROOT), 'utf8');
  const [, table = ''] = /<!-- miss -->(.*)<!-- \/miss -->/s.exec(page) ?? [];
  const named = [...table.matchAll(/^\| `(\w+)` \| \[`([\w/.-]+)`\]/gm)].map(([, name, file]) => `${file} ${name}`);
  expect(named).toHaveLength(5);
  const args = ['-r', './src/require-node-24.cjs', 'test/growth/main.ts', '--names'];
  const ran = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  expect(named.filter((each) => !ran.includes(each))).toEqual([]);
});
