import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** One place in the source that is replaced. */
export interface Patch {
  /** Below `src`. */
  readonly file: string;
  /** Must stand there exactly once. */
  readonly from: string;
  readonly to: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A copy of `src` in a temporary folder, with one place of it replaced. */
export class PatchedSource implements AsyncDisposable {
  /** The folder that holds it, as a URL that ends in a slash. */
  readonly root: URL;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.root = pathToFileURL(`${folder}/`);
  }

  /** Rejects where the place is not found, or is found twice: the patch has to follow the source then. */
  static async make({ file, from, to }: Patch): Promise<PatchedSource> {
    const folder = await mkdtemp(join(tmpdir(), 'toncache-patched-'));
    const copy = new PatchedSource(folder);
    await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const patched = join(folder, 'src', file);
    const [before, after, ...more] = (await readFile(patched, 'utf8')).split(from);
    if (before === undefined || after === undefined || more.length > 0) {
      await copy[Symbol.asyncDispose]();
      throw new Error(`src/${file} must hold this exactly once: ${from}`);
    }
    await writeFile(patched, before + to + after);
    return copy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
