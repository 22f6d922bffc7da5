import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// `npm start` and `npm run build`: compiles src/ into dist/, unless dist/ is newer. With `--clean` always, and from
// nothing. All output goes to stderr: the log of `npm start` is on stdout.
//
// Each run writes into a folder of its own and renames its files into dist/, so that two runs at once, or a process that
// is just starting, never see a part of a file.

const root = fileURLToPath(new URL('../', import.meta.url));
const dist = join(root, 'dist');
/** Kept by `tsc --incremental`. Its time is the start of the last successful build. */
const buildInfo = join(dist, '.tsbuildinfo');
const own = `${process.pid}`;

if (process.argv.includes('--clean')) rmSync(dist, { recursive: true, force: true });
if (newestIn('src', 'tsconfig.json', 'package.json') > timeOf(buildInfo)) process.exitCode = build();

/** Returns the exit code. */
function build(): number {
  const [folder, ownInfo] = [join(dist, `.building-${own}`), `${buildInfo}-${own}`];
  console.error('compiling src/ into dist/: 7 to 15 s on 2 cores ...');
  try {
    mkdirSync(folder, { recursive: true });
    const { mtime: startedAt } = statSync(folder);
    if (timeOf(buildInfo) > 0) cpSync(buildInfo, ownInfo);
    const options = [
      '-p',
      'src/tsconfig.build.json',
      '--outDir',
      folder,
      '--incremental',
      '--tsBuildInfoFile',
      ownInfo,
    ];
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    // Without NODE_OPTIONS: the limits of a small toncache are too low for the compiler.
    const { status } = spawnSync(process.execPath, [compiler, ...options], {
      cwd: root,
      env: {},
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0) {
      console.error('src/ was not compiled: correct the errors above. If the compiler is missing, run "npm ci".');
      return status ?? 1;
    }
    cpSync(join(root, 'src/require-node-24.cjs'), join(folder, 'require-node-24.cjs'));
    cpSync(join(root, 'src/operate/status/page'), join(folder, 'operate/status/page'), { recursive: true });
    for (const file of filesIn(folder)) {
      const to = join(dist, relative(folder, file));
      mkdirSync(join(to, '..'), { recursive: true });
      renameSync(file, to);
    }
    utimesSync(ownInfo, startedAt, startedAt);
    renameSync(ownInfo, buildInfo);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(ownInfo, { force: true });
  }
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** When one of these files, or anything in these folders, was last changed or removed. */
function newestIn(...paths: readonly string[]): number {
  const times = paths.flatMap((path) => {
    const full = join(root, path);
    if (!statSync(full).isDirectory()) return timeOf(full);
    const inside = readdirSync(full, { recursive: true, withFileTypes: true });
    return [timeOf(full), ...inside.map((entry) => timeOf(join(entry.parentPath, entry.name)))];
  });
  return Math.max(...times);
}

/** Epoch ms; 0 if it does not exist. */
function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
