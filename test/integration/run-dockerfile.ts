import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What an image is run with. */
export interface BuiltImage {
  /** The working directory, on this machine. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly labels: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

export interface RunDockerfileOptions {
  /** The build context. */
  readonly context: string;
  /** An empty folder: each stage has its root in it. */
  readonly into: string;
  /** For the commands of RUN. */
  readonly env: NodeJS.ProcessEnv;
}

interface Stage {
  readonly root: string;
  directory: string;
}

/**
 * Follows a Dockerfile without Docker, as far as ours goes: COPY copies exactly the files that it names, RUN runs here,
 * with the absolute paths `/app` and `/build` moved into the root of the stage. The base image is this machine. Throws
 * for an instruction that it does not know, and for a command that fails.
 */
export function runDockerfile({ context, into, env }: RunDockerfileOptions): BuiltImage {
  const stages = new Map<string, Stage>();
  let stage: Stage = { root: into, directory: '/' };
  const image: { -readonly [K in keyof BuiltImage]: BuiltImage[K] } = {
    directory: into,
    env: {},
    user: undefined,
    labels: '',
    entrypoint: [],
    command: [],
    healthcheck: [],
  };
  for (const { name, text } of instructions(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    switch (name) {
      case 'FROM': {
        const alias = / AS (\S+)$/.exec(text)?.[1] ?? 'last';
        stage = { root: join(into, alias), directory: '/' };
        mkdirSync(stage.root, { recursive: true });
        stages.set(alias, stage);
        break;
      }
      case 'WORKDIR':
        stage.directory = text;
        mkdirSync(join(stage.root, text), { recursive: true });
        image.directory = join(stage.root, text);
        break;
      case 'COPY':
        copy(text, stage, stages, context);
        break;
      case 'RUN':
        execute(text, stage, env);
        break;
      case 'ENV':
        image.env = { ...image.env, ...Object.fromEntries(text.split(/\s+/).map((pair) => pair.split('=', 2))) };
        break;
      case 'USER':
        image.user = text;
        break;
      case 'LABEL':
        image.labels += text;
        break;
      case 'HEALTHCHECK':
        image.healthcheck = JSON.parse(text.slice(text.indexOf('[')));
        break;
      case 'ENTRYPOINT':
        image.entrypoint = JSON.parse(text);
        break;
      case 'CMD':
        image.command = JSON.parse(text);
        break;
      case 'ARG':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`this Dockerfile has an instruction that is not followed here: ${name}`);
    }
  }
  return image;
}

function instructions(dockerfile: string): { name: string; text: string }[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => ({ name: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));
}

function copy(text: string, { root, directory }: Stage, stages: ReadonlyMap<string, Stage>, context: string): void {
  const parts = text.split(/\s+/);
  const from = parts.find((part) => part.startsWith('--from='))?.slice('--from='.length);
  const paths = parts.filter((part) => !part.startsWith('--'));
  const to = paths.pop() ?? '';
  const source = from === undefined ? context : (stages.get(from)?.root ?? '');
  const files = paths.flatMap((path) => (path.includes('*') ? globSync(path, { cwd: source }) : [path]));
  for (const file of files) {
    // A file goes into a folder under its name; a folder is copied as what it holds.
    const isFile = statSync(join(source, file)).isFile();
    const folder = to.startsWith('/') ? join(root, to) : join(root, directory, to);
    const target = isFile ? join(folder, basename(file)) : folder;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(source, file), target, { recursive: true });
  }
}

function execute(command: string, { root, directory }: Stage, env: NodeJS.ProcessEnv): void {
  const here = command.replaceAll(/(?<=\s)\/(?=app|build)/g, `${root}/`);
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', here], {
    cwd: join(root, directory),
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`RUN ${command}: exit code ${status}\n${stdout}\n${stderr}`);
}

/** Takes the right to write away from everyone, or gives it back to the owner. */
export function setWritable(folder: string, writable: boolean): void {
  spawnSync('chmod', ['-R', writable ? 'u+w' : 'a-w,a+rX', folder]);
}

/** Removes a folder whose files may be read-only. */
export function removeReadOnly(folder: string): void {
  setWritable(folder, true);
  rmSync(folder, { recursive: true, force: true });
}
