import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface BuiltImage {
  /** The working directory, on this machine. */
  readonly directory: string;
  /** The last instruction of each name; of `ENV` and `LABEL` all, on a line each. */
  readonly said: ReadonlyMap<string, string>;
}

/** Instructions that only the test reads. */
const NOT_RUN = ['ARG', 'LABEL', 'ENV', 'USER', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'];

/**
 * Follows the Dockerfile of a folder without Docker, as far as our file needs: COPY copies exactly the files that it
 * names, RUN runs here, with the absolute paths `/app` and `/build` moved into the root of the stage, a folder in
 * `into`. The base image is this machine. Throws for an unknown instruction, and for a command that fails.
 */
export function runDockerfile(context: string, into: string, env: NodeJS.ProcessEnv): BuiltImage {
  const said = new Map<string, string>();
  let [root, directory] = [into, into];
  for (const { name, text } of instructions(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    const before = ['ENV', 'LABEL'].includes(name) ? said.get(name) : undefined;
    said.set(name, before === undefined ? text : `${before}\n${text}`);
    if (name === 'FROM') root = join(into, / AS (\S+)$/.exec(text)?.[1] ?? 'last');
    else if (name === 'WORKDIR') {
      directory = join(root, text);
      mkdirSync(directory, { recursive: true });
    } else if (name === 'COPY') {
      const [, stage, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(text) ?? [];
      copy(paths.split(/\s+/), stage === undefined ? context : join(into, stage), root, directory);
    } else if (name === 'RUN') {
      const command = text.replaceAll(/(?<=\s)\/(?=app|build)/g, `${root}/`);
      const { status, stdout, stderr } = spawnSync('sh', ['-ec', command], { cwd: directory, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`RUN ${text}: exit code ${status}\n${stdout}\n${stderr}`);
    } else if (!NOT_RUN.includes(name)) throw new Error(`${name} of this Dockerfile is not followed here`);
  }
  return { directory, said };
}

function instructions(dockerfile: string): { name: string; text: string }[] {
  const lines = dockerfile.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  return [...lines.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = '', text = '']) => ({ name, text }));
}

function copy(paths: string[], source: string, root: string, directory: string): void {
  const to = paths.pop() ?? '';
  const folder = to.startsWith('/') ? join(root, to) : join(directory, to);
  for (const path of paths.flatMap((each) => (each.includes('*') ? globSync(each, { cwd: source }) : [each]))) {
    // A file goes into a folder under its name; the contents of a folder are copied.
    const isFile = statSync(join(source, path)).isFile();
    cpSync(join(source, path), isFile ? join(folder, basename(path)) : folder, { recursive: true });
  }
}
