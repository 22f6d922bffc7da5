import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The root's import of the proof and its use, each on a line of its own. */
const ATTACHED = [
  "import { openBlockProof } from './proof/block-proof.ts';\n",
  '    proof: openBlockProof(context),\n',
];

it('the source compiles without the folder of the proof and the line of the root that attaches it', () => {
  const copy = mkdtempSync(join(tmpdir(), 'without-proof-'));
  try {
    for (const path of ['tsconfig.json', 'package.json']) cpSync(join(ROOT, path), join(copy, path));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    const proof = join(ROOT, 'src/proof');
    cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true, filter: (path) => path !== proof });
    const app = join(copy, 'src/app.ts');
    const attached = readFileSync(app, 'utf8');
    const without = ATTACHED.reduce((text, line) => text.replace(line, ''), attached);
    expect(without.length).toBe(attached.length - ATTACHED.join('').length);
    writeFileSync(app, without);
    expect(errorsIn(copy)).toEqual([]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

/** The errors that the compiler finds in the sources of a folder. */
function errorsIn(folder: string): string[] {
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, folder);
  expect(fileNames.length).toBeGreaterThan(200);
  const program = ts.createProgram(fileNames, options);
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName ?? ''}: ${text}`;
  });
}
